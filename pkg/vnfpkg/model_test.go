package vnfpkg_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/content"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
)

// age makes all archives look as if they were stored at that time.
func age(t *testing.T, b *bundle, at time.Time) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(b.dir, func(p string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Chtimes(p, at, at)
		}
		return err
	}))
}

func TestModelNeedsNeitherArchiveNorYAML(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.onboard(t, vnfpkgtest.Files("vnfd-1"))
	require.NoError(t, b.content.Delete(content.Digest(p.Content.Digest)))
	node := b.another() // with an empty cache
	model, pkgID, err := node.Model(t.Context(), lcm.Principal{}, "vnfd-1")
	require.NoError(t, err)
	require.Equal(t, p.ID, pkgID)
	require.Equal(t, "1.10", model.SoftwareVersion)
	require.Equal(t, "Scripts/run.sh", model.Flavour("simple").LCM["instantiate_end"].File)

	again, _, err := node.Model(t.Context(), lcm.Principal{}, "vnfd-1")
	require.NoError(t, err)
	require.Same(t, model, again)
}

func TestModelOfAnUnknownVNFDIsUnprocessable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, _, err := b.Model(t.Context(), lcm.Principal{}, "vnfd-1\x00")
	e := requireCode(t, err, lcm.CodeUnprocessable)
	require.NotContains(t, e.Detail, "\x00")
	id := b.create(t)
	_, err = b.ModelOf(t.Context(), id)
	requireCode(t, err, lcm.CodeConflict)
}

func TestModelThatIsNotStoredIsMadeAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.onboard(t, vnfpkgtest.Files("vnfd-1"))
	// As after an upgrade that changes the model: there is one of another format only.
	forget := &vnfpkgtest.Memory{}
	require.NoError(t, forget.InsertPackage(t.Context(), &vnfpkg.Package{ID: p.ID}))
	_, err := forget.UpdatePackage(
		t.Context(), p.ID, func(q *vnfpkg.Package, _ time.Time) error { *q = *p; return nil },
	)
	require.NoError(t, err)
	require.NoError(t, forget.SavePackageModel(
		t.Context(), vnfpkg.ModelKey{Digest: p.Content.Digest, Format: 99}, json.RawMessage(`"?"`),
	))
	node := b.another(func(o *vnfpkg.Options) { o.Stores = forget })
	model, _, err := node.Model(t.Context(), lcm.Principal{}, "vnfd-1")
	require.NoError(t, err)
	require.Equal(t, "vnfd-1", model.ID)
	stored, err := forget.PackageModel(t.Context(), vnfpkg.ModelKey{Digest: p.Content.Digest, Format: 3})
	require.NoError(t, err)
	require.Contains(t, string(stored), `"id":"vnfd-1"`)
}

func TestFilesAreExtractedAgainWhereTheyAreMissing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.onboard(t, vnfpkgtest.Files("vnfd-1"))
	require.NoError(t, os.RemoveAll(filepath.Join(b.dir, "trees")))
	fsys, err := b.Files(t.Context(), p.ID)
	require.NoError(t, err)
	data, err := fs.ReadFile(fsys, "BaseHOT/simple/top.yaml")
	require.NoError(t, err)
	require.Equal(t, "heat_template_version: 2013-05-23\n", string(data))
}

func TestManyRequestsLoadAModelOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.onboard(t, vnfpkgtest.Files("vnfd-1"))
	node := b.another()
	var loads atomic.Int32
	entered := make(chan struct{})
	b.store.Fail = func(method string) error {
		if method == "PackageModel" && loads.Add(1) == 1 {
			<-entered // until all others wait for it, or have it
		}
		return nil
	}
	var started, done sync.WaitGroup
	started.Add(20)
	for range 20 {
		done.Go(func() {
			started.Done()
			if _, _, err := node.Model(t.Context(), lcm.Principal{}, "vnfd-1"); err != nil {
				t.Error(err)
			}
		})
	}
	started.Wait()
	close(entered)
	done.Wait()
	require.Equal(t, int32(1), loads.Load())
}

func TestModelsInMemoryAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const n = 5
	for i := range n {
		b.onboard(t, vnfpkgtest.Files(fmt.Sprintf("vnfd-%d", i)))
	}
	var loads int
	b.store.Fail = func(method string) error {
		if method == "PackageModel" {
			loads++
		}
		return nil
	}
	use := func(s *vnfpkg.Service, ids ...int) int {
		loads = 0
		for _, i := range ids {
			_, _, err := s.Model(t.Context(), lcm.Principal{}, fmt.Sprintf("vnfd-%d", i))
			require.NoError(t, err)
		}
		return loads
	}
	large := b.another()
	require.Equal(t, n, use(large, 0, 1, 2, 3, 4))
	require.Zero(t, use(large, 0, 1, 2, 3, 4))
	model, _, err := large.Model(t.Context(), lcm.Principal{}, "vnfd-0")
	require.NoError(t, err)
	data, err := json.Marshal(model)
	require.NoError(t, err)
	two := b.another(func(o *vnfpkg.Options) { o.ModelBytes = 2 * len(data) })
	require.Equal(t, 2, use(two, 0, 1))
	require.Equal(t, 1, use(two, 0, 2), "the one used longest ago goes first")
	require.Zero(t, use(two, 0, 2))
	require.Equal(t, 1, use(two, 1))
	tiny := b.another(func(o *vnfpkg.Options) { o.ModelBytes = 1 })
	require.Equal(t, 1, use(tiny, 0, 0), "one model always fits")
}

func BenchmarkModelCached(b *testing.B) {
	s := setup(b)
	s.onboard(b, vnfpkgtest.Files("vnfd-1"))
	for b.Loop() {
		if _, _, err := s.Model(b.Context(), lcm.Principal{}, "vnfd-1"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkModelFirstUse(b *testing.B) {
	s := setup(b)
	s.onboard(b, vnfpkgtest.Files("vnfd-1"))
	for b.Loop() {
		if _, _, err := s.another().Model(b.Context(), lcm.Principal{}, "vnfd-1"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOnboard(b *testing.B) {
	s := setup(b)
	for i := 0; b.Loop(); i++ {
		id := s.create(b)
		files := vnfpkgtest.Files(fmt.Sprintf("vnfd-%d", i))
		if err := s.Upload(b.Context(), id, nil, bytes.NewReader(vnfpkgtest.Zip(files))); err != nil {
			b.Fatal(err)
		}
		s.work(b)
	}
}
