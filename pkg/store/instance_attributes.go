package store

import (
	"cmp"
	"maps"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// The attributes that clients store in an instance can hold secrets under any name, so they are sealed, in one column.
// The release before kept them in columns of their own, which are not sealed. Such a node still writes them there: what
// it has written lies over the sealed attributes, until a node of this release writes the row, or the row is sealed
// again (Reencrypt).

// plainColumns are the columns of the release before.
var plainColumns = []string{"configurable_properties", "metadata", "extensions"}

// attributes is the sealed column: a JSON object of the attributes that the instance has. It is read after the plain
// columns.
var attributes = bytesColumn("attributes", sealed|large|optional, func(i *lcm.Instance) ([]byte, error) {
	var out []byte
	for _, a := range clientAttributes(i) {
		if *a.pairs == "" {
			continue
		}
		sign := byte(',')
		if out == nil {
			sign = '{'
		}
		out = append(append(out, sign, '"'), a.name...)
		out = append(append(out, '"', ':'), *a.pairs...)
	}
	if out == nil {
		return nil, nil
	}
	return noNUL(append(out, '}')), nil
}, func(i *lcm.Instance, plain []byte) error {
	all := maps.Collect(sol.RawPairs(plain).Members())
	for _, a := range clientAttributes(i) {
		var err error
		if *a.pairs, err = overlay(sol.RawPairs(all[a.name]), *a.pairs); err != nil {
			return err
		}
	}
	return nil
})

// clientAttribute is an attribute in the sealed column.
type clientAttribute struct {
	name  string
	pairs *sol.RawPairs
}

// clientAttributes lists them in the order of the fingerprint.
func clientAttributes(i *lcm.Instance) [3]clientAttribute {
	return [3]clientAttribute{
		{"configurableProperties", &i.ConfigurableProperties}, {"metadata", &i.Metadata}, {"extensions", &i.Extensions},
	}
}

// overlay puts pairs over others.
func overlay(below, above sol.RawPairs) (sol.RawPairs, error) {
	if below == "" || above == "" {
		return cmp.Or(above, below), nil
	}
	out, err := below.Decode()
	if err != nil {
		return "", err
	}
	over, err := above.Decode()
	if err != nil {
		return "", err
	}
	maps.Copy(out, over)
	return out.Raw()
}

// plainPairs is a column of the release before: it is read, and emptied. PostgreSQL has its own order of names.
func plainPairs(name string, field func(*lcm.Instance) *sol.RawPairs) column[lcm.Instance] {
	return bytesColumn(name, large, func(*lcm.Instance) ([]byte, error) { return nil, nil },
		func(i *lcm.Instance, plain []byte) error {
			var kv sol.KeyValuePairs
			if err := decode(plain, &kv); err != nil {
				return err
			}
			var err error
			*field(i), err = kv.Raw()
			return err
		})
}
