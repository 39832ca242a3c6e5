package lcm

import (
	"encoding/json"
	"maps"
)

// Kind is what a resource is, in terms that all VIMs share.
type Kind string

// The kinds of resources.
const (
	KindCompute   Kind = "COMPUTE" // a virtual machine
	KindContainer Kind = "CONTAINER"
	KindPort      Kind = "PORT"
	KindAddress   Kind = "ADDRESS" // a floating IP address
	KindNetwork   Kind = "NETWORK" // a network or a part of one: subnet, router
	KindStorage   Kind = "STORAGE"
	KindImage     Kind = "IMAGE"
	KindOther     Kind = "OTHER"
)

// kinds has the kinds of the VIMs' types, as the drivers have registered them.
var kinds = map[string]Kind{}

// RegisterKinds says which kinds the types of a VIM are. An infra driver calls it from init, so that inventories can be
// read which were stored before resources had kinds.
func RegisterKinds(byType map[string]Kind) { maps.Copy(kinds, byType) }

// UnmarshalJSON implements json.Unmarshaler. A resource that was stored without a kind gets the one of its type.
func (r *Resource) UnmarshalJSON(raw []byte) error {
	type plain Resource
	if err := json.Unmarshal(raw, (*plain)(r)); err != nil {
		return err
	}

	if r.Kind == "" {
		r.Kind = kinds[r.Type]
	}
	return nil
}
