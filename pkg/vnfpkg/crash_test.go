package vnfpkg_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/content"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
)

// TestCrashAtEveryTransactionIsFollowedUp lets a node die before, or right after, each transaction of upload and
// onboarding in turn, and another node take over.
func TestCrashAtEveryTransactionIsFollowedUp(t *testing.T) {
	t.Parallel()
	good := vnfpkgtest.Zip(vnfpkgtest.Files("vnfd-1"))
	bad := packed(func(f map[string]string) { f["Scripts/run.sh"] = "changed" })
	for kind, archive := range map[string][]byte{"good": good, "bad": bad} {
		for _, after := range []bool{false, true} {
			points := 0
			for n := 1; n == 1 || points >= n-1; n++ { // the last round meets no crash
				points = crashOnce(t, archive, n, after, kind == "good")
				if points < n {
					break
				}
			}
			require.GreaterOrEqual(t, points, 6, "%s after=%v: the crash points were met", kind, after)
		}
	}
}

var errDead = errors.New("the process is dead")

// death is the end of a node at one of its transactions.
type death struct {
	calls int // transactions that the node came to
	dead  bool
}

// dieAt lets the node die before its n-th transaction, or right after it. Later transactions fail, too.
func (b *bundle) dieAt(n int, after bool) *death {
	d := &death{}
	b.store.Fail = func(string) error {
		if d.dead {
			return errDead
		}
		d.calls++
		if !after && d.calls == n {
			d.dead = true
			return errDead
		}
		return nil
	}
	b.store.Lost = func(string) error {
		if after && d.calls == n {
			d.dead = true
			return errDead
		}
		return nil
	}
	return d
}

// crashOnce kills the node at its n-th transaction and returns how many it came to.
func crashOnce(t *testing.T, archive []byte, n int, after, good bool) int {
	t.Helper()
	what := fmt.Sprintf("crash at transaction %d, after=%v, good=%v", n, after, good)
	now := time.Now()
	b := setup(t, func(o *vnfpkg.Options) { o.Lease = time.Hour })
	b.store.Now = func() time.Time { return now }
	id := b.create(t)

	death := b.dieAt(n, after)
	_ = b.Upload(t.Context(), id, nil, bytes.NewReader(archive))
	for _, id := range b.store.Jobs() {
		_ = b.Onboard(t.Context(), id)
	}
	b.store.Fail, b.store.Lost = nil, nil

	// Another node: the engine gives it the job of a package that is being processed, and leases end.
	other := b.another()
	now = now.Add(2 * time.Hour)
	require.NoError(t, other.Recover(t.Context()), what)
	if b.get(t, id).OnboardingState == sol.PackageOnboardingStateProcessing {
		require.NoError(t, other.Onboard(t.Context(), id), what)
	}
	requireConsistent(t, b, other, what)
	p := b.get(t, id)
	if p.OnboardingState == sol.PackageOnboardingStateCreated && (n > 1 || after) { // else the upload never began
		require.NotNil(t, p.Failure, what)
	}
	if good && p.OnboardingState == sol.PackageOnboardingStateCreated {
		require.NoError(t, other.Upload(t.Context(), id, nil, bytes.NewReader(archive)), what)
		b.work(t)
		p = b.get(t, id)
	}
	if good {
		require.Equal(t, sol.PackageOnboardingStateOnboarded, p.OnboardingState, what)
		_, _, err := other.Model(t.Context(), lcm.Principal{}, "vnfd-1")
		require.NoError(t, err, what)
	} else {
		require.Equal(t, sol.PackageOnboardingStateCreated, p.OnboardingState, what)
	}
	requireConsistent(t, b, other, what)
	return death.calls
}

// requireConsistent checks that every package has its content, and after a sweep, that all content has a package.
func requireConsistent(t *testing.T, b *bundle, s *vnfpkg.Service, what string) {
	t.Helper()
	packages, err := s.List(t.Context(), vnfpkg.Query{})
	require.NoError(t, err)
	needed := map[string]bool{}
	for _, p := range packages {
		switch p.OnboardingState {
		case sol.PackageOnboardingStateCreated:
			require.Nil(t, p.Content, what)
		case sol.PackageOnboardingStateOnboarded:
			needed[p.Content.Digest] = true
			fsys, err := s.Files(t.Context(), p.ID)
			require.NoError(t, err, what)
			_, err = fs.Stat(fsys, "Definitions/vnfd.yaml")
			require.NoError(t, err, what)
		case sol.PackageOnboardingStateUploading, sol.PackageOnboardingStateProcessing, sol.PackageOnboardingStateError:
			require.Fail(t, "unfinished", "%s: %s", what, p.OnboardingState)
		}
	}
	for _, d := range b.digests(t) { // what Sweep does once they are an hour old
		if !needed[string(d)] {
			_, err := b.store.ReleaseContent(t.Context(), string(d), func() error { return b.content.Delete(d) })
			require.NoError(t, err)
		}
	}
	require.Len(t, b.digests(t), len(needed), what)
}

func TestAbandonedUploadIsTakenBackWhenItsLeaseEnds(t *testing.T) {
	t.Parallel()
	now := time.Now()
	b := setup(t, func(o *vnfpkg.Options) { o.Lease = time.Minute })
	b.store.Now = func() time.Time { return now }
	id := b.create(t)
	_, err := b.store.UpdatePackage(t.Context(), id, func(p *vnfpkg.Package, now time.Time) error {
		p.OnboardingState, p.Upload = sol.PackageOnboardingStateUploading, &vnfpkg.Upload{
			Token: "of a dead process", LeaseUntil: now.Add(time.Minute),
		}
		return nil
	})
	require.NoError(t, err)

	require.NoError(t, b.Recover(t.Context()))
	require.Equal(t, sol.PackageOnboardingStateUploading, b.get(t, id).OnboardingState, "its lease is not over")
	now = now.Add(2 * time.Minute)
	require.NoError(t, b.Recover(t.Context()))
	p := b.get(t, id)
	require.Equal(t, sol.PackageOnboardingStateCreated, p.OnboardingState)
	require.Contains(t, p.Failure.Detail, "the server that took the content stopped")
}

func TestSlowUploadKeepsItsLease(t *testing.T) {
	t.Parallel()
	const lease = 150 * time.Millisecond
	b := setup(t, func(o *vnfpkg.Options) { o.Lease = lease })
	began, passed := time.Now(), atomic.Int64{}
	b.store.Now = func() time.Time { return began.Add(time.Duration(passed.Load())) }
	id := b.create(t)
	archive := vnfpkgtest.Zip(vnfpkgtest.Files("vnfd-1"))
	renewed := make(chan struct{})
	b.store.Lost = func(method string) error {
		if method == "RenewUpload" {
			select {
			case renewed <- struct{}{}:
			case <-t.Context().Done():
			}
		}
		return nil
	}
	ended := make(chan struct{})
	r := bytes.NewReader(archive)
	require.NoError(t, b.Upload(t.Context(), id, nil, readerFunc(func(p []byte) (int, error) {
		if r.Len() == 10 {
			for range 6 { // three leases of the store's clock long
				passed.Add(int64(lease / 2))
				<-renewed
				<-renewed // the first one may have begun before
			}
			go func() {
				for {
					select {
					case <-renewed:
					case <-ended:
						return
					}
				}
			}()
			if err := b.another().Recover(t.Context()); err != nil {
				return 0, err
			}
		}
		return r.Read(p[:min(len(p), max(r.Len()-10, 10))])
	})))
	close(ended)
	b.work(t)
	require.Equal(t, sol.PackageOnboardingStateOnboarded, b.get(t, id).OnboardingState)
}

func TestUploadThatLostItsPackageStopsAndChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *vnfpkg.Options) { o.Lease = 30 * time.Millisecond }) // it is renewed every 10 ms
	id := b.create(t)
	archive := vnfpkgtest.Zip(vnfpkgtest.Files("vnfd-1"))
	first := true
	err := b.Upload(t.Context(), id, nil, readerFunc(func(p []byte) (int, error) {
		if first { // a frozen process: in this time others reset the package, and its content arrives
			first = false
			_, err := b.store.UpdatePackage(t.Context(), id, func(p *vnfpkg.Package, _ time.Time) error {
				p.OnboardingState, p.Upload = sol.PackageOnboardingStateCreated, nil
				return nil
			})
			if err == nil {
				err = b.another().Upload(t.Context(), id, nil, bytes.NewReader(archive))
			}
			if err != nil {
				return 0, err
			}
		}
		return copy(p, "PK"), nil // for ever: the lost lease ends it
	}))
	requireCode(t, err, "conflict")
	b.work(t)
	p := b.get(t, id)
	require.Equal(t, sol.PackageOnboardingStateOnboarded, p.OnboardingState)
	require.Nil(t, p.Failure)
}

func TestTwoNodesOnboardingOnePackageDoNoHarm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create(t)
	require.NoError(t, b.Upload(t.Context(), id, nil, bytes.NewReader(vnfpkgtest.Zip(vnfpkgtest.Files("vnfd-1")))))
	const nodes = 4
	var wg sync.WaitGroup
	for range nodes {
		node := b.another()
		wg.Go(func() {
			if err := node.Onboard(t.Context(), id); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	p := b.get(t, id)
	require.Equal(t, sol.PackageOnboardingStateOnboarded, p.OnboardingState)
	require.LessOrEqual(
		t, p.Version, int64(5+nodes), "every node counted at most one attempt, and one of them onboarded it",
	)
}

func TestSameContentComingAndGoingIsNeverLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	archive := vnfpkgtest.Zip(vnfpkgtest.Files("vnfd-1"))
	var wg sync.WaitGroup
	for range 4 {
		node := b.another()
		wg.Go(func() {
			for range 15 {
				p, err := node.Create(t.Context(), nil)
				if err == nil {
					err = node.Upload(t.Context(), p.ID, nil, bytes.NewReader(archive))
				}
				if _, ok := errors.AsType[*vnfpkg.IdenticalError](err); ok {
					err = nil
				}
				if err == nil {
					err = node.Onboard(t.Context(), p.ID)
				}
				if err != nil {
					t.Error(err)
					return
				}
				if p, _ = node.Get(t.Context(), p.ID); p.OnboardingState == sol.PackageOnboardingStateOnboarded {
					if _, err := node.Files(t.Context(), p.ID); err != nil {
						t.Errorf("content lost: %v", err)
					}
					_, _, err = node.Update(t.Context(), p.ID,
						sol.VnfPkgInfoModifications{OperationalState: sol.PackageOperationalStateDisabled}, nil)
				} else if p.Failure.Status != 409 {
					t.Errorf("refused for another reason than the other package: %+v", p.Failure)
				}
				if err == nil {
					err = node.Delete(t.Context(), p.ID, nil)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, d := range b.digests(t) { // a refused upload may publish it after the last package is gone
		past := time.Now().Add(-2 * time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(b.dir, "blobs", string(d[:2]), string(d)), past, past))
	}
	require.NoError(t, b.Sweep(t.Context()))
	require.Empty(t, b.digests(t))
}

func TestSweepRemovesOnlyContentWithoutPackage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.onboard(t, vnfpkgtest.Files("vnfd-1"))
	orphan, _, err := b.content.Ingest(t.Context(), bytes.NewReader([]byte("orphan")), 0)
	require.NoError(t, err)
	age(t, b, time.Now().Add(-2*time.Hour))
	require.NoError(t, b.Sweep(t.Context()))
	require.Equal(t, []content.Digest{content.Digest(p.Content.Digest)}, b.digests(t))
	_, err = b.content.Open(orphan)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- b.Run(ctx) }()
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}

func TestLostContentIsReportedAndNotRetriedForEver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create(t)
	require.NoError(t, b.Upload(t.Context(), id, nil, bytes.NewReader(vnfpkgtest.Zip(vnfpkgtest.Files("vnfd-1")))))
	require.NoError(t, b.content.Delete(b.digests(t)[0]))
	b.work(t)
	p := b.get(t, id)
	require.Equal(t, sol.PackageOnboardingStateCreated, p.OnboardingState)
	require.Contains(t, p.Failure.Detail, "not in the content store of this node")

	p = b.onboard(t, vnfpkgtest.Files("vnfd-2"))
	require.NoError(t, b.content.Delete(content.Digest(p.Content.Digest)))
	_, err := b.Content(t.Context(), p.ID)
	e := requireCode(t, err, "internal")
	require.Contains(t, e.Hint, "share one content store")
	_, err = b.Files(t.Context(), p.ID)
	requireCode(t, err, "internal")
}

func TestDatabaseFaultsAreRetriedAndNotBlamedOnThePackage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create(t)
	require.NoError(t, b.Upload(t.Context(), id, nil, bytes.NewReader(vnfpkgtest.Zip(vnfpkgtest.Files("vnfd-1")))))
	for _, method := range []string{"Package", "SavePackageModel", "UpdatePackage"} {
		b.store.Fail = func(m string) error {
			if m == method {
				return errDead
			}
			return nil
		}
		require.ErrorIs(t, b.Onboard(t.Context(), id), errDead, method)
		b.store.Fail = nil
		require.Equal(t, sol.PackageOnboardingStateProcessing, b.get(t, id).OnboardingState)
	}
	require.NoError(t, b.Onboard(t.Context(), id))
	require.Equal(t, sol.PackageOnboardingStateOnboarded, b.get(t, id).OnboardingState)
}

// TestAttemptsAreBounded: an error that does not go away ends the onboarding, with the reason; until then users see the
// last error.
func TestAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create(t)
	archive := vnfpkgtest.Zip(vnfpkgtest.Files("vnfd-1"))
	require.NoError(t, b.Upload(t.Context(), id, nil, bytes.NewReader(archive)))
	b.store.Fail = func(m string) error {
		if m == "SavePackageModel" {
			return errDead
		}
		return nil
	}

	attempts := 0
	for b.get(t, id).OnboardingState == sol.PackageOnboardingStateProcessing {
		attempts++
		require.LessOrEqual(t, attempts, 100)
		if err := b.Onboard(t.Context(), id); err != nil {
			require.ErrorIs(t, err, errDead)
			require.Contains(
				t, b.get(t, id).Failure.Detail, fmt.Sprintf("attempt %d of 20: the VNFD could not be stored", attempts),
			)
		}
	}
	p := b.get(t, id)
	require.Equal(t, sol.PackageOnboardingStateCreated, p.OnboardingState)
	require.Contains(
		t, p.Failure.Detail, "the onboarding failed 20 times; attempt 20 of 20: the VNFD could not be stored",
	)
	require.NotEmpty(t, p.Failure.Hint)
	require.Empty(t, b.digests(t), "the content is not kept")

	b.store.Fail = nil
	require.NoError(t, b.Upload(t.Context(), id, nil, bytes.NewReader(archive)))
	b.work(t)
	require.Equal(t, sol.PackageOnboardingStateOnboarded, b.get(t, id).OnboardingState,
		"the attempts of another upload do not count")
}

// TestFullDiskIsNotBlamedOnThePackage: an archive that is too large for the disk when it is unpacked waits for space,
// and shows the reason.
func TestFullDiskIsNotBlamedOnThePackage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create(t)
	archive := vnfpkgtest.Zip(vnfpkgtest.Files("vnfd-1"))
	b.content.KeepFree(math.MaxInt64)
	e := requireCode(t, b.Upload(t.Context(), id, nil, bytes.NewReader(archive)), lcm.CodeUnavailable)
	require.Equal(t, "Not enough disk space", e.Title)
	require.Equal(t, sol.PackageOnboardingStateCreated, b.get(t, id).OnboardingState)
	require.Contains(t, b.get(t, id).Failure.Detail, "have to stay free")

	b.content.KeepFree(0)
	require.NoError(t, b.Upload(t.Context(), id, nil, bytes.NewReader(archive)))
	b.content.KeepFree(math.MaxInt64)
	require.Error(t, b.Onboard(t.Context(), id))
	p := b.get(t, id)
	require.Equal(t, sol.PackageOnboardingStateProcessing, p.OnboardingState)
	require.Contains(t, p.Failure.Detail, "attempt 1 of 20: the content store has")

	b.content.KeepFree(0)
	require.NoError(t, b.Onboard(t.Context(), id))
	require.Equal(t, sol.PackageOnboardingStateOnboarded, b.get(t, id).OnboardingState)
}

// TestAttemptsThatKillTheNodeAreBounded: the process dies after the attempt was counted, before anything else is
// stored.
func TestAttemptsThatKillTheNodeAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create(t)
	require.NoError(t, b.Upload(t.Context(), id, nil, bytes.NewReader(vnfpkgtest.Zip(vnfpkgtest.Files("vnfd-1")))))

	attempts := 0
	for b.get(t, id).OnboardingState == sol.PackageOnboardingStateProcessing {
		attempts++
		require.LessOrEqual(t, attempts, 100)
		var dead bool
		b.store.Fail = func(string) error {
			if dead {
				return errDead
			}
			return nil
		}
		b.store.Lost = func(m string) error {
			dead = m == "UpdatePackage" && attempts <= 20
			return nil
		}
		_ = b.Onboard(t.Context(), id)
		b.store.Fail, b.store.Lost = nil, nil
	}
	require.Contains(t, b.get(t, id).Failure.Detail, "the onboarding failed 20 times")
}
