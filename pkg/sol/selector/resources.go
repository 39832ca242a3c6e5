package selector

import "github.com/gybe-nfv/gybe/pkg/sol"

// The lists of SOL003 and SOL005 with their default exclusions.
var (
	// VnfInstances selects attributes of VNF instances.
	VnfInstances = New[sol.VnfInstance](
		"vnfConfigurableProperties",
		"vimConnectionInfo",
		"instantiatedVnfInfo",
		"metadata",
		"extensions",
	)
	// VnfLcmOpOccs selects attributes of operation occurrences.
	VnfLcmOpOccs = New[sol.VnfLcmOpOcc]("operationParams", "error", "resourceChanges", "changedInfo",
		"changedExtConnectivity", "modificationsTriggeredByVnfPkgChange")
	// LccnSubscriptions selects attributes of subscriptions.
	LccnSubscriptions = New[sol.LccnSubscription]()
	// VnfSnapshotInfos selects attributes of VNF snapshots.
	VnfSnapshotInfos = New[sol.VnfSnapshotInfo]("vnfSnapshot")
	// PkgmSubscriptions selects attributes of subscriptions to notifications about packages.
	PkgmSubscriptions = New[sol.PkgmSubscription]()
	// VnfPkgInfos selects attributes of VNF packages.
	VnfPkgInfos = New[sol.VnfPkgInfo](
		"softwareImages",
		"additionalArtifacts",
		"userDefinedData",
		"checksum",
		"onboardingFailureDetails",
		"warnings",
	)
)
