package conformance_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/config"
)

// TestConformance runs every case of the lists. A case that is not applicable is not run; an error of the list is run
// with what the standard wants; an open case has to fail, so that it is not forgotten when its feature exists. The
// cases of an interface with several versions run with each of them.
func TestConformance(t *testing.T) {
	n := startNode(t, nil)
	redirecting := startNode(t, func(c *config.Config) { c.Notify.Duplicates = config.DuplicatesRedirect })
	for _, l := range lists {
		rows, err := readTable(l.name)
		require.NoError(t, err)
		t.Run(l.name, func(t *testing.T) {
			for _, r := range rows {
				if r.class == notApplicable {
					continue
				}
				for _, v := range l.versions {
					t.Run(r.id+" "+v.api, func(t *testing.T) {
						t.Parallel()
						if strings.HasSuffix(r.state, redirected) {
							redirecting.check(t, r, v)
							return
						}
						n.check(t, r, v)
					})
				}
			}
		})
	}
}

// check runs a case with a version of the interface.
func (n *node) check(t *testing.T, r row, v apiVersion) {
	t.Helper()
	err := n.try(t.Context(), r, v)
	if r.class == open {
		require.Error(t, err, "the case is open because of %q, and passes: it can be classified", r.reason)
		return
	}
	require.NoError(t, err, "%s %s, %s: want %s", r.file, r.request, r.state, r.expected())
}
