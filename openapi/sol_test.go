package openapi_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/oracle"
)

// documented are the Go types whose schema of the same name is in our documents.
var documented = types(
	sol.ApiVersion{},
	sol.ApiVersionInformation{},
	sol.Checksum{},
	sol.InvalidParam{},
	sol.Link{},
	sol.ProblemDetails{},
	sol.SelfLinks{},

	sol.CpProtocolData{},
	sol.CpProtocolInfo{},
	sol.ExtLinkPortData{},
	sol.ExtLinkPortInfo{},
	sol.ExtManagedVirtualLinkData{},
	sol.ExtVirtualLinkData{},
	sol.ExtVirtualLinkInfo{},
	sol.IpAddressData{},
	sol.IpAddressInfo{},
	sol.IpAddressRange{},
	sol.IpOverEthernetAddressData{},
	sol.IpOverEthernetAddressInfo{},
	sol.ResourceHandle{},
	sol.VimConnectionInfo{},
	sol.VnfExtCpConfig{},
	sol.VnfExtCpData{},
	sol.VnfLinkPortData{},

	sol.CancelMode{},
	sol.ChangeCurrentVnfPkgRequest{},
	sol.ChangeExtVnfConnectivityRequest{},
	sol.ChangeVnfFlavourRequest{},
	sol.CreateVnfRequest{},
	sol.HealVnfRequest{},
	sol.InstantiateVnfRequest{},
	sol.OperateVnfRequest{},
	sol.ScaleVnfRequest{},
	sol.ScaleVnfToLevelRequest{},
	sol.TerminateVnfRequest{},
	sol.CreateVnfSnapshotRequest{},
	sol.RevertToVnfSnapshotRequest{},
	sol.VnfInfoModificationRequest{},
	sol.VnfcInfoModifications{},

	sol.ExtManagedVirtualLinkInfo{},
	sol.InstantiatedVnfInfo{},
	sol.MonitoringParameter{},
	sol.ScaleInfo{},
	sol.VirtualStorageResourceInfo{},
	sol.VnfExtCpInfo{},
	sol.VnfInstance{},
	sol.VnfInstanceLinks{},
	sol.VnfLinkPortInfo{},
	sol.VnfVirtualLinkResourceInfo{},
	sol.VnfcCpInfo{},
	sol.VnfcInfo{},
	sol.VnfcResourceInfo{},

	sol.LccnLinks{},
	sol.PkgmLinks{},
	sol.VnfIdentifierCreationNotification{},
	sol.VnfIdentifierDeletionNotification{},
	sol.VnfLcmOperationOccurrenceNotification{},
	sol.VnfPackageChangeNotification{},
	sol.VnfPackageOnboardingNotification{},

	sol.AffectedExtLinkPort{},
	sol.AffectedVirtualLink{},
	sol.AffectedVirtualStorage{},
	sol.AffectedVnfc{},
	sol.ModificationsTriggeredByVnfPkgChange{},
	sol.ResourceChanges{},
	sol.VnfInfoModifications{},
	sol.VnfLcmOpOcc{},
	sol.VnfLcmOpOccLinks{},

	sol.VnfSnapshotInfo{},
	sol.VnfSnapshotInfoLinks{},
	sol.VnfSnapshot{},
	sol.VnfcSnapshotInfo{},
	sol.StorageSnapshotResource{},
	sol.CreateVnfSnapshotInfoRequest{},
	sol.VnfSnapshotInfoModificationRequest{},
	sol.VnfSnapshotInfoModifications{},

	sol.CreateVnfPkgInfoRequest{},
	sol.UploadVnfPackageFromUriRequest{},
	sol.VnfPackageArtifactInfo{},
	sol.VnfPackageSoftwareImageInfo{},
	sol.VnfPkgInfo{},
	sol.VnfPkgInfoLinks{},
	sol.VnfPkgWarning{},
	sol.VnfPkgInfoModifications{},
)

// undocumented are the Go types of interfaces that we do not serve, or not yet:
// they are compared with the published documents directly, through the types
// that hold them.
var undocumented = types(
	sol.GrantRequest{},
	sol.GrantRequestLinks{},
	sol.ResourceDefinition{},
	sol.SnapshotResourceDefinition{},
	sol.PlacementConstraint{},
	sol.VimConstraint{},
	sol.ConstraintResourceRef{},
	sol.Grant{},
	sol.GrantLinks{},
	sol.GrantInfo{},
	sol.ZoneInfo{},
	sol.ZoneGroupInfo{},
	sol.VimAssets{},
	sol.VimComputeResourceFlavour{},
	sol.VimSoftwareImage{},
	sol.VimSnapshotResource{},

	sol.LccnSubscription{},
	sol.LccnSubscriptionRequest{},
	sol.LifecycleChangeNotificationsFilter{},
	sol.VnfInstanceSubscriptionFilter{},
	sol.VnfProductsFromProviders{},
	sol.VnfProduct{},
	sol.VnfProductVersion{},
	sol.SubscriptionAuthentication{},
	sol.ParamsBasic{},
	sol.ParamsOauth2ClientCredentials{},
	sol.ParamsOauth2ClientCert{},
	sol.CertificateRef{},
	sol.PkgmNotificationsFilter{},
	sol.PkgmSubscription{},
	sol.PkgmSubscriptionRequest{},
)

func types(values ...any) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for _, v := range values {
		all[reflect.TypeOf(v).Name()] = reflect.TypeOf(v)
	}
	return all
}

func TestEveryWireTypeIsHeldToSomething(t *testing.T) {
	t.Parallel()
	for name := range parseSol(t).structs {
		_, a := documented[name]
		_, b := undocumented[name]
		require.NotEqual(t, a, b, "sol.%s is to be in exactly one of the lists documented and undocumented", name)
	}
}

// A struct that misses an attribute of our documents would drop what a client
// sends; one that has more would answer what the documents do not say.
func TestWireTypesMatchOurDocuments(t *testing.T) {
	t.Parallel()
	schemas := map[string]*openapi3.Schema{}
	for _, file := range []string{
		"parts/base.yaml", "parts/connectivity.yaml", "parts/requests.yaml", "parts/instance.yaml",
		"parts/operation.yaml", "parts/snapshot.yaml", "parts/vnfpkgm.yaml", "parts/notification.yaml",
	} {
		for name, s := range loadFile(t, file).Components.Schemas {
			schemas[name] = s.Value
		}
	}
	source := parseSol(t)
	c := &comparison{goTypes: true}
	for _, name := range slices.Sorted(maps.Keys(documented)) {
		require.Contains(t, schemas, name, "the documents have no such schema")
		c.schemas(name, source.schema(documented[name]), schemas[name])
	}
	explain(t, c.findings, wireTypeDeviations)

	for name, s := range schemas {
		if len(flatten(s).properties) > 0 && documented[name] == nil {
			require.Equal(t, "VnfPkgInfoModificationRequest", name, "no Go type for the schema")
		}
	}
}

func TestWireTypesOfOtherInterfacesFollowTheStandard(t *testing.T) {
	t.Parallel()
	lifecycle, grant := oracle.Published(t, oracle.Lifecycle331), oracle.Published(t, oracle.Grants331)
	notification, packages := oracle.Published(t, oracle.LifecycleNotification), oracle.Published(t, oracle.Packages005)
	later := oracle.Published(t, oracle.Lifecycle371) // the document of v3.3.1 forgets the body of cancel
	request := func(d *openapi3.T, path string) *openapi3.Schema {
		return jsonSchema(d.Paths.Value(path).Post.RequestBody.Value.Content)
	}
	answer := func(d *openapi3.T, path string) *openapi3.Schema {
		return jsonSchema(d.Paths.Value(path).Post.Responses.Value("201").Value.Content)
	}
	packageNotification := oracle.Published(t, oracle.PackageNotification)
	source := parseSol(t)
	c := &comparison{goTypes: true}
	for _, tt := range []struct {
		ours   any
		theirs *openapi3.Schema
	}{
		{sol.GrantRequest{}, request(grant, "/grants")},
		{sol.Grant{}, answer(grant, "/grants")},
		{sol.LccnSubscriptionRequest{}, request(lifecycle, "/subscriptions")},
		{sol.LccnSubscription{}, answer(lifecycle, "/subscriptions")},
		{sol.CancelMode{}, request(later, "/vnf_lcm_op_occs/{vnfLcmOpOccId}/cancel")},
		{sol.UploadVnfPackageFromUriRequest{}, request(
			packages, "/vnf_packages/{vnfPkgId}/package_content/upload_from_uri",
		)},
		{sol.PkgmSubscriptionRequest{}, request(oracle.Published(t, oracle.Packages371), "/subscriptions")},
		{sol.PkgmSubscription{}, answer(packages, "/subscriptions")},
		{sol.VnfPackageOnboardingNotification{}, notificationSchema(
			t, packageNotification, "VnfPackageOnboardingNotification",
		)},
		{sol.VnfPackageChangeNotification{}, notificationSchema(
			t, packageNotification, "VnfPackageChangeNotification",
		)},
		{sol.VnfLcmOperationOccurrenceNotification{}, notificationSchema(
			t, notification, "VnfLcmOperationOccurrenceNotification",
		)},
		{sol.VnfIdentifierCreationNotification{}, notificationSchema(
			t, notification, "VnfIdentifierCreationNotification",
		)},
		{sol.VnfIdentifierDeletionNotification{}, notificationSchema(
			t, notification, "VnfIdentifierDeletionNotification",
		)},
	} {
		typ := reflect.TypeOf(tt.ours)
		require.NotNil(t, tt.theirs, typ.Name())
		c.schemas(typ.Name(), source.schema(typ), tt.theirs)
	}
	explain(t, c.findings, otherTypeDeviations)
}

func notificationSchema(t *testing.T, d *openapi3.T, name string) *openapi3.Schema {
	t.Helper()
	for path, item := range d.Paths.Map() {
		if strings.HasSuffix(path, "-"+name) {
			return jsonSchema(item.Post.RequestBody.Value.Content)
		}
	}
	return nil
}
