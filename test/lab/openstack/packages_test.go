package openstack_test

import (
	"path/filepath"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/stack"
)

var archives sync.Map

// vnfd makes a package of test/packages usable, unless it is, and returns its vnfdId.
func (w *world) vnfd(name string) string {
	w.t.Helper()
	if id, done := w.vnfds[name]; done {
		return id
	}
	built, _ := archives.LoadOrStore(name, sync.OnceValues(func() (string, error) {
		file := filepath.Join(made, name+".zip")
		return file, stack.BuildPackage(w.t.Context(), filepath.Join("../../packages", name), file)
	}))
	file, err := built.(func() (string, error))()
	require.NoError(w.t, err)
	vnfd, err := stack.Onboard(w.t.Context(), w.api, file)
	require.NoError(w.t, err)
	w.vnfds[name] = vnfd
	return vnfd
}

// withdraw disables and deletes a package that no instance uses.
func (w *world) withdraw(name string) {
	w.t.Helper()
	found, err := w.api.Packages(w.t.Context(), "(eq,vnfdId,"+w.vnfds[name]+")", false)
	require.NoError(w.t, err)
	require.Len(w.t, found, 1)
	require.NoError(w.t, w.api.UpdatePackage(w.t.Context(), found[0].ID, sol.VnfPkgInfoModifications{
		OperationalState: sol.PackageOperationalStateDisabled,
	}))
	require.NoError(w.t, w.api.DeletePackage(w.t.Context(), found[0].ID))
	delete(w.vnfds, name)
}
