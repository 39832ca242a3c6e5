// Package keystonetime reads the times in documents of Keystone.
package keystonetime

import (
	"encoding/json"
	"fmt"
	"time"
)

// Time is a time in a document of Keystone. Most have a zone, as in RFC 3339. The expiry of a token that ends with its
// application credential has none; then it is UTC.
type Time struct{ time.Time }

// withoutZone accepts fractions of a second, too.
const withoutZone = "2006-01-02T15:04:05"

// UnmarshalJSON implements json.Unmarshaler. Null is the zero time.
func (t *Time) UnmarshalJSON(raw []byte) error {
	var text *string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	if text == nil {
		t.Time = time.Time{}
		return nil
	}
	for _, layout := range []string{time.RFC3339, withoutZone} {
		if at, err := time.Parse(layout, *text); err == nil {
			t.Time = at
			return nil
		}
	}
	return fmt.Errorf("%.40q is not a time of Keystone", *text)
}

// Expiry is the part of a token that says when it ends, for the ExtractInto of gophercloud's results.
type Expiry struct {
	ExpiresAt Time `json:"expires_at"`
}
