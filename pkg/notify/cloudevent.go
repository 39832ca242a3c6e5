package notify

import (
	"encoding/json"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// cloudEvent is a CloudEvent 1.0 in structured mode.
type cloudEvent struct {
	SpecVersion     string                     `json:"specversion"`
	ID              string                     `json:"id"`
	Source          string                     `json:"source"`
	Type            string                     `json:"type"`
	Subject         string                     `json:"subject"`
	Time            time.Time                  `json:"time"`
	DataContentType string                     `json:"datacontenttype"`
	Data            map[string]json.RawMessage `json:"data"`
}

// CloudEvent makes a CloudEvent of a message about a resource, for clients without a subscription: its data is the
// notification with verbosity FULL, and without what refers to a subscription.
func (a *API) CloudEvent(m Message, subject string, link func(path string) sol.Link) (json.RawMessage, error) {
	body, err := a.Render(m, &Subscription{Verbosity: sol.VerbosityFull}, link)
	if err != nil {
		return nil, err
	}
	e := cloudEvent{
		SpecVersion: "1.0", ID: m.ID, Source: link("/" + a.Name).Href, Type: "org.etsi.nfv." + a.Name + "." + m.Kind,
		Subject: subject, Time: m.Time, DataContentType: "application/json",
	}
	if err := json.Unmarshal(body, &e.Data); err != nil {
		return nil, err
	}
	var links map[string]sol.Link
	if err := json.Unmarshal(e.Data["_links"], &links); err != nil {
		return nil, err
	}
	delete(links, "subscription")
	delete(e.Data, "subscriptionId")
	if e.Data["_links"], err = json.Marshal(links); err != nil {
		return nil, err
	}
	return json.Marshal(e)
}
