package tosca_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/tosca"
)

func TestSizesAreDecimalOrBinaryAsTheirUnitSays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0 GB": 0, "0 B": 0, "0": 0, "2 GB": 2_000_000_000, "2GB": 2_000_000_000, " 2  gb ": 2_000_000_000,
		"512 MiB": 512 << 20, "1 GiB": 1 << 30, "1 TiB": 1 << 40, "1 kB": 1000, "1 KB": 1000, "1 KiB": 1024,
		"3 TB": 3e12, "1.5 GB": 1_500_000_000, "0.1 B": 1, "2000000000 B": 2_000_000_000, "42": 42, "1.0 MB": 1_000_000,
	} {
		got, err := tosca.ParseSize(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", "GB", "-1 GB", "+1 GB", "1 PB", "1 G", "1,5 GB", "1e9 B", "0x10 B", "1/2 GB", ".5 GB", "1.2.3 GB",
		"99999999999 TB", "1 GB 2", "one GB", "1" + string(make([]byte, 40)), "11111111111111111111111111111111111 B",
		"NaN", "Inf",
	} {
		_, err := tosca.ParseSize(text)
		require.Error(t, err, text)
	}
}

func FuzzParseSize(f *testing.F) {
	f.Add("1.5 GiB")
	f.Add("0 GB")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := tosca.ParseSize(text)
		if n < 0 || n > math.MaxInt64/2 || err != nil && n != 0 {
			t.Fatalf("%q is %d", text, n)
		}
	})
}

// FuzzParse: a VNFD is a complete model that can be stored, or every defect has a file and a text.
func FuzzParse(f *testing.F) {
	f.Add(small, "node_types: {}\n")
	f.Add(small, "imports: [vnfd.yaml]\na: &a [*a]\n")
	f.Add(strings.Replace(small, "imports:\n", "imports:\n  - other.yaml\n", 1), "topology_template: {policies: []}\n")
	f.Add(small, withoutTypes("g"))
	f.Add(types, strings.Replace(withoutTypes("g"), ", default_level: one", "", 1))
	f.Add(small, "substitution_mappings: [")
	f.Fuzz(func(t *testing.T, vnfd, other string) {
		result, err := parse(files(vnfd, "other.yaml", other))
		if err != nil {
			var defects tosca.Errors
			require.ErrorAs(t, err, &defects)
			require.LessOrEqual(t, len(defects), 20)
			for _, d := range defects {
				require.NotEmpty(t, d.Reason)
				require.NotEmpty(t, d.What)
				require.Contains(t, []string{"vnfd.yaml", "other.yaml"}, d.File)
			}
			return
		}
		require.NotEmpty(t, result.VNFD.ID)
		require.NotEmpty(t, result.VNFD.Flavours)
		text, err := json.Marshal(result.VNFD)
		require.NoError(t, err)
		require.LessOrEqual(t, len(text), 1<<20+1000*(len(vnfd)+len(other)), "a small VNFD has a small model")
	})
}
