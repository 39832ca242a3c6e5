package adoption

import (
	"encoding/json"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Tacker is the only value of Request.System.
const Tacker = "tacker"

// Request asks for the adoption of an instance. The documents are those that the other VNFM has answered.
type Request struct {
	System  string // Tacker
	Address string // of the other VNFM, for the records only
	Version int    // major version of the interface: 1 or 2
	// Instance is the VNF instance, Operations are its operation occurrences, the newest first, and Vims the entries of
	// the other VNFM's registry of VIMs.
	Instance   json.RawMessage
	Operations []json.RawMessage
	Vims       []json.RawMessage
	// PackageID is the id here of the package with the instance's vnfdId.
	PackageID string
	// Connections are ids of VIMs that are registered here, by the keys of the instance's VIM connections.
	Connections map[string]string
	// AdditionalParams are merged over those of the documents (RFC 7396).
	AdditionalParams json.RawMessage
	// Name replaces the name of the instance; "" keeps it.
	Name string
	// DryRun stores nothing.
	DryRun bool
}

// Plan is an instance as it would be, or has been, adopted.
type Plan struct {
	// Instance is what is stored; Instantiated is nil if the VIM could not be read.
	Instance *lcm.Instance
	Primary  lcm.PrimaryResource
	VNFCs    []VNFC
	Cluster  *lcm.AdoptedCluster // nil for an instance that is none
	// Update is the difference between what there is and what the next operation would ask the VIM for.
	Update   lcm.Preview
	Warnings []string
	Refusals []Refusal
	// Adopted says that the instance is stored, Already that it was before the request.
	Adopted, Already bool
}

// Refusal is a reason why an instance cannot be adopted.
type Refusal struct {
	Pointer string // JSON pointer into the request
	Detail  string
	Hint    string
}

// The values of VNFC.State.
const (
	Found   = "FOUND"
	Missing = "MISSING" // the VIM does not have it
	Extra   = "EXTRA"   // the other VNFM does not name it
)

// VNFC is a VNFC of an instance that is to be adopted.
type VNFC struct {
	ID, VDU string
	Server  string // id in the VIM
	Name    string // of the server
	State   string // Found, Missing or Extra
	Status  string // of the server, in the VIM's word
}

// Refuse adds a reason.
func (p *Plan) Refuse(pointer, detail, hint string) {
	p.Refusals = append(p.Refusals, Refusal{pointer, detail, hint})
}

// RefuseError adds the reasons that an error has. It returns errors of other kinds, such as a database that does not
// answer. at is the pointer for an error that has none.
func (p *Plan) RefuseError(err error, at string, translate func(pointer string) string) error {
	if err == nil {
		return nil
	}
	e := lcm.AsError(err)
	switch e.Code {
	case lcm.CodeUnprocessable, lcm.CodeConflict, lcm.CodeNotFound, lcm.CodeUpstream:
	default:
		return err
	}
	if len(e.Params) == 0 {
		p.Refuse(at, e.Detail, e.Hint)
		return nil
	}
	for _, bad := range e.Params {
		pointer := bad.Pointer
		if translate != nil {
			pointer = translate(pointer)
		}
		p.Refuse(pointer, bad.Detail, e.Hint)
	}
	return nil
}

// Err is the error with all refusals; nil when there is none.
func (p *Plan) Err() error {
	if len(p.Refusals) == 0 {
		return nil
	}
	bad := make([]lcm.InvalidParam, len(p.Refusals))
	for n, r := range p.Refusals {
		bad[n] = lcm.InvalidParam{Pointer: r.Pointer, Detail: r.Detail}
		if r.Hint != "" {
			bad[n].Detail += " (" + r.Hint + ")"
		}
	}
	e := *lcm.AsError(lcm.Unprocessable(bad...))
	e.Title = "Instance cannot be adopted"
	return &e
}
