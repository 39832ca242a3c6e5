package store

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// The attributes that clients store in an instance can hold secrets under any name, so they are sealed, in one column.
// The release before kept them in columns of their own, which are not sealed. Such a node still writes them there: what
// it has written lies over the sealed attributes, until a node of this release writes the row, or the row is sealed
// again (Reencrypt).

// clientAttributes is the content of the sealed column.
type clientAttributes struct {
	ConfigurableProperties sol.KeyValuePairs `json:"configurableProperties,omitempty"`
	Metadata               sol.KeyValuePairs `json:"metadata,omitempty"`
	Extensions             sol.KeyValuePairs `json:"extensions,omitempty"`
}

// plainColumns are the columns of the release before.
var plainColumns = []string{"configurable_properties", "metadata", "extensions"}

// attributes is the sealed column. It is read after the plain columns.
var attributes = bytesColumn("attributes", sealed|large|optional, func(i *lcm.Instance) ([]byte, error) {
	raw, err := json.Marshal(clientAttributes{i.ConfigurableProperties, i.Metadata, i.Extensions})
	if err != nil || bytes.Equal(raw, []byte("{}")) {
		return nil, err
	}
	raw = noNUL(raw)
	if err := json.Unmarshal(raw, new(clientAttributes)); err != nil { // it could never be read again
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "metadata, extensions or vnfConfigurableProperties: %w", err)
	}
	return raw, nil
}, func(i *lcm.Instance, plain []byte) error {
	var a clientAttributes
	if err := decode(plain, &a); err != nil {
		return err
	}
	i.ConfigurableProperties = overlay(a.ConfigurableProperties, i.ConfigurableProperties)
	i.Metadata, i.Extensions = overlay(a.Metadata, i.Metadata), overlay(a.Extensions, i.Extensions)
	return nil
})

// overlay puts pairs over others.
func overlay(below, above sol.KeyValuePairs) sol.KeyValuePairs {
	if above == nil {
		return below
	}
	out := maps.Clone(below)
	if out == nil {
		return above
	}
	maps.Copy(out, above)
	return out
}

// plainPairs is a column of the release before: it is read, and emptied.
func plainPairs(name string, field func(*lcm.Instance) *sol.KeyValuePairs) column[lcm.Instance] {
	return bytesColumn(name, large, func(*lcm.Instance) ([]byte, error) { return nil, nil },
		func(i *lcm.Instance, plain []byte) error { return decode(plain, field(i)) })
}
