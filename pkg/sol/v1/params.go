package v1

import (
	"bytes"
	"encoding/json"
	"strings"
)

// AdditionalParams returns a JSON object with the names of all members in camel case, as clients of OpenStack Tacker
// see the additionalParams of an instance: k8s_cluster_installation_param is k8sClusterInstallationParam. Only an
// underscore before a letter is replaced. A name stays as it is if the object has another member with the new one.
// Numbers stay as they are written.
func AdditionalParams(params []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(params))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(camelCased(value)); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

func camelCased(value any) any {
	switch v := value.(type) {
	case map[string]any:
		names := make(map[string]int, len(v)) // how many members would have a name
		for name := range v {
			names[camelCase(name)]++
		}
		out := make(map[string]any, len(v))
		for name, member := range v {
			if renamed := camelCase(name); names[renamed] == 1 {
				name = renamed
			}
			out[name] = camelCased(member)
		}
		return out
	case []any:
		for n := range v {
			v[n] = camelCased(v[n])
		}
	}
	return value
}

// camelCase removes each underscore that is followed by a lower-case letter and not the first character, and makes the
// letter upper case.
func camelCase(name string) string {
	if !strings.Contains(name, "_") {
		return name
	}
	out := make([]byte, 0, len(name))
	for n := 0; n < len(name); n++ {
		if next := n + 1; n > 0 && name[n] == '_' && next < len(name) && 'a' <= name[next] && name[next] <= 'z' {
			out = append(out, name[next]-'a'+'A')
			n = next
			continue
		}
		out = append(out, name[n])
	}
	return string(out)
}
