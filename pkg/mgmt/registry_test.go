package mgmt_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/mgmt"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

type nothing struct{}

func (nothing) Validate(context.Context, lcm.Request) error { return nil }
func (nothing) Hooks() []lcm.HookHandler                    { return nil }

func TestDriverIsFoundByTheNameTheVNFDGives(t *testing.T) {
	t.Parallel()
	r := mgmt.Registry{"mgmt-drivers-kubernetes": nothing{}}

	d, err := r.Driver(vnfd.Implementation{Name: "mgmt-drivers-kubernetes", File: "Scripts/kubernetes_mgmt.py"})
	require.NoError(t, err)
	require.Equal(t, nothing{}, d)

	_, err = r.Driver(vnfd.Implementation{Name: "my-driver", File: "Scripts/mine.py"})
	e := lcm.AsError(err)
	require.Equal(t, lcm.CodeUnprocessable, e.Code)
	require.Contains(t, e.Detail, "my-driver")
	require.Contains(t, e.Detail, "Scripts/mine.py")
	require.Contains(t, e.Hint, "mgmt-drivers-kubernetes")
}
