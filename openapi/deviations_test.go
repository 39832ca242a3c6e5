package openapi_test

import (
	"slices"
	"strings"
)

// Where our documents differ from the published ones, and why, besides the errors of those that test/oracle corrects. A
// test fails when one of these differences is gone.

const (
	whyProblem = "RFC 7807 allows extensions; these name the member that is wrong, a remedy and the resources concerned"
	whyAdded   = "API version 2.3.0 has it; one model serves both versions"
	whySol002  = "SOL002 has it, and one API serves both kinds of client"
	whyInline  = "the published document gives the name of version 2.4.1; the standard's text and v3.7.1 have " +
		"vnfVirtualLinkResourceInfo"
	whyStates   = "the attribute has cardinality 0..N in the standard's text"
	whyProducts = "the document has the name of the outer attribute; the standard's text and SOL003 have vnfProducts"
	whyPart     = "only clients that send Range get a part; the standard offers it for other files of a package"
)

// notServed are the operations of the VNF lifecycle interface that this version does not serve.
var notServed = []string{
	"GET /vnf_snapshots/{vnfSnapshotInfoId}/vnf_state_snapshot",
}

func problemDeviations(at string) []deviation {
	var all []deviation
	for _, name := range []string{"hint", "invalidParams", "vnfInstanceId", "vnfLcmOpOccId"} {
		all = append(all, deviation{at + "/" + name, "extra attribute", whyProblem})
	}
	return all
}

// addedAttributes are optional attributes of API version 2.3.0 that requests may have, and that are kept.
var addedAttributes = []deviation{
	{"ipOverEthernet/segmentationType", "extra attribute", whyAdded},
	{"cpConfig{}/createExtLinkPort", "extra attribute", whyAdded},
	{"extLinkPorts[]/trunkResourceId", "extra attribute", whyAdded},
}

var vnfLcmDeviations = slices.Concat([]deviation{
	{"authentication/authType[]", "extra value OAUTH2_CLIENT_CERT", whyCert},
	{"authentication/paramsOauth2ClientCert", "extra attribute", whyCert},
	{"_links/changeCurrentVnfPkg", "extra attribute", whyAdded},
	{"extLinkPorts[]/secondaryCpInstanceId", "extra attribute", whyAdded},
	{
		"instantiatedVnfInfo/metadata", "extra attribute",
		"clients in the field read the stack's id and parameters there",
	},
	{
		"_links/protection", "extra attribute",
		"a client of the standard can see that the instance is protected, and where",
	},
	{"instantiatedVnfInfo/vnfcInfo", "extra attribute", whySol002},
	{"instantiatedVnfInfo/virtualLinkResourceInfo", "missing attribute", whyInline},
	{"instantiatedVnfInfo/vnfVirtualLinkResourceInfo", "extra attribute", whyInline},
	{"changedInfo/vnfcInfoModifications", "extra attribute", whySol002},
	{"PATCH /vnf_instances/{vnfInstanceId} request/vnfcInfoModifications", "extra attribute", whySol002},
	{
		"PATCH /vnf_instances/{vnfInstanceId} request/vnfdId",
		"extra attribute",
		"the standard's text of v3.3.1 has vnfdId; vnfPkgId is its predecessor",
	},
	{
		"PATCH /vnf_instances/{vnfInstanceId} request/vimConnectionInfo{}/vimType",
		"should be required",
		"a merge patch names only what changes",
	},
	{
		"PATCH /vnf_instances/{vnfInstanceId} 202",
		"missing body",
		"the standard's text has none: the operation has the changes",
	},
	{"POST /vnf_instances/{vnfInstanceId}/heal request/healScript", "extra attribute", whySol002},
	{"POST /vnf_instances/{vnfInstanceId}/heal request/vnfcInstanceId", "extra attribute", whySol002},
}, snapshotDeviations, addedAttributes, problemDeviations("error"), problemDeviations("ProblemDetails"))

var vnfPkgmSol003Deviations = append([]deviation{
	{"onboardingState", "should be optional", "it is always present, as SOL005 asks"},
	{"additionalArtifacts[]/artifactURI", "type string should be array", "the standard's text has cardinality 0..1"},
	{"softwareImages[]/diskFormat", "extra value ARI", "the standard's text and SOL005 have it"},
	{
		"GET /vnf_packages/{vnfPkgId}", "missing parameter include_signature",
		"the resource has no signature; the standard's text does not have it",
	},
}, slices.Concat(
	partsOfText, partsOfOnboardedText, readSubscriptions, packageWarnings,
	problemDeviations("onboardingFailureDetails"),
)...)

// packageWarnings are an attribute of packages in all documents.
var packageWarnings = append([]deviation{
	{"warnings", "extra attribute", "a package is accepted in spite of defects of operations that no one may request"},
}, imageFormats()...)

// imageFormats are further values in answers to clients of Tacker.
func imageFormats() (all []deviation) {
	for attribute, formats := range map[string]string{
		"containerFormat": "aki ami ari bare docker ova ovf",
		"diskFormat":      "aki ami ari iso qcow2 raw vdi vhd vhdx vmdk",
	} {
		for format := range strings.FieldsSeq(formats) {
			all = append(all, deviation{
				"softwareImages[]/" + attribute, "extra value " + format,
				"requests to version 1 without a Version header are answered as by Tacker",
			})
		}
	}
	return all
}

// readSubscriptions are the differences from the documents of SOL003, producedSubscriptions those from SOL005.
var (
	readSubscriptions = append([]deviation{
		{"filter/operationalState", "type array should be string", whyStates},
		{"filter/usageState", "type array should be string", whyStates},
	}, authentication...)
	producedSubscriptions = append([]deviation{
		{"filter/notificationTypes", "type array should be string", whyStates},
		{"vnfProductsFromProviders[]/vnfProducts", "extra attribute", whyProducts},
		{"vnfProductsFromProviders[]/vnfProductsFromProviders", "missing attribute", whyProducts},
	}, authentication...)
	authentication = []deviation{
		{"authentication/authType[]", "extra value OAUTH2_CLIENT_CERT", whyCert},
		{"authentication/paramsOauth2ClientCert", "extra attribute", whyCert},
	}
)

var partsOfText = []deviation{
	{"GET /vnf_packages/{vnfPkgId}/vnfd", "extra answer 206", whyPart},
	{"GET /vnf_packages/{vnfPkgId}/manifest", "extra answer 206", whyPart},
}

var partsOfOnboardedText = []deviation{
	{"GET /onboarded_vnf_packages/{vnfdId}/vnfd", "extra answer 206", whyPart},
	{"GET /onboarded_vnf_packages/{vnfdId}/manifest", "extra answer 206", whyPart},
}

var vnfPkgmLaterSol003Deviations = slices.Concat([]deviation{
	{"additionalArtifacts[]/artifactURI", "type string should be array", "the standard's text has cardinality 0..1"},
	{"softwareImages[]/diskFormat", "extra value ARI", "the standard's text and SOL005 have it"},
}, partsOfText, partsOfOnboardedText, readSubscriptions, packageWarnings,
	problemDeviations("onboardingFailureDetails"))

// packagesNotServed are the operations of the package management interface that this version does not serve: external
// artifacts are never read (ADR 041).
var packagesNotServed = []string{
	"GET /vnf_packages/{vnfPkgId}/ext_artifacts_access", "PUT /vnf_packages/{vnfPkgId}/ext_artifacts_access",
}

var vnfPkgmSol005Deviations = append([]deviation{
	{"upload_from_uri request/userName", "extra attribute", whyUpload},
	{"upload_from_uri request/password", "extra attribute", whyUpload},
}, slices.Concat(
	partsOfText, producedSubscriptions, packageWarnings, problemDeviations("onboardingFailureDetails"),
)...)

const (
	whyOneEnum = "one Go type stands for four enumerations of the standard, of which this one has fewer values"
	whyLater   = "the document is the one of v3.7.1, the oldest that has notifications; v3.3.1 does not have this " +
		"attribute"
	whyCert     = "later versions of SOL013 have it, and deployed clients use it"
	whyUpload   = "SOL005 v2.6.1 has it, whose clients are served"
	whyOptional = "SOL013 makes these parameters optional where another way of agreeing on them exists; the Go type " +
		"serves both places"
)

var wireTypeDeviations = []deviation{
	{"notificationType", "extra value VnfPackageChangeNotification", "one Go type names both notifications"},
	{"notificationType", "extra value VnfPackageOnboardingNotification", "one Go type names both notifications"},
	{"notificationType", "extra value VnfLcmOperationOccurrenceNotification", "one Go type names all notifications"},
	{"notificationType", "extra value VnfIdentifierCreationNotification", "one Go type names all notifications"},
	{"notificationType", "extra value VnfIdentifierDeletionNotification", "one Go type names all notifications"},
	{"UploadVnfPackageFromUriRequest/paramsOauth2ClientCredentials/clientId", "should be required", whyOptional},
	{"UploadVnfPackageFromUriRequest/paramsOauth2ClientCredentials/clientPassword", "should be required", whyOptional},
	{"UploadVnfPackageFromUriRequest/paramsOauth2ClientCredentials/tokenEndpoint", "should be required", whyOptional},
	{
		"VnfSnapshotInfo/_links", "should be required",
		"snapshots are kept without links; they are added to every answer",
	},
	{"changeType", "extra value MODIFIED", whyOneEnum},
	{"changeType", "extra value TEMPORARY", whyOneEnum},
	{"changeType", "extra value LINK_PORT_ADDED", whyOneEnum},
	{"changeType", "extra value LINK_PORT_REMOVED", whyOneEnum},
	{"VnfPkgInfo/_links", "should be required", "packages are kept without links; they are added to every answer"},
}

var otherTypeDeviations = slices.Concat([]deviation{
	{
		"GrantRequest/operation",
		"extra value MODIFY_INFO",
		"modifying information needs no grant; the Go type is that of all operations",
	},
	{"authentication/authType[]", "extra value OAUTH2_CLIENT_CERT", whyCert},
	{"authentication/paramsOauth2ClientCert", "extra attribute", whyCert},
	{"UploadVnfPackageFromUriRequest/userName", "extra attribute", whyUpload},
	{"UploadVnfPackageFromUriRequest/password", "extra attribute", whyUpload},
	{"UploadVnfPackageFromUriRequest/paramsOauth2ClientCredentials/clientId", "should be required", whyOptional},
	{"UploadVnfPackageFromUriRequest/paramsOauth2ClientCredentials/clientPassword", "should be required", whyOptional},
	{"UploadVnfPackageFromUriRequest/paramsOauth2ClientCredentials/tokenEndpoint", "should be required", whyOptional},
	{"modificationsTriggeredByVnfPkgChange/vimConnectionInfo", "missing attribute", whyLater},
	{"VnfLcmOperationOccurrenceNotification/affectedVipCps", "missing attribute", whyLater},
	{"changedInfo/vnfcInfoModifications", "extra attribute", whySol002},
	{"changeType", "extra value TEMPORARY", whyOneEnum},
	{"changeType", "extra value LINK_PORT_ADDED", whyOneEnum},
	{"changeType", "extra value LINK_PORT_REMOVED", whyOneEnum},
	{"notificationType", "extra value VnfPackageChangeNotification", "one Go type names both notifications"},
	{"notificationType", "extra value VnfPackageOnboardingNotification", "one Go type names both notifications"},
	{"PkgmSubscription/filter/notificationTypes", "type array should be string", whyStates},
	{"vnfProductsFromProviders[]/vnfProducts", "extra attribute", whyProducts},
	{"vnfProductsFromProviders[]/vnfProductsFromProviders", "missing attribute", whyProducts},
	{"PkgmSubscriptionRequest/filter/operationalState", "type array should be string", whyStates},
	{"PkgmSubscriptionRequest/filter/usageState", "type array should be string", whyStates},
	{"notificationType", "extra value VnfLcmOperationOccurrenceNotification", "one Go type names all notifications"},
	{"notificationType", "extra value VnfIdentifierCreationNotification", "one Go type names all notifications"},
	{"notificationType", "extra value VnfIdentifierDeletionNotification", "one Go type names all notifications"},
}, addedAttributes, problemDeviations("error"))

// snapshotDeviations are those of both versions of the standard.
var snapshotDeviations = []deviation{
	{"POST /vnf_instances/{vnfInstanceId}/revert_to_snapshot request/vnfcSnapshotInfoId", "extra attribute", whySol002},
	{
		"POST /vnf_instances/{vnfInstanceId}/create_snapshot request/vnfSnapshotInfoId", "should be optional",
		"the published document requires vnfSnapshotResId, which it does not define; the standard's text requires this",
	},
	{
		"storageSnapshotResources[]/storageSnapshotResource", "only one side names attributes",
		"the standard's text has a ResourceHandle",
	},
	{"vnfcSnapshots[]/userDefinedData", "missing attribute", "the create_snapshot task has none for single VNFCs"},
	{"vnfSnapshot/_links", "missing attribute", "the links of the resource are those of its snapshot"},
	{"vnfSnapshot/vnfStateSnapshotInfo", "missing attribute", "there is no state data besides disks"},
}
