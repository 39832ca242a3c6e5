package v1

import (
	"encoding/json"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// LccnSubscription is a subscription resource (SOL003 v2.6.1 clause 5.5.2.16). Notifications of version 1 have no
// verbosity: they have all details.
type LccnSubscription struct {
	ID          string                                  `json:"id"`
	Filter      *sol.LifecycleChangeNotificationsFilter `json:"filter,omitempty"`
	CallbackURI string                                  `json:"callbackUri"`
	Links       sol.SelfLinks                           `json:"_links"`
}

// LccnSubscriptionRequest asks for notifications about lifecycle changes (clause 5.5.2.15).
type LccnSubscriptionRequest struct {
	Filter         *sol.LifecycleChangeNotificationsFilter `json:"filter,omitempty"`
	CallbackURI    string                                  `json:"callbackUri"`
	Authentication *sol.SubscriptionAuthentication         `json:"authentication,omitempty"`
}

// VnfLcmOperationOccurrenceNotification reports a state change of an operation (clause 5.5.2.17). ChangedInfo and
// ChangedExtConnectivity are JSON in the form of this version.
type VnfLcmOperationOccurrenceNotification struct {
	ID                      string                       `json:"id"`
	NotificationType        sol.NotificationType         `json:"notificationType"`
	SubscriptionID          string                       `json:"subscriptionId"`
	TimeStamp               time.Time                    `json:"timeStamp"`
	NotificationStatus      sol.NotificationStatus       `json:"notificationStatus"`
	OperationState          sol.LcmOperationStateType    `json:"operationState"`
	VnfInstanceID           string                       `json:"vnfInstanceId"`
	Operation               sol.LcmOperationType         `json:"operation"`
	IsAutomaticInvocation   bool                         `json:"isAutomaticInvocation"`
	VnfLcmOpOccID           string                       `json:"vnfLcmOpOccId"`
	AffectedVnfcs           []sol.AffectedVnfc           `json:"affectedVnfcs,omitempty"`
	AffectedVirtualLinks    []sol.AffectedVirtualLink    `json:"affectedVirtualLinks,omitempty"`
	AffectedVirtualStorages []sol.AffectedVirtualStorage `json:"affectedVirtualStorages,omitempty"`
	ChangedInfo             json.RawMessage              `json:"changedInfo,omitempty"`
	ChangedExtConnectivity  json.RawMessage              `json:"changedExtConnectivity,omitempty"`
	Error                   *sol.ProblemDetails          `json:"error,omitempty"`
	Links                   sol.LccnLinks                `json:"_links"`
}
