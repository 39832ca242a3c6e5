package lifecycle

import (
	"encoding/json"
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// The paths of the interface.
const (
	prefix        = "/vnflcm/v2"
	subscriptions = prefix + "/subscriptions"
)

// API describes the interface.
var API = notify.API{
	Name: "vnflcm", Parse: parse,
	Pointer: func(attribute string) string { return pointers[attribute] }, Render: render,
}

// render completes a notification (SOL003 clauses 5.5.2.17 to 5.5.2.19).
func render(m notify.Message, s *notify.Subscription, link func(path string) sol.Link) ([]byte, error) {
	links := func(instanceID string) sol.LccnLinks {
		return sol.LccnLinks{
			VnfInstance: link(prefix + "/vnf_instances/" + instanceID), Subscription: link(subscriptions + "/" + s.ID),
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
