package openapi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/openapi"
	"github.com/gybe-nfv/gybe/test/oracle"
)

func TestVnfLcmFollowsTheLaterStandard(t *testing.T) {
	t.Parallel()
	theirs := oracle.Published(t, oracle.Lifecycle371)
	ours, err := openapi.Load(openapi.VnfLcmV2)
	require.NoError(t, err)
	c := &comparison{}
	c.paths(t, ours, theirs, func(_, path string) bool { return path == "/api_versions" })
	explain(t, c.findings, laterLcmDeviations)
}

// TestCallbacksFollowTheStandard compares the requests to subscribers in our documents with the published documents of
// notifications.
func TestCallbacksFollowTheStandard(t *testing.T) {
	t.Parallel()
	c := &comparison{}
	for name, file := range map[string]string{
		openapi.VnfLcmV2: oracle.LifecycleNotification, openapi.VnfPkgmV1: oracle.PackageNotification,
		openapi.VnfPkgmV2: oracle.PackageNotification,
	} {
		ours, err := openapi.Load(name)
		require.NoError(t, err)
		theirs := oracle.Published(t, file)
		callback := ours.Paths.Value("/subscriptions").Post.Callbacks["notification"].Value
		item := callback.Value("{$request.body#/callbackUri}")
		require.NotNil(t, item.Get.Responses.Value("204"), name)
		require.NotNil(t, item.Post.Responses.Value("204"), name)
		found := 0
		for _, s := range jsonSchema(item.Post.RequestBody.Value.Content).OneOf {
			kind, _ := s.Value.Properties["notificationType"].Value.Enum[0].(string)
			other := notificationSchema(t, theirs, kind)
			require.NotNil(t, other, kind)
			c.schemas(kind, s.Value, other)
			found++
		}
		published := 0
		for path, item := range theirs.Paths.Map() {
			if strings.Contains(path, "Notification") && item.Post != nil {
				published++
			}
		}
		require.Equal(t, published, found, "notifications of %s", name)
	}
	explain(t, c.findings, callbackDeviations)
}

// callbackDeviations are the differences from the documents of notifications.
var callbackDeviations = append([]deviation{
	{"affectedExtLinkPorts[]/changeType", "missing value MODIFIED", whyNotMade},
	{"affectedVipCps", "missing attribute", whyNoTrunk},
	{"changedInfo/vnfcInfoModifications", "extra attribute", whySol002},
	{"modificationsTriggeredByVnfPkgChange/vimConnectionInfo", "missing attribute", whyNotMade},
}, problemDeviations("error")...)

// laterLcmDeviations are the differences from API version 2.3.0.
var laterLcmDeviations = slices.Concat(optionalInLater, snapshotDeviations, []deviation{
	{"instantiatedVnfInfo/metadata", "extra attribute", "clients in the field read parameters there"},
	{"_links/protection", "extra attribute", "a client can see that the instance is protected, and where"},
	{"_links", "should be required", "v3.3.1 does not require it; it is always present"},
	{"instantiatedVnfInfo/vnfcInfo", "extra attribute", whySol002},
	{"changedInfo/vnfcInfoModifications", "extra attribute", whySol002},
	{"{vnfInstanceId} request/vnfcInfoModifications", "extra attribute", whySol002},
	{"healScript", "extra attribute", whySol002},
	{"vnfcInstanceId", "extra attribute", whySol002},
	{"{vnfInstanceId} request/vnfdId", "extra attribute", "vnfPkgId is its predecessor"},
	{"vimConnectionInfo{}/vimType", "should be required", "a merge patch names only what changes"},
	{"PATCH /vnf_instances/{vnfInstanceId} 202", "missing body", "the operation has the changes"},
	{"authentication/authType[]", "extra value OAUTH2_CLIENT_CERT", whyCert},
	{"authentication/paramsOauth2ClientCert", "extra attribute", whyCert},
	{"scaleStatus[]/scaleLevel", "extra attribute", whyScaleLevel},
	{"scaleStatus[]/scaleToLevel", "missing attribute", whyScaleLevel},
	{"maxScaleLevels[]/scaleLevel", "extra attribute", whyScaleLevel},
	{"maxScaleLevels[]/scaleToLevel", "missing attribute", whyScaleLevel},
	{"scaleInfo[]/scaleLevel", "extra attribute", whyScaleLevel},
	{"scaleInfo[]/scaleToLevel", "missing attribute", whyScaleLevel},
}, problemDeviations("error"))

const (
	whyScaleLevel = "the published document requires scaleLevel and describes scaleToLevel"
	whyNoTrunk    = "optional; Gybe has neither trunks nor virtual IP addresses"
	whyNotMade    = "optional; Gybe does not make it"
)

// optionalInLater are optional attributes that no answer has.
var optionalInLater = []deviation{
	{"extCpInfo[]/associatedVipCpId", "missing attribute", whyNoTrunk},
	{"vnfLinkPorts[]/trunkResourceId", "missing attribute", whyNoTrunk},
	{"vnfLinkPorts[]/vipCpInstanceId", "missing attribute", whyNoTrunk},
	{"instantiatedVnfInfo/vipCpInfo", "missing attribute", whyNoTrunk},
	{"vnfcResourceInfo[]/parentCpId", "missing attribute", whyNoTrunk},
	{"affectedVipCps", "missing attribute", whyNoTrunk},
	{"lcmCoordinations", "missing attribute", whyNotMade},
	{"rejectedLcmCoordinations", "missing attribute", whyNotMade},
	{"warnings", "missing attribute", whyNotMade},
	{"modificationsTriggeredByVnfPkgChange/vimConnectionInfo", "missing attribute", whyNotMade},
	{"affectedExtLinkPorts[]/changeType", "missing value MODIFIED", whyNotMade},
}
