package tosca_test

import (
	"encoding/binary"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/tosca"
)

// TestVNFDIsUTF8: UTF-16 is rejected like in TOSCA.meta, although YAML allows it.
func TestVNFDIsUTF8(t *testing.T) {
	t.Parallel()
	for name, order := range map[string]binary.AppendByteOrder{
		"big endian": binary.BigEndian, "little endian": binary.LittleEndian,
	} {
		var text []byte
		for _, u := range utf16.Encode([]rune("\ufeff" + small)) {
			text = order.AppendUint16(text, u)
		}
		_, err := parse(files(string(text)))
		var e *tosca.Error
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, "the file is not UTF-8 text", e.What)
		require.Equal(t, "save it in the encoding UTF-8", e.Hint)
	}
	_, err := parse(files("\ufeff" + small))
	require.NoError(t, err, "UTF-8 with a byte order mark")
}
