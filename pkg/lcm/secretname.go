package lcm

import (
	"encoding/json"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

// Limits of the names of secret members in a request, and of those that an instance keeps.
const (
	maxSecretNames      = 100
	maxSecretNameLength = 256
	maxKeptSecretNames  = 1000
)

// NameSecrets collects the names of members that hold secrets, besides those whose names show it: those that the VNFDs
// and the request name, and those that the instance keeps from earlier requests. It rejects names that are not valid.
func (a *Admission) NameSecrets() {
	const at = "/additionalParams/" + redact.SecretsMember
	if own, err := decodeParams(a.Task.Raw); err == nil && own[redact.SecretsMember] != nil && !validSecretNames(own) {
		a.Reject(at, "is not a list of at most %d names of members, of 1 to %d characters each", maxSecretNames,
			maxSecretNameLength)
		return
	}
	names := slices.Concat(a.Instance.SecretNames, redact.NamedSecrets(a.Task.Raw), a.Present.VNFD.Secrets)
	if a.Next != nil {
		names = append(names, a.Next.VNFD.Secrets...)
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) > maxKeptSecretNames {
		a.Reject(at, "the requests and the VNFD of the instance name more than %d secrets", maxKeptSecretNames)
		return
	}
	a.Instance.SecretNames = names
}

func validSecretNames(params sol.KeyValuePairs) bool {
	list, ok := params[redact.SecretsMember].([]any)
	return ok && len(list) <= maxSecretNames && !slices.ContainsFunc(list, func(v any) bool {
		s, isText := v.(string)
		return !isText || s == "" || len(s) > maxSecretNameLength
	})
}

// NewHider makes a Hider for the texts of an operation: it hides the secrets of the request and of the instance where
// a VIM, a node or a script repeats them.
func NewHider(op *Operation, i *Instance) redact.Hider {
	redactor, request := redact.New(op.SecretNames...), op.Params
	var params sol.RawPairs
	var connections map[string]sol.VimConnectionInfo
	if i != nil {
		params, connections = i.Params, i.VimConnections
	}
	return redact.NewHider(func() []string {
		return redactor.SecretValues(request, json.RawMessage(params), connections)
	})
}

// HideFailure hides secrets in a failure.
func HideFailure(h redact.Hider, f *Failure) *Failure {
	if f == nil {
		return nil
	}
	out := *f
	out.Title, out.Detail, out.Hint = h.Hide(f.Title), h.Hide(f.Detail), h.Hide(f.Hint)
	out.Params = slices.Clone(f.Params)
	for n := range out.Params {
		out.Params[n].Detail = h.Hide(out.Params[n].Detail)
	}
	return &out
}
