// Package tacker is a stand-in of OpenStack Tacker for tests of adoption: the reading side of its API over HTTP, and
// the stacks that it would have made in an OpenStack, the simulated or a real one, through Heat's API.
//
//	server := tacker.Start(t, tacker.Options{})
//	vim := server.Connect(cloud.AuthOptions())
//	pkg := server.AddPackage("../packages/standard")
//	vnf := vim.Standard(pkg, "my VNF", requests.Standard("volumes"))   // version 2, one resource per VNFC
//	vnf.Scale("SCALE_OUT", "VDU1_scale", 1)
//	… vnf.ID at server.URL …
//
// The assembly of stacks follows Tacker's documented behaviour and does not use Gybe's own, so that tests meet the
// differences between both. Groups makes stacks of version 1, whose groups are scaled by signals.
//
// Tacker's mgmt drivers are not here. The cluster of Cluster is made by a node of Gybe, which runs the package's script
// on the machines as Tacker's mgmt driver does; the instance is then presented in Tacker's form, and the test forgets
// that node and its database. The stack keeps the tags that Gybe has given to it, which a stack of Tacker has not.
package tacker

import "encoding/json"

// obj is a JSON object.
type obj = map[string]any

// clone copies a document.
func clone[T any](v T) T {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // documents of this package have only JSON's types
	}
	var out T
	if err := json.Unmarshal(raw, &out); err != nil {
		panic(err)
	}
	return out
}

// object turns a value into the JSON object that it stands for.
func object(v any) obj {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out obj
	if err := json.Unmarshal(raw, &out); err != nil {
		panic(err)
	}
	return out
}

// merge applies a JSON merge patch (RFC 7396).
func merge(target, patch any) any {
	p, ok := patch.(obj)
	if !ok {
		return patch
	}
	t, ok := target.(obj)
	if !ok {
		t = obj{}
	}
	for name, value := range p {
		if value == nil {
			delete(t, name)
		} else {
			t[name] = merge(t[name], value)
		}
	}
	return t
}
