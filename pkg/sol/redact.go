package sol

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"unicode"
)

// Redacted returns a copy without secrets, for all output of the product. It
// drops members of accessInfo, interfaceInfo and extra whose names mark them as
// secrets, at any depth.
func (v VimConnectionInfo) Redacted() VimConnectionInfo {
	v.InterfaceInfo = v.InterfaceInfo.Redacted()
	v.AccessInfo = v.AccessInfo.Redacted()
	v.Extra = v.Extra.Redacted()
	return v
}

// Redacted returns a deep copy without members whose names mark them as secrets.
// The passwords of URLs with user information are dropped as well.
func (kv KeyValuePairs) Redacted() KeyValuePairs {
	if kv == nil {
		return nil
	}
	return redactMap(kv)
}

// Redacted returns a copy without the secrets in VIM connections and in driver
// metadata, which contains additionalParams.
func (v VnfInstance) Redacted() VnfInstance {
	v.VimConnectionInfo = redactConnections(v.VimConnectionInfo)
	if v.InstantiatedVnfInfo != nil && v.InstantiatedVnfInfo.Metadata != nil {
		info := *v.InstantiatedVnfInfo
		info.Metadata = info.Metadata.Redacted()
		v.InstantiatedVnfInfo = &info
	}
	return v
}

// Redacted returns a copy without the secrets in operationParams and changed VIM
// connections.
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
// members whose names mark them as secrets, at any depth. A body that is not
// JSON is dropped completely (nil), because its content is unknown.
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
		return redactText(v)
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

// canHoldSecret is false for switches such as "passwordAuthentication": true.
func canHoldSecret(value any) bool {
	switch value.(type) {
	case bool, nil:
		return false
	default:
		return true
	}
}

// redactText drops the password of a URL such as http://user:pw@proxy:3128, and all
// private keys whatever member they are in.
func redactText(s string) string {
	if strings.Contains(s, "PRIVATE KEY-----") {
		return ""
	}
	scheme, rest, isURL := strings.Cut(s, "://")
	if !isURL {
		return s
	}
	// url.Parse would fail for a password with invalid characters.
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		// The slash may be part of a password, unless the text before it is host:port.
		_, port, hasPort := strings.Cut(rest[:end], ":")
		if at = strings.LastIndexByte(rest, '@'); at < 0 || !hasPort || strings.Trim(port, "0123456789") == "" {
			return s
		}
	}
	user, _, hasPassword := strings.Cut(rest[:at], ":")
	if !hasPassword {
		return s
	}
	return scheme + "://" + user + rest[at:]
}

// secretParts are parts of names, in lower case and without separators.
var secretParts = []string{
	"password", "passwd", "passphrase", "secret", "token", "credential",
	"privatekey", "apikey", "accesskey", "clientkey", "certificatekey",
	"sshkey", "bearer", "kubeconfig",
}

// plainLetter maps the characters of a name to lower case and drops what separates its words.
func plainLetter(r rune) rune {
	switch r {
	case '_', '-', '.', ' ':
		return -1
	}
	return unicode.ToLower(r)
}

// IsSecretName reports whether a JSON member of this name holds a secret, such
// as password, bearer_token or clientPassword. Names of endpoints, e.g.
// tokenEndpoint, are not secret.
func IsSecretName(name string) bool {
	n := strings.Map(plainLetter, name)
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
