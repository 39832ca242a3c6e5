package lifecycle

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/sol"
	v1 "github.com/gybe-nfv/gybe/pkg/sol/v1"
)

// The prefixes of the versions of the interface.
const (
	prefix   = "/vnflcm/v2"
	prefixV1 = "/vnflcm/v1"
)

// API describes the interface.
var API = notify.API{
	Name: "vnflcm", Parse: parse,
	Pointer: func(attribute string) string { return pointers[attribute] }, Form: form, Render: render,
}

// formV1 is the form of version 1.
const formV1 = "1"

// form is the form of notifications of an API version.
func form(version string) string {
	if strings.HasPrefix(version, formV1+".") {
		return formV1
	}
	return ""
}

// render completes a notification (SOL003 clauses 5.5.2.17 to 5.5.2.19). The version of the subscription decides on its
// form.
func render(m notify.Message, s *notify.Subscription, link func(path string) sol.Link) ([]byte, error) {
	prefix := prefix
	if form(s.Version) == formV1 {
		prefix = prefixV1
	}
	links := func(instanceID string) sol.LccnLinks {
		return sol.LccnLinks{
			VnfInstance:  link(prefix + "/vnf_instances/" + instanceID),
			Subscription: link(prefix + "/subscriptions/" + s.ID),
		}
	}
	switch m.Kind {
	case lcm.KindOperation:
		n, err := decode[sol.VnfLcmOperationOccurrenceNotification](m)
		if err != nil {
			return nil, err
		}
		n.SubscriptionID, n.Links, n.Verbosity = s.ID, links(n.VnfInstanceID), s.Verbosity
		operation := link(prefix + "/vnf_lcm_op_occs/" + n.VnfLcmOpOccID)
		n.Links.VnfLcmOpOcc = &operation
		if form(s.Version) == formV1 {
			return renderV1(n)
		}
		if s.Verbosity == sol.VerbosityShort {
			shorten(n)
		}
		return json.Marshal(n)
	case lcm.KindCreation:
		n, err := decode[sol.VnfIdentifierCreationNotification](m)
		if err != nil {
			return nil, err
		}
		n.SubscriptionID, n.Links = s.ID, links(n.VnfInstanceID)
		return json.Marshal(n)
	case lcm.KindDeletion:
		n, err := decode[sol.VnfIdentifierDeletionNotification](m)
		if err != nil {
			return nil, err
		}
		n.SubscriptionID, n.Links = s.ID, links(n.VnfInstanceID)
		return json.Marshal(n)
	}
	return nil, fmt.Errorf("message %s has the unknown type %q", m.ID, m.Kind)
}

// renderV1 makes the notification about an operation in the form of SOL003 v2.6.1.
func renderV1(n *sol.VnfLcmOperationOccurrenceNotification) ([]byte, error) {
	out := v1.VnfLcmOperationOccurrenceNotification{
		ID: n.ID, NotificationType: n.NotificationType, SubscriptionID: n.SubscriptionID, TimeStamp: n.TimeStamp,
		NotificationStatus: n.NotificationStatus, OperationState: n.OperationState, VnfInstanceID: n.VnfInstanceID,
		Operation: n.Operation, IsAutomaticInvocation: n.IsAutomaticInvocation, VnfLcmOpOccID: n.VnfLcmOpOccID,
		AffectedVnfcs: n.AffectedVnfcs, AffectedVirtualLinks: n.AffectedVirtualLinks,
		AffectedVirtualStorages: n.AffectedVirtualStorages, Error: n.Error, Links: n.Links,
	}
	if n.ChangedInfo != nil {
		raw, err := json.Marshal(n.ChangedInfo)
		if err != nil {
			return nil, err
		}
		out.ChangedInfo = v1.ChangedInfo(raw)
	}
	if n.ChangedExtConnectivity != nil {
		raw, err := json.Marshal(n.ChangedExtConnectivity)
		if err != nil {
			return nil, err
		}
		out.ChangedExtConnectivity = v1.ChangedExtConnectivity(raw)
	}
	return json.Marshal(out)
}

// shorten removes the details that a subscriber with verbosity SHORT reads from the operation.
func shorten(n *sol.VnfLcmOperationOccurrenceNotification) {
	n.AffectedVnfcs, n.AffectedVirtualLinks, n.AffectedExtLinkPorts, n.AffectedVirtualStorages = nil, nil, nil, nil
	n.ChangedInfo, n.ChangedExtConnectivity, n.ModificationsTriggeredByVnfPkgChange = nil, nil, nil
}

func decode[T any](m notify.Message) (*T, error) {
	var n T
	if err := json.Unmarshal(m.Body, &n); err != nil {
		return nil, fmt.Errorf("decode the message %s: %w", m.ID, err)
	}
	return &n, nil
}
