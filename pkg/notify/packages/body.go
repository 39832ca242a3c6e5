package packages

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// The paths of the interface. A notification leads to those of the version that the subscription was made with.
const (
	prefix1       = "/vnfpkgm/v1"
	prefix2       = "/vnfpkgm/v2"
	subscriptions = "/subscriptions"
)

// API describes the interface.
var API = notify.API{
	Name: "vnfpkgm", Parse: parse,
	Pointer: func(attribute string) string { return pointers[attribute] }, Render: render,
}

// render completes a notification (SOL003 clauses 10.5.2.5 and 10.5.2.6).
func render(m notify.Message, s *notify.Subscription, link func(path string) sol.Link) ([]byte, error) {
	prefix := prefix2
	if strings.HasPrefix(s.Version, "1.") {
		prefix = prefix1
	}
	links := func(id, vnfdID string) sol.PkgmLinks {
		byVnfd := link(prefix + "/onboarded_vnf_packages/" + url.PathEscape(vnfdID))
		return sol.PkgmLinks{
			VnfPackage: link(prefix + "/vnf_packages/" + id), VnfPackageByVnfdID: &byVnfd,
			Subscription: link(prefix + subscriptions + "/" + s.ID),
		}
	}
	switch sol.PackageNotificationType(m.Kind) {
	case sol.NotificationPackageOnboarding:
		n, err := decode[sol.VnfPackageOnboardingNotification](m)
		if err != nil {
			return nil, err
		}
		n.SubscriptionID, n.Links = s.ID, links(n.VnfPkgID, n.VnfdID)
		return json.Marshal(n)
	case sol.NotificationPackageChange:
		n, err := decode[sol.VnfPackageChangeNotification](m)
		if err != nil {
			return nil, err
		}
		n.SubscriptionID, n.Links = s.ID, links(n.VnfPkgID, n.VnfdID)
		return json.Marshal(n)
	}
	return nil, fmt.Errorf("message %s has the unknown type %q", m.ID, m.Kind)
}

func decode[T any](m notify.Message) (*T, error) {
	var n T
	if err := json.Unmarshal(m.Body, &n); err != nil {
		return nil, fmt.Errorf("decode the message %s: %w", m.ID, err)
	}
	return &n, nil
}
