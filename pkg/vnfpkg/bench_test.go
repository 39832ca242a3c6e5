package vnfpkg_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
)

// BenchmarkOnboardManyFiles onboards a package of 49,000 empty files.
func BenchmarkOnboardManyFiles(b *testing.B) {
	files := vnfpkgtest.Files("vnfd-1")
	for i := range 49_000 {
		files[fmt.Sprintf("Files/%d/%d", i/1000, i)] = ""
	}
	archive := vnfpkgtest.Zip(files)
	for b.Loop() {
		s := setup(b)
		id := s.create(b)
		require.NoError(b, s.Upload(b.Context(), id, nil, bytes.NewReader(archive)))
		s.work(b)
		require.Equal(b, "ONBOARDED", string(s.get(b, id).OnboardingState))
	}
}
