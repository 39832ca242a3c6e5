package vnfpkgtest_test

import (
	"testing"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
)

func TestMemoryKeepsTheContract(t *testing.T) {
	t.Parallel()
	vnfpkgtest.TestStore(t, func(*testing.T) vnfpkgtest.Harness {
		m := &vnfpkgtest.Memory{}
		return vnfpkgtest.Harness{
			Stores: m, Store: m.PackagesOf(lcm.Principal{}),
			Jobs:      func(*testing.T) []string { return m.Jobs() },
			Downloads: func(*testing.T) []string { return m.Downloads() },
			Refer:     func(_ *testing.T, p *vnfpkg.Package) { m.Refer(p.ID, true) },
		}
	})
}
