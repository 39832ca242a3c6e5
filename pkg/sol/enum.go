package sol

// InstantiationState says whether resources of a VNF instance exist.
type InstantiationState string

// Values of InstantiationState.
const (
	InstantiationStateNotInstantiated InstantiationState = "NOT_INSTANTIATED"
	InstantiationStateInstantiated    InstantiationState = "INSTANTIATED"
)

// VnfOperationalState is VnfOperationalStateType: the state of an instantiated
// VNF or of one VNFC.
type VnfOperationalState string

// Values of VnfOperationalState.
const (
	VnfOperationalStateStarted VnfOperationalState = "STARTED"
	VnfOperationalStateStopped VnfOperationalState = "STOPPED"
)

// LcmOperationType names a lifecycle management operation.
type LcmOperationType string

// Values of LcmOperationType.
const (
	LcmOperationInstantiate      LcmOperationType = "INSTANTIATE"
	LcmOperationScale            LcmOperationType = "SCALE"
	LcmOperationScaleToLevel     LcmOperationType = "SCALE_TO_LEVEL"
	LcmOperationChangeFlavour    LcmOperationType = "CHANGE_FLAVOUR"
	LcmOperationTerminate        LcmOperationType = "TERMINATE"
	LcmOperationHeal             LcmOperationType = "HEAL"
	LcmOperationOperate          LcmOperationType = "OPERATE"
	LcmOperationChangeExtConn    LcmOperationType = "CHANGE_EXT_CONN"
	LcmOperationModifyInfo       LcmOperationType = "MODIFY_INFO"
	LcmOperationCreateSnapshot   LcmOperationType = "CREATE_SNAPSHOT"
	LcmOperationRevertToSnapshot LcmOperationType = "REVERT_TO_SNAPSHOT"
	LcmOperationChangeVnfpkg     LcmOperationType = "CHANGE_VNFPKG"
)

// LcmOperationStateType is the state of an operation occurrence
// (SOL003, VNF LCM operation states).
type LcmOperationStateType string

// Values of LcmOperationStateType.
const (
	LcmOperationStateStarting    LcmOperationStateType = "STARTING"
	LcmOperationStateProcessing  LcmOperationStateType = "PROCESSING"
	LcmOperationStateCompleted   LcmOperationStateType = "COMPLETED"
	LcmOperationStateFailedTemp  LcmOperationStateType = "FAILED_TEMP"
	LcmOperationStateFailed      LcmOperationStateType = "FAILED"
	LcmOperationStateRollingBack LcmOperationStateType = "ROLLING_BACK"
	LcmOperationStateRolledBack  LcmOperationStateType = "ROLLED_BACK"
)

// CancelModeType says how an operation is cancelled.
type CancelModeType string

// Values of CancelModeType.
const (
	CancelModeGraceful CancelModeType = "GRACEFUL"
	CancelModeForceful CancelModeType = "FORCEFUL"
)

// ScaleType is the direction of a scale operation.
type ScaleType string

// Values of ScaleType.
const (
	ScaleTypeOut ScaleType = "SCALE_OUT"
	ScaleTypeIn  ScaleType = "SCALE_IN"
)

// TerminationType says whether the VNF is taken out of service first.
type TerminationType string

// Values of TerminationType.
const (
	TerminationTypeForceful TerminationType = "FORCEFUL"
	TerminationTypeGraceful TerminationType = "GRACEFUL"
)

// StopType says how a VNF is stopped by the operate operation.
type StopType string

// Values of StopType.
const (
	StopTypeForceful StopType = "FORCEFUL"
	StopTypeGraceful StopType = "GRACEFUL"
)

// PackageOnboardingState is PackageOnboardingStateType.
type PackageOnboardingState string

// Values of PackageOnboardingState. ERROR exists in SOL005 v3.3.1 and later only.
const (
	PackageOnboardingStateCreated    PackageOnboardingState = "CREATED"
	PackageOnboardingStateUploading  PackageOnboardingState = "UPLOADING"
	PackageOnboardingStateProcessing PackageOnboardingState = "PROCESSING"
	PackageOnboardingStateOnboarded  PackageOnboardingState = "ONBOARDED"
	PackageOnboardingStateError      PackageOnboardingState = "ERROR"
)

// PackageOperationalState is PackageOperationalStateType.
type PackageOperationalState string

// Values of PackageOperationalState.
const (
	PackageOperationalStateEnabled  PackageOperationalState = "ENABLED"
	PackageOperationalStateDisabled PackageOperationalState = "DISABLED"
)

// PackageUsageState is PackageUsageStateType.
type PackageUsageState string

// Values of PackageUsageState.
const (
	PackageUsageStateInUse    PackageUsageState = "IN_USE"
	PackageUsageStateNotInUse PackageUsageState = "NOT_IN_USE"
)

// IPAddressType is the address family of a connection point address.
type IPAddressType string

// Values of IPAddressType.
const (
	IPAddressTypeIPv4 IPAddressType = "IPV4"
	IPAddressTypeIPv6 IPAddressType = "IPV6"
)

// LayerProtocol is the protocol layer of a connection point.
type LayerProtocol string

// LayerProtocolIPOverEthernet is the only LayerProtocol of the standard.
const LayerProtocolIPOverEthernet LayerProtocol = "IP_OVER_ETHERNET"

// CpInstanceType says what kind of connection point a link port serves.
type CpInstanceType string

// Values of CpInstanceType.
const (
	CpInstanceTypeVnfcCp CpInstanceType = "VNFC_CP"
	CpInstanceTypeExtCp  CpInstanceType = "EXT_CP"
)

// ChangeType says what an operation did to a resource. The link port values
// belong to virtual links only, and external link ports know only ADDED and
// REMOVED.
type ChangeType string

// Values of ChangeType.
const (
	ChangeTypeAdded           ChangeType = "ADDED"
	ChangeTypeRemoved         ChangeType = "REMOVED"
	ChangeTypeModified        ChangeType = "MODIFIED"
	ChangeTypeTemporary       ChangeType = "TEMPORARY"
	ChangeTypeLinkPortAdded   ChangeType = "LINK_PORT_ADDED"
	ChangeTypeLinkPortRemoved ChangeType = "LINK_PORT_REMOVED"
)

// LcmOpOccNotificationVerbosityType is the amount of detail in notifications.
type LcmOpOccNotificationVerbosityType string

// Values of LcmOpOccNotificationVerbosityType.
const (
	VerbosityFull  LcmOpOccNotificationVerbosityType = "FULL"
	VerbosityShort LcmOpOccNotificationVerbosityType = "SHORT"
)

// NotificationType names a notification of the VNF LCM interface.
type NotificationType string

// Values of NotificationType.
const (
	NotificationVnfLcmOperationOccurrence NotificationType = "VnfLcmOperationOccurrenceNotification"
	NotificationVnfIdentifierCreation     NotificationType = "VnfIdentifierCreationNotification"
	NotificationVnfIdentifierDeletion     NotificationType = "VnfIdentifierDeletionNotification"
)

// NotificationStatus says whether a notification reports a start or a result.
type NotificationStatus string

// Values of NotificationStatus.
const (
	NotificationStatusStart  NotificationStatus = "START"
	NotificationStatusResult NotificationStatus = "RESULT"
)

// AuthType is a way to authenticate towards a notification consumer.
type AuthType string

// Values of AuthType. OAUTH2_CLIENT_CERT comes from later versions of SOL013
// and is accepted because deployed consumers use it.
const (
	AuthTypeBasic                   AuthType = "BASIC"
	AuthTypeOauth2ClientCredentials AuthType = "OAUTH2_CLIENT_CREDENTIALS"
	AuthTypeOauth2ClientCert        AuthType = "OAUTH2_CLIENT_CERT"
	AuthTypeTLSCert                 AuthType = "TLS_CERT"
)
