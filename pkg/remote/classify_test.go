package remote

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A machine that goes down while a channel is being opened has lost its connection: the work is not over for that.
func TestConnectionThatGoesWhileAChannelOpensIsLost(t *testing.T) {
	t.Parallel()
	require.Equal(t, KindClosed, classify(fmt.Errorf("ssh: unexpected packet in response to channel open: %T", nil)))
	require.Equal(t, KindProtocol, classify(
		fmt.Errorf("ssh: unexpected packet in response to channel open: %T", errors.New("x")),
	))
}
