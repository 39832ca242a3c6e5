package vnfpkg

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Message is a notification about a package, without subscriptionId and _links.
type Message struct {
	ID   string
	Kind sol.PackageNotificationType
	Time time.Time
	Body json.RawMessage
	// Attributes are values of the package that filters of subscriptions match, by their names in these filters.
	Attributes map[string][]string
}

// ChangeMessage returns the notification about a change of a package, nil when subscribers need not know about it: a
// package was onboarded, or an onboarded one enabled or disabled.
func ChangeMessage(before, p *Package, now time.Time) (*Message, error) {
	onboarded := p.OnboardingState == sol.PackageOnboardingStateOnboarded && p.Onboarded != nil
	switch {
	case !onboarded:
		return nil, nil //nolint:nilnil // nothing to tell
	case before.OnboardingState != p.OnboardingState:
		n := sol.VnfPackageOnboardingNotification{
			ID: uuid.NewString(), NotificationType: sol.NotificationPackageOnboarding, TimeStamp: now.UTC(),
			VnfPkgID: p.ID, VnfdID: p.VnfdID, VnfmInfo: append([]string{}, p.Onboarded.VnfmInfo...),
		}
		return p.message(n.ID, n.NotificationType, now, n)
	case before.OperationalState != p.OperationalState:
		return p.changeMessage(sol.PackageChangeOpState, p.OperationalState, now)
	}
	return nil, nil //nolint:nilnil // nothing to tell
}

// DeletionMessage returns the notification about a deleted package, nil for one that was not onboarded.
func DeletionMessage(p *Package, now time.Time) (*Message, error) {
	if p.OnboardingState != sol.PackageOnboardingStateOnboarded || p.Onboarded == nil {
		return nil, nil //nolint:nilnil // nothing to tell
	}
	return p.changeMessage(sol.PackageChangeDelete, "", now)
}

func (p *Package) changeMessage(
	change sol.PackageChangeType, state sol.PackageOperationalState, now time.Time,
) (*Message, error) {
	n := sol.VnfPackageChangeNotification{
		ID: uuid.NewString(), NotificationType: sol.NotificationPackageChange, TimeStamp: now.UTC(), VnfPkgID: p.ID,
		VnfdID: p.VnfdID, ChangeType: change, OperationalState: state,
	}
	return p.message(n.ID, n.NotificationType, now, n)
}

func (p *Package) message(
	id string, kind sol.PackageNotificationType, now time.Time, body any,
) (*Message, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode notification: %w", err)
	}
	return &Message{ID: id, Kind: kind, Time: now.UTC(), Body: raw, Attributes: map[string][]string{
		"package": {p.ID}, "operationalState": {string(p.OperationalState)}, "usageState": {string(p.UsageState)},
		"vnfmInfo": append([]string{}, p.Onboarded.VnfmInfo...),
	}}, nil
}
