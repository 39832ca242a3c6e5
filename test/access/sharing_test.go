package access_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/stack"
)

// TestSharedPackageIsUsableAndReadOnly: an admin shares a package. Other projects see it in their lists and create
// instances of it, but cannot change it. Neither side learns about the other.
func TestSharedPackageIsUsableAndReadOnly(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	of := w.fill(t, red)
	admin, other := w.as(t, red, lcm.RoleAdmin), w.as(t, blue, lcm.RoleAdmin)
	do := func(project, method, path, body string) answer {
		t.Helper()
		return w.send(t, request{method: method, path: path, body: body, token: w.tokens[project][lcm.RoleAdmin]})
	}
	one := "/vnfpkgm/v1/vnf_packages/" + of.pkg
	require.Equal(t, http.StatusNotFound, do(blue, "PUT", "/gybe/v1/vnf_packages/"+of.pkg+"/sharing", "").status)
	require.NoError(t, admin.SharePackage(t.Context(), of.pkg, true))
	require.NoError(t, admin.SharePackage(t.Context(), of.pkg, true), "once more")

	for project, own := range map[string]bool{red: true, blue: false} {
		shared, err := w.as(t, project, lcm.RoleReader).SharedPackages(t.Context())
		require.NoError(t, err)
		require.Equal(t, []gybeapi.SharedPackage{{VnfPkgID: of.pkg, VnfdID: of.vnfd, Own: own}}, shared)
	}
	all, err := other.Packages(t.Context(), "", false)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, of.pkg, all[0].ID)
	require.Equal(t, sol.PackageUsageStateNotInUse, all[0].UsageState, "the other project's instances do not show")
	for _, path := range []string{one, one + "/vnfd", one + "/package_content", "/ui/packages/" + of.pkg} {
		require.Equal(t, http.StatusOK, do(blue, "GET", path, "").status, path)
	}
	for _, r := range []struct{ method, path, body string }{
		{"PATCH", one, `{"operationalState": "DISABLED"}`},
		{"DELETE", one, ""},
		{"PUT", "/gybe/v1/vnf_packages/" + of.pkg + "/sharing", ""},
		{"DELETE", "/gybe/v1/vnf_packages/" + of.pkg + "/sharing", ""},
	} {
		a := do(blue, r.method, r.path, r.body)
		require.Equal(t, http.StatusForbidden, a.status, "%s %s: %s", r.method, r.path, a.body)
		require.NotContains(t, a.body, red)
	}
	a := w.send(t, request{
		method: "PUT", path: one + "/package_content", body: "PK", token: w.tokens[blue][lcm.RoleAdmin],
		headers: map[string]string{"Content-Type": "application/zip"},
	})
	require.Equal(t, http.StatusForbidden, a.status, a.body)

	i, err := other.CreateInstance(t.Context(), sol.CreateVnfRequest{VnfdID: of.vnfd, VnfInstanceName: "blue"})
	require.NoError(t, err)
	require.Equal(t, of.pkg, w.packageOf(t, i.ID))
	seen, err := other.Package(t.Context(), of.pkg)
	require.NoError(t, err)
	require.Equal(t, sol.PackageUsageStateInUse, seen.UsageState)

	// The owner cannot delete it while another project uses it, and is not told who does.
	_, err = stack.Await(t.Context(), admin, mustTerminate(t, w, of.instance))
	require.NoError(t, err)
	require.NoError(t, admin.DeleteInstance(t.Context(), of.instance))
	require.NoError(t, admin.DeleteInstance(t.Context(), of.idle))
	require.Equal(t, http.StatusOK, do(red, "PATCH", one, `{"operationalState": "DISABLED"}`).status)
	a = do(red, "DELETE", one, "")
	require.Equal(t, http.StatusConflict, a.status, a.body)
	require.NotContains(t, a.body, i.ID)
	require.NotContains(t, strings.ToLower(a.body), blue)
	require.Contains(t, a.body, "sharing")

	// The end of sharing: the instance goes on, the package is gone for others.
	require.NoError(t, admin.SharePackage(t.Context(), of.pkg, false))
	require.Equal(t, http.StatusNotFound, do(blue, "GET", one, "").status)
	require.Equal(t, http.StatusNotFound, do(blue, "DELETE", one, "").status)
	_, err = other.CreateInstance(t.Context(), sol.CreateVnfRequest{VnfdID: of.vnfd})
	require.ErrorContains(t, err, "no onboarded VNF package")
	a = do(blue, "POST", "/vnflcm/v2/vnf_instances/"+i.ID+"/instantiate", `{"flavourId": "nonsense"}`)
	require.Equal(t, http.StatusUnprocessableEntity, a.status, "its VNFD is still known: %s", a.body)
	require.NoError(t, other.DeleteInstance(t.Context(), i.ID))
	require.NoError(t, admin.DeletePackage(t.Context(), of.pkg))
}

// packageOf reads the package of an instance.
func (w *world) packageOf(t *testing.T, instance string) (id string) {
	t.Helper()
	require.NoError(t, w.pool.QueryRow(
		t.Context(), "SELECT vnf_pkg_id::text FROM vnf_instance WHERE id = $1", instance,
	).Scan(&id))
	return id
}

func mustTerminate(t *testing.T, w *world, instance string) string {
	t.Helper()
	op, err := w.as(t, red, lcm.RoleOperator).Terminate(
		t.Context(), instance, sol.TerminateVnfRequest{TerminationType: sol.TerminationTypeForceful},
	)
	require.NoError(t, err)
	return op
}

// TestOwnPackagePrecedesSharedOne: a project that has a package with the vnfdId of a shared one uses its own, also when
// that is disabled. Only one package for each vnfdId is shared, and only an onboarded one.
func TestOwnPackagePrecedesSharedOne(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	of, own := w.fill(t, red), w.fill(t, blue)
	require.Equal(t, of.vnfd, own.vnfd)
	admin, other := w.as(t, red, lcm.RoleAdmin), w.as(t, blue, lcm.RoleAdmin)
	require.NoError(t, admin.SharePackage(t.Context(), of.pkg, true))
	i, err := other.CreateInstance(t.Context(), sol.CreateVnfRequest{VnfdID: own.vnfd})
	require.NoError(t, err)
	require.Equal(t, own.pkg, w.packageOf(t, i.ID))
	require.NoError(t, other.UpdatePackage(
		t.Context(), own.pkg, sol.VnfPkgInfoModifications{OperationalState: sol.PackageOperationalStateDisabled},
	))
	_, err = other.CreateInstance(t.Context(), sol.CreateVnfRequest{VnfdID: own.vnfd})
	require.ErrorContains(t, err, "DISABLED")
	require.ErrorContains(t, other.SharePackage(t.Context(), own.pkg, true), "409")
	empty, err := other.CreatePackage(t.Context(), sol.CreateVnfPkgInfoRequest{})
	require.NoError(t, err)
	require.ErrorContains(t, other.SharePackage(t.Context(), empty.ID, true), "409")
	require.ErrorContains(t, other.SharePackage(t.Context(), uuid.NewString(), true), "404")
}
