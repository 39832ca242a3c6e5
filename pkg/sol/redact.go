package sol

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"strings"
)

// Redacted returns a copy without secrets, for everything that leaves the
// product: members of accessInfo, interfaceInfo and extra whose names stand for
// secrets are dropped, at any depth.
func (v VimConnectionInfo) Redacted() VimConnectionInfo {
	v.InterfaceInfo = v.InterfaceInfo.Redacted()
	v.AccessInfo = v.AccessInfo.Redacted()
	v.Extra = v.Extra.Redacted()
	return v
}

// Redacted returns a deep copy without members whose names stand for secrets.
// The passwords of URLs with user information are dropped as well.
func (kv KeyValuePairs) Redacted() KeyValuePairs {
	if kv == nil {
		return nil
	}
	return redactMap(kv)
}

// Redacted returns a shallow copy whose VIM connections carry no secrets.
// Operation outcomes (changedInfo) and instances use it alike.
func (v VnfInstance) Redacted() VnfInstance {
	v.VimConnectionInfo = redactConnections(v.VimConnectionInfo)
	return v
}

// Redacted returns a copy whose operationParams and changed VIM connections
// carry no secrets.
func (o VnfLcmOpOcc) Redacted() VnfLcmOpOcc {
	o.OperationParams = RedactOperationParams(o.OperationParams)
	if o.ChangedInfo != nil {
		info := *o.ChangedInfo
		info.VimConnectionInfo = redactConnections(info.VimConnectionInfo)
		o.ChangedInfo = &info
	}
	return o
}

func redactConnections(in map[string]VimConnectionInfo) map[string]VimConnectionInfo {
	if in == nil {
		return nil
	}
	out := maps.Clone(in)
	for id, conn := range out {
		out[id] = conn.Redacted()
	}
	return out
}

// RedactOperationParams returns the request body of an operation without
// members whose names stand for secrets, at any depth. What is not JSON is
// dropped completely (nil), because nobody can say what it contains.
func RedactOperationParams(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // keep numbers as they were written
	var value any
	if err := dec.Decode(&value); err != nil || dec.More() {
		return nil
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(redactValue(value)); err != nil {
		return nil
	}
	return bytes.TrimSpace(out.Bytes())
}

func redactValue(value any) any {
	switch v := value.(type) {
	case KeyValuePairs:
		return KeyValuePairs(redactMap(v))
	case map[string]any:
		return redactMap(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = redactValue(e)
		}
		return out
	case string:
		return redactURL(v)
	default:
		return value
	}
}

func redactMap(in map[string]any) map[string]any {
	out := make(map[string]any, len(in))
	for name, value := range in {
		if IsSecretName(name) && canHoldSecret(value) {
			continue
		}
		out[name] = redactValue(value)
	}
	return out
}

// canHoldSecret spares switches such as "passwordAuthentication": true.
func canHoldSecret(value any) bool {
	switch value.(type) {
	case bool, nil:
		return false
	default:
		return true
	}
}

// redactURL drops the password of a URL such as http://user:pw@proxy:3128.
func redactURL(s string) string {
	if !strings.Contains(s, "://") || !strings.Contains(s, "@") {
		return s
	}
	u, err := url.Parse(s)
	if err != nil || u.User == nil {
		return s
	}
	if _, has := u.User.Password(); !has {
		return s
	}
	u.User = url.User(u.User.Username())
	return u.String()
}

// secretParts are parts of names, in lower case and without separators.
var secretParts = []string{
	"password", "passwd", "passphrase", "secret", "token", "credential",
	"privatekey", "apikey", "accesskey", "clientkey", "certificatekey",
	"sshkey", "bearer", "kubeconfig",
}

// IsSecretName reports whether a JSON member of this name holds a secret, such
// as password, bearer_token or clientPassword. Names of endpoints, e.g.
// tokenEndpoint, are not secret.
func IsSecretName(name string) bool {
	n := strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(strings.ToLower(name))
	if n == "pass" || n == "pwd" || n == "pw" {
		return true
	}
	for _, suffix := range []string{"endpoint", "url", "uri"} {
		if strings.HasSuffix(n, suffix) {
			return false
		}
	}
	for _, part := range secretParts {
		if strings.Contains(n, part) {
			return true
		}
	}
	return false
}
