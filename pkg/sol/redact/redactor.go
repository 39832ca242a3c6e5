package redact

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// SecretsMember is the member of additionalParams with the names of further members that hold secrets. An entry is the
// name of a member, or the names on the path to it, separated by "/", such as "database/login". It holds at any depth;
// indexes of arrays are not part of a path. A "/" in a name is written as ~1, and "~" as ~0.
const SecretsMember = "gybe.secrets"

// Redactor removes secrets from values that leave the product. It drops members whose names mark them as secrets
// (IsSecretName) at any depth, and hides secrets in texts (Text). In VIM connections it keeps only known members of
// accessInfo and extra.
type Redactor struct {
	named [][]string
}

// New makes a Redactor that also drops the named members (SecretsMember).
func New(names ...string) Redactor {
	var r Redactor
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for _, name := range names {
		var path []string
		for part := range strings.SplitSeq(strings.Trim(name, "/"), "/") {
			path = append(path, unescape.Replace(part))
		}
		if path[0] != "" {
			r.named = append(r.named, path)
		}
	}
	return r
}

// NamedSecrets returns the entries of SecretsMember in a request body.
func NamedSecrets(raw json.RawMessage) []string {
	if !bytes.Contains(raw, []byte(SecretsMember)) {
		return nil
	}
	var body struct {
		AdditionalParams map[string]json.RawMessage `json:"additionalParams"`
	}
	var names []string
	if json.Unmarshal(raw, &body) != nil || json.Unmarshal(body.AdditionalParams[SecretsMember], &names) != nil {
		return nil // a request with another form is rejected
	}
	return names
}

// Pairs returns a deep copy without secrets.
func (r Redactor) Pairs(kv sol.KeyValuePairs) sol.KeyValuePairs {
	if kv == nil {
		return nil
	}
	return r.object(kv, nil)
}

// Named returns a copy without the named members alone. It is for attributes that clients store and read, such as
// metadata.
func (r Redactor) Named(kv sol.KeyValuePairs) sol.KeyValuePairs {
	if kv == nil || len(r.named) == 0 {
		return kv
	}
	out, _ := r.dropNamed(map[string]any(kv), nil).(map[string]any)
	return out
}

// NamedRaw is Named for an object that is not decoded.
func (r Redactor) NamedRaw(raw sol.RawPairs) (sol.RawPairs, error) {
	if len(r.named) == 0 {
		return raw, nil
	}
	kv, err := raw.Decode()
	if err != nil {
		return "", err
	}
	return r.Named(kv).Raw()
}

// Connection returns a copy of a VIM connection without secrets.
func (r Redactor) Connection(v sol.VimConnectionInfo) sol.VimConnectionInfo {
	v.InterfaceInfo = r.Pairs(v.InterfaceInfo)
	if v.AccessInfo != nil {
		v.AccessInfo = r.allowed(v.AccessInfo)
	}
	if v.Extra != nil {
		v.Extra = r.allowed(v.Extra)
	}
	return v
}

// Connections is Connection for a map.
func (r Redactor) Connections(in map[string]sol.VimConnectionInfo) map[string]sol.VimConnectionInfo {
	out := maps.Clone(in)
	for id, conn := range out {
		out[id] = r.Connection(conn)
	}
	return out
}

// Instance returns a copy without the secrets in VIM connections and in driver metadata, which contains
// additionalParams. Of the attributes that clients store in an instance only named members are dropped.
func (r Redactor) Instance(v sol.VnfInstance) sol.VnfInstance {
	v.VimConnectionInfo = r.Connections(v.VimConnectionInfo)
	v.Metadata, v.Extensions = r.Named(v.Metadata), r.Named(v.Extensions)
	v.VnfConfigurableProperties = r.Named(v.VnfConfigurableProperties)
	if v.InstantiatedVnfInfo != nil && v.InstantiatedVnfInfo.Metadata != nil {
		info := *v.InstantiatedVnfInfo
		info.Metadata = r.Pairs(info.Metadata)
		v.InstantiatedVnfInfo = &info
	}
	return v
}

// Changes returns a copy of changedInfo without the secrets in VIM connections and without named members.
func (r Redactor) Changes(in *sol.VnfInfoModifications) *sol.VnfInfoModifications {
	if in == nil {
		return nil
	}
	info := *in
	info.VimConnectionInfo = r.Connections(info.VimConnectionInfo)
	info.Metadata, info.Extensions = r.Named(info.Metadata), r.Named(info.Extensions)
	info.VnfConfigurableProperties = r.Named(info.VnfConfigurableProperties)
	return &info
}

// PackageChanges returns a copy without named members.
func (r Redactor) PackageChanges(
	in *sol.ModificationsTriggeredByVnfPkgChange,
) *sol.ModificationsTriggeredByVnfPkgChange {
	if in == nil || len(r.named) == 0 {
		return in
	}
	info := *in
	info.Metadata, info.Extensions = r.Named(info.Metadata), r.Named(info.Extensions)
	info.VnfConfigurableProperties = r.Named(info.VnfConfigurableProperties)
	return &info
}

// Params returns the request body of an operation without secrets. A body that is not JSON is dropped completely
// (nil), because its content is unknown.
func (r Redactor) Params(raw json.RawMessage) json.RawMessage {
	value, ok := decodeNumbers(raw)
	if !ok {
		return nil
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r.value(value, nil)); err != nil {
		return nil
	}
	return bytes.TrimSpace(out.Bytes())
}

// decodeNumbers decodes JSON and keeps numbers as they were written.
func decodeNumbers(raw json.RawMessage) (value any, ok bool) {
	if len(raw) == 0 {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil || dec.More() {
		return nil, false
	}
	return value, true
}

// value returns a copy of a value at a path of member names.
func (r Redactor) value(value any, path []string) any {
	switch v := value.(type) {
	case sol.KeyValuePairs:
		return sol.KeyValuePairs(r.object(v, path))
	case map[string]any:
		return r.object(v, path)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = r.value(e, path)
		}
		return out
	case string:
		if strings.Contains(v, "PRIVATE KEY-----") {
			return ""
		}
		return Text(v)
	default:
		return value
	}
}

func (r Redactor) object(in map[string]any, path []string) map[string]any {
	if isVimMember(path) {
		return r.allowed(in)
	}
	out := make(map[string]any, len(in))
	for name, value := range in {
		at := append(slices.Clip(path), name)
		if r.names(at) || isSecret(in, name, value) {
			continue
		}
		out[name] = r.value(value, at)
	}
	return out
}

// isSecret reports whether a member of an object is a secret by its name.
func isSecret(object map[string]any, name string, value any) bool {
	switch value.(type) {
	case bool, nil: // a switch such as "passwordAuthentication": true
		return false
	}
	if name == SecretsMember { // names, not values
		return false
	}
	switch secretKind(name) {
	case plainName:
		return false
	case authName:
		return !isObject(value)
	case keyName:
		return !isEntry(object)
	case secretName:
	}
	return true
}

func isObject(value any) bool {
	switch value.(type) {
	case map[string]any, sol.KeyValuePairs:
		return true
	}
	return false
}

// isEntry reports whether an object is an entry of labels, a selector or a toleration, in which "key" is a name.
func isEntry(object map[string]any) bool {
	for _, name := range []string{"value", "values", "operator", "effect"} {
		if _, ok := object[name]; ok {
			return true
		}
	}
	return false
}

// names reports whether a path ends with a named one.
func (r Redactor) names(path []string) bool {
	for _, named := range r.named {
		if n := len(path) - len(named); n >= 0 && slices.Equal(path[n:], named) {
			return true
		}
	}
	return false
}

// dropNamed returns a copy without the named members.
func (r Redactor) dropNamed(value any, path []string) any {
	switch v := value.(type) {
	case sol.KeyValuePairs:
		return r.dropNamed(map[string]any(v), path)
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			if at := append(slices.Clip(path), name); !r.names(at) {
				out[name] = r.dropNamed(e, at)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for n, e := range v {
			out[n] = r.dropNamed(e, path)
		}
		return out
	}
	return value
}

// isVimMember reports whether a path is that of accessInfo or extra of a VIM connection in a request.
func isVimMember(path []string) bool {
	n := len(path)
	if n == 0 {
		return false
	}
	return path[n-1] == "accessInfo" || path[n-1] == "extra" && n >= 3 &&
		strings.HasPrefix(path[n-3], "vimConnectionInfo")
}

// vimMembers are the members of accessInfo and extra that are shown, in lower case and without separators. Gybe does
// not know others, so they can be secrets.
var vimMembers = []string{
	"username", "userid", "userdomain", "userdomainname", "userdomainid", "project", "projectname", "projectid",
	"projectdomain", "projectdomainname", "projectdomainid", "tenant", "tenantname", "tenantid", "domain", "domainname",
	"domainid", "region", "regionname", "cloud", "applicationcredentialid", "applicationcredentialname", "authurl",
	"authtype", "endpoint", "sslcacert", "cacert", "trustedcertificates", "certverify", "verify",
	"skipcertificateverification", "skipcertificatehostnamecheck", "namespace",
	"clientid", "oidctokenurl", "gybevnfinstanceid", "gybevdus", "helminfo", "masternodeip", "masternodeusername",
}

// IsShownVimMember reports whether a member of accessInfo or extra of a VIM connection is shown.
func IsShownVimMember(name string) bool {
	return slices.Contains(vimMembers, strings.Map(plainLetter, name))
}

// plainLetter maps the characters of a name to lower case and drops what separates its words.
func plainLetter(c rune) rune {
	switch c {
	case '_', '-', '.', ' ':
		return -1
	}
	return unicode.ToLower(c)
}

// allowed returns a copy of accessInfo or extra with the members that are shown.
func (r Redactor) allowed(in map[string]any) map[string]any {
	out := make(map[string]any, len(in))
	for name, value := range in {
		if !IsShownVimMember(name) || r.names([]string{name}) {
			continue
		}
		if isObject(value) {
			if kv, ok := value.(sol.KeyValuePairs); ok {
				value = map[string]any(kv)
			}
			object, _ := value.(map[string]any)
			out[name] = r.allowed(object)
			continue
		}
		out[name] = r.value(value, []string{name})
	}
	return out
}
