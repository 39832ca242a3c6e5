package sol

import "time"

// PackageNotificationType names a notification of VNF package management.
type PackageNotificationType string

// Values of PackageNotificationType.
const (
	NotificationPackageOnboarding PackageNotificationType = "VnfPackageOnboardingNotification"
	NotificationPackageChange     PackageNotificationType = "VnfPackageChangeNotification"
)

// PackageChangeType says how a package was changed.
type PackageChangeType string

// Values of PackageChangeType.
const (
	PackageChangeOpState PackageChangeType = "OP_STATE_CHANGE"
	PackageChangeDelete  PackageChangeType = "PKG_DELETE"
)

// PkgmSubscriptionRequest asks for notifications about VNF packages.
type PkgmSubscriptionRequest struct {
	Filter         *PkgmNotificationsFilter    `json:"filter,omitempty"`
	CallbackURI    string                      `json:"callbackUri"`
	Authentication *SubscriptionAuthentication `json:"authentication,omitempty"`
}

// PkgmSubscription is a subscription resource. Its authentication is never part
// of it.
type PkgmSubscription struct {
	ID          string                   `json:"id"`
	Filter      *PkgmNotificationsFilter `json:"filter,omitempty"`
	CallbackURI string                   `json:"callbackUri"`
	Links       SelfLinks                `json:"_links"`
}

// PkgmNotificationsFilter selects notifications. All members that are present
// must match; a list matches when one of its values does.
type PkgmNotificationsFilter struct {
	NotificationTypes        []PackageNotificationType  `json:"notificationTypes,omitempty"`
	VnfProductsFromProviders []VnfProductsFromProviders `json:"vnfProductsFromProviders,omitempty"`
	VnfdID                   []string                   `json:"vnfdId,omitempty"`
	VnfPkgID                 []string                   `json:"vnfPkgId,omitempty"`
	OperationalState         []PackageOperationalState  `json:"operationalState,omitempty"`
	UsageState               []PackageUsageState        `json:"usageState,omitempty"`
	VnfmInfo                 []string                   `json:"vnfmInfo,omitempty"`
}

// PkgmLinks are the links of a notification about a package.
type PkgmLinks struct {
	VnfPackage         Link  `json:"vnfPackage"`
	VnfPackageByVnfdID *Link `json:"vnfPackageByVnfdId,omitempty"`
	Subscription       Link  `json:"subscription"`
}

// VnfPackageOnboardingNotification reports a package that was onboarded. ID is
// the same when the notification is delivered again.
type VnfPackageOnboardingNotification struct {
	ID               string                  `json:"id"`
	NotificationType PackageNotificationType `json:"notificationType"`
	SubscriptionID   string                  `json:"subscriptionId"`
	TimeStamp        time.Time               `json:"timeStamp"`
	VnfPkgID         string                  `json:"vnfPkgId"`
	VnfdID           string                  `json:"vnfdId"`
	VnfmInfo         []string                `json:"vnfmInfo"`
	Links            PkgmLinks               `json:"_links"`
}

// VnfPackageChangeNotification reports an onboarded package that was enabled,
// disabled or deleted.
type VnfPackageChangeNotification struct {
	ID               string                  `json:"id"`
	NotificationType PackageNotificationType `json:"notificationType"`
	SubscriptionID   string                  `json:"subscriptionId"`
	TimeStamp        time.Time               `json:"timeStamp"`
	VnfPkgID         string                  `json:"vnfPkgId"`
	VnfdID           string                  `json:"vnfdId"`
	ChangeType       PackageChangeType       `json:"changeType"`
	OperationalState PackageOperationalState `json:"operationalState,omitempty"`
	Links            PkgmLinks               `json:"_links"`
}
