package vnfpkg

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// AttrUsageState is the attribute of a message with the usage state. It depends on the project: others see their own
// use of a shared package.
const AttrUsageState = "usageState"

// Audience says whose subscribers hear a message.
type Audience string

// The audiences.
const (
	AudienceProject Audience = "PROJECT" // the project of the package
	AudienceAll     Audience = "ALL"     // all projects
	AudienceOthers  Audience = "OTHERS"  // all projects but that of the package
)

// Message is a notification about a package, without subscriptionId and _links.
type Message struct {
	ID       string
	Kind     sol.PackageNotificationType
	Time     time.Time
	Body     json.RawMessage
	Audience Audience
	// Attributes are values of the package that filters of subscriptions match, by their names in these filters.
	Attributes map[string][]string
}

// ChangeMessages returns the notifications about a change of a package, in order: it was onboarded, or an onboarded one
// was enabled, disabled, shared or withdrawn. Other projects see only shared packages. For them a package that becomes
// shared is onboarded, and one that is withdrawn is deleted.
func ChangeMessages(before, p *Package, now time.Time) ([]*Message, error) {
	if p.OnboardingState != sol.PackageOnboardingStateOnboarded || p.Onboarded == nil {
		return nil, nil
	}
	audience := AudienceProject
	if before.Shared && p.Shared {
		audience = AudienceAll
	}
	var b messageBuilder
	if before.OnboardingState != p.OnboardingState {
		b.onboarded(p, audience, now)
	} else if before.OperationalState != p.OperationalState {
		b.changed(p, audience, sol.PackageChangeOpState, p.OperationalState, now)
	}
	switch {
	case p.Shared && !before.Shared:
		b.onboarded(p, AudienceOthers, now)
		if p.OperationalState == sol.PackageOperationalStateDisabled {
			b.changed(p, AudienceOthers, sol.PackageChangeOpState, p.OperationalState, now)
		}
	case !p.Shared && before.Shared:
		b.changed(p, AudienceOthers, sol.PackageChangeDelete, "", now)
	}
	return b.messages, b.err
}

// DeletionMessages returns the notification about a deleted package, none for one that was not onboarded.
func DeletionMessages(p *Package, now time.Time) ([]*Message, error) {
	if p.OnboardingState != sol.PackageOnboardingStateOnboarded || p.Onboarded == nil {
		return nil, nil
	}
	audience := AudienceProject
	if p.Shared {
		audience = AudienceAll
	}
	var b messageBuilder
	b.changed(p, audience, sol.PackageChangeDelete, "", now)
	return b.messages, b.err
}

// messageBuilder collects messages until the first error.
type messageBuilder struct {
	messages []*Message
	err      error
}

func (b *messageBuilder) onboarded(p *Package, audience Audience, now time.Time) {
	n := sol.VnfPackageOnboardingNotification{
		ID: uuid.NewString(), NotificationType: sol.NotificationPackageOnboarding, TimeStamp: now.UTC(), VnfPkgID: p.ID,
		VnfdID: p.VnfdID, VnfmInfo: append([]string{}, p.Onboarded.VnfmInfo...),
	}
	b.add(p, n.ID, n.NotificationType, audience, now, n)
}

func (b *messageBuilder) changed(
	p *Package, audience Audience, change sol.PackageChangeType, state sol.PackageOperationalState, now time.Time,
) {
	n := sol.VnfPackageChangeNotification{
		ID: uuid.NewString(), NotificationType: sol.NotificationPackageChange, TimeStamp: now.UTC(), VnfPkgID: p.ID,
		VnfdID: p.VnfdID, ChangeType: change, OperationalState: state,
	}
	b.add(p, n.ID, n.NotificationType, audience, now, n)
}

func (b *messageBuilder) add(
	p *Package, id string, kind sol.PackageNotificationType, audience Audience, now time.Time, body any,
) {
	raw, err := json.Marshal(body)
	if err != nil {
		b.err = errors.Join(b.err, fmt.Errorf("encode notification: %w", err))
		return
	}
	b.messages = append(b.messages, &Message{
		ID: id, Kind: kind, Time: now.UTC(), Body: raw, Audience: audience, Attributes: map[string][]string{
			"package": {p.ID}, "operationalState": {string(p.OperationalState)}, AttrUsageState: {string(p.UsageState)},
			"vnfmInfo": append([]string{}, p.Onboarded.VnfmInfo...),
		},
	})
}
