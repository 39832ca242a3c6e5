package vnfpkg_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/tosca"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
)

// TestVNFDOfManyLargeFilesTakesLittleMemory: a small archive of imports that are large when they are decompressed. All
// that onboarding allocates is less than its limit, so no more can be in memory at the same time.
func TestVNFDOfManyLargeFilesTakesLittleMemory(t *testing.T) {
	for name, text := range map[string]string{ // not parallel: it measures the process
		"one long string": "metadata: {text: " + strings.Repeat("x", 3_900_000) + "}\n",
		"long lines":      "metadata:\n" + strings.Repeat("  - "+strings.Repeat("x", 1000)+"\n", 3800),
	} {
		files := vnfpkgtest.Files("vnfd-1")
		const vnfd = "Definitions/vnfd.yaml"
		var imports strings.Builder
		for i := range 90 {
			file := fmt.Sprintf("large%d.yaml", i)
			files["Definitions/"+file] = text
			imports.WriteString("  - " + file + "\n")
		}
		files[vnfd] = strings.Replace(files[vnfd], "imports:\n", "imports:\n"+imports.String(), 1)
		archive := vnfpkgtest.Zip(files)

		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := vnfpkg.Read(t.Context(), bytes.NewReader(archive), int64(len(archive)), vnfpkg.DefaultLimits())
		runtime.ReadMemStats(&after)
		var defects tosca.Errors
		require.ErrorAs(t, err, &defects, name)
		require.Equal(t, tosca.TooLarge, defects[0].Reason, "%s: %v", name, defects[0])
		t.Logf("%s: %d KB archive, %d MB allocated", name, len(archive)>>10, (after.TotalAlloc-before.TotalAlloc)>>20)
		require.Less(t, (after.TotalAlloc-before.TotalAlloc)>>20, uint64(150), "MB allocated: %s", name)
	}
}
