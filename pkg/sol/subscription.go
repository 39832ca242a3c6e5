package sol

import "time"

// LccnSubscriptionRequest asks for notifications about lifecycle changes.
type LccnSubscriptionRequest struct {
	Filter         *LifecycleChangeNotificationsFilter `json:"filter,omitempty"`
	CallbackURI    string                              `json:"callbackUri"`
	Authentication *SubscriptionAuthentication         `json:"authentication,omitempty"`
	// Verbosity defaults to FULL when empty.
	Verbosity LcmOpOccNotificationVerbosityType `json:"verbosity,omitempty"`
}

// LccnSubscription is a subscription resource. Its authentication is never part
// of it.
type LccnSubscription struct {
	ID          string                              `json:"id"`
	Filter      *LifecycleChangeNotificationsFilter `json:"filter,omitempty"`
	CallbackURI string                              `json:"callbackUri"`
	Verbosity   LcmOpOccNotificationVerbosityType   `json:"verbosity"`
	Links       SelfLinks                           `json:"_links"`
}

// SelfLinks (inline in the standard) is the link object of a resource that
// refers only to itself.
type SelfLinks struct {
	Self Link `json:"self"`
}

// LifecycleChangeNotificationsFilter selects notifications. All members that
// are present must match; a list matches when one of its values does.
type LifecycleChangeNotificationsFilter struct {
	VnfInstanceSubscriptionFilter *VnfInstanceSubscriptionFilter `json:"vnfInstanceSubscriptionFilter,omitempty"`
	NotificationTypes             []NotificationType             `json:"notificationTypes,omitempty"`
	OperationTypes                []LcmOperationType             `json:"operationTypes,omitempty"`
	OperationStates               []LcmOperationStateType        `json:"operationStates,omitempty"`
}

// VnfInstanceSubscriptionFilter selects VNF instances.
type VnfInstanceSubscriptionFilter struct {
	VnfdIds                  []string                   `json:"vnfdIds,omitempty"`
	VnfProductsFromProviders []VnfProductsFromProviders `json:"vnfProductsFromProviders,omitempty"`
	VnfInstanceIds           []string                   `json:"vnfInstanceIds,omitempty"`
	VnfInstanceNames         []string                   `json:"vnfInstanceNames,omitempty"`
}

// VnfProductsFromProviders (inline in the standard) selects by provider.
type VnfProductsFromProviders struct {
	VnfProvider string       `json:"vnfProvider"`
	VnfProducts []VnfProduct `json:"vnfProducts,omitempty"`
}

// VnfProduct (inline in the standard) selects by product name.
type VnfProduct struct {
	VnfProductName string              `json:"vnfProductName"`
	Versions       []VnfProductVersion `json:"versions,omitempty"`
}

// VnfProductVersion (inline in the standard) selects by software and VNFD version.
type VnfProductVersion struct {
	VnfSoftwareVersion string   `json:"vnfSoftwareVersion"`
	VnfdVersions       []string `json:"vnfdVersions,omitempty"`
}

// SubscriptionAuthentication says how to authenticate towards the callback. It
// is a secret as a whole.
type SubscriptionAuthentication struct {
	AuthType                      []AuthType                     `json:"authType"`
	ParamsBasic                   *ParamsBasic                   `json:"paramsBasic,omitempty"`
	ParamsOauth2ClientCredentials *ParamsOauth2ClientCredentials `json:"paramsOauth2ClientCredentials,omitempty"`
	ParamsOauth2ClientCert        *ParamsOauth2ClientCert        `json:"paramsOauth2ClientCert,omitempty"`
}

// ParamsBasic (inline in the standard) is HTTP Basic authentication.
type ParamsBasic struct {
	UserName string `json:"userName,omitempty"`
	Password string `json:"password,omitempty"`
}

// ParamsOauth2ClientCredentials (inline in the standard) is the OAuth 2.0 client
// credentials grant.
type ParamsOauth2ClientCredentials struct {
	ClientID       string `json:"clientId,omitempty"`
	ClientPassword string `json:"clientPassword,omitempty"`
	TokenEndpoint  string `json:"tokenEndpoint,omitempty"`
}

// ParamsOauth2ClientCert (later SOL013) is OAuth 2.0 with a client certificate.
type ParamsOauth2ClientCert struct {
	ClientID       string         `json:"clientId"`
	CertificateRef CertificateRef `json:"certificateRef"`
	TokenEndpoint  string         `json:"tokenEndpoint"`
}

// CertificateRef names a client certificate by its fingerprint: Type is
// "x5t#S256", Value the base64url SHA-256 of the certificate.
type CertificateRef struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

// LccnLinks are the links of a lifecycle change notification.
type LccnLinks struct {
	VnfInstance  Link  `json:"vnfInstance"`
	Subscription Link  `json:"subscription"`
	VnfLcmOpOcc  *Link `json:"vnfLcmOpOcc,omitempty"`
}

// VnfLcmOperationOccurrenceNotification reports a state change of an operation.
// ID is the same when the notification is delivered again.
type VnfLcmOperationOccurrenceNotification struct {
	ID                                   string                                `json:"id"`
	NotificationType                     NotificationType                      `json:"notificationType"`
	SubscriptionID                       string                                `json:"subscriptionId"`
	TimeStamp                            time.Time                             `json:"timeStamp"`
	NotificationStatus                   NotificationStatus                    `json:"notificationStatus"`
	OperationState                       LcmOperationStateType                 `json:"operationState"`
	VnfInstanceID                        string                                `json:"vnfInstanceId"`
	Operation                            LcmOperationType                      `json:"operation"`
	IsAutomaticInvocation                bool                                  `json:"isAutomaticInvocation"`
	Verbosity                            LcmOpOccNotificationVerbosityType     `json:"verbosity,omitempty"`
	VnfLcmOpOccID                        string                                `json:"vnfLcmOpOccId"`
	AffectedVnfcs                        []AffectedVnfc                        `json:"affectedVnfcs,omitempty"`
	AffectedVirtualLinks                 []AffectedVirtualLink                 `json:"affectedVirtualLinks,omitempty"`
	AffectedExtLinkPorts                 []AffectedExtLinkPort                 `json:"affectedExtLinkPorts,omitempty"`
	AffectedVirtualStorages              []AffectedVirtualStorage              `json:"affectedVirtualStorages,omitempty"`
	ChangedInfo                          *VnfInfoModifications                 `json:"changedInfo,omitempty"`
	ChangedExtConnectivity               []ExtVirtualLinkInfo                  `json:"changedExtConnectivity,omitempty"`
	ModificationsTriggeredByVnfPkgChange *ModificationsTriggeredByVnfPkgChange `json:"modificationsTriggeredByVnfPkgChange,omitempty"`
	Error                                *ProblemDetails                       `json:"error,omitempty"`
	Links                                LccnLinks                             `json:"_links"`
}

// VnfIdentifierCreationNotification reports a new VNF instance resource.
type VnfIdentifierCreationNotification struct {
	ID               string           `json:"id"`
	NotificationType NotificationType `json:"notificationType"`
	SubscriptionID   string           `json:"subscriptionId"`
	TimeStamp        time.Time        `json:"timeStamp"`
	VnfInstanceID    string           `json:"vnfInstanceId"`
	Links            LccnLinks        `json:"_links"`
}

// VnfIdentifierDeletionNotification reports a deleted VNF instance resource.
type VnfIdentifierDeletionNotification struct {
	ID               string           `json:"id"`
	NotificationType NotificationType `json:"notificationType"`
	SubscriptionID   string           `json:"subscriptionId"`
	TimeStamp        time.Time        `json:"timeStamp"`
	VnfInstanceID    string           `json:"vnfInstanceId"`
	Links            LccnLinks        `json:"_links"`
}
