package sol

import "encoding/json"

// The standard's times are UTC on the wire whatever zone the values carry, e.g.
// after a round trip through the database.

// MarshalJSON implements json.Marshaler; times are written in UTC.
func (o VnfLcmOpOcc) MarshalJSON() ([]byte, error) {
	type plain VnfLcmOpOcc
	o.StateEnteredTime = o.StateEnteredTime.UTC()
	o.StartTime = o.StartTime.UTC()
	return json.Marshal(plain(o))
}

// MarshalJSON implements json.Marshaler; times are written in UTC.
func (n VnfLcmOperationOccurrenceNotification) MarshalJSON() ([]byte, error) {
	type plain VnfLcmOperationOccurrenceNotification
	n.TimeStamp = n.TimeStamp.UTC()
	return json.Marshal(plain(n))
}

// MarshalJSON implements json.Marshaler; times are written in UTC.
func (n VnfIdentifierCreationNotification) MarshalJSON() ([]byte, error) {
	type plain VnfIdentifierCreationNotification
	n.TimeStamp = n.TimeStamp.UTC()
	return json.Marshal(plain(n))
}

// MarshalJSON implements json.Marshaler; times are written in UTC.
func (n VnfIdentifierDeletionNotification) MarshalJSON() ([]byte, error) {
	type plain VnfIdentifierDeletionNotification
	n.TimeStamp = n.TimeStamp.UTC()
	return json.Marshal(plain(n))
}

// MarshalJSON implements json.Marshaler; times are written in UTC.
func (i VnfPackageSoftwareImageInfo) MarshalJSON() ([]byte, error) {
	type plain VnfPackageSoftwareImageInfo
	i.CreatedAt = i.CreatedAt.UTC()
	return json.Marshal(plain(i))
}
