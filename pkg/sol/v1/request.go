package v1

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Error is what is wrong with a member of a request.
type Error struct {
	// Pointer is a JSON pointer into the request.
	Pointer string
	Detail  string
}

// Error implements error.
func (e *Error) Error() string { return e.Pointer + ": " + e.Detail }

// Names are the names that parts of a VNF instance have in version 2. Each function returns false for what the instance
// does not have.
type Names interface {
	// VNFC returns the id of the vnfcInfo that belongs to a vnfcResourceInfo.
	VNFC(resourceInfoID string) (string, bool)
	// CpConfig returns the key of the configuration of a VnfExtCpInfo.
	CpConfig(extCpInfoID string) (string, bool)
	// CpConfigOf returns the key of the configuration that the external connection points of a CPD have.
	CpConfigOf(cpdID string) (string, bool)
}

// Translation is a request in the form of version 2.
type Translation struct {
	Body json.RawMessage
	// pointers of version 1 by those of version 2, for what has another place.
	pointers map[string]string
	helm     bool // the VNF is made from Helm charts
}

// NamesParts says whether a request can name parts of an instance, so that Request needs its names.
func NamesParts(raw json.RawMessage) bool {
	return bytes.Contains(raw, []byte(`"vnfcInstanceId"`)) || bytes.Contains(raw, []byte(`"cpConfig"`))
}

// Request returns the body of a task in the form of version 2. The body matches the schema of version 1; names are
// those of the instance. The error is an *Error.
//
//   - vimConnectionInfo becomes an object with the ids as keys; the types "openstack" and "kubernetes" get the names that
//     they have in version 2. "kubernetes" is Helm's if additionalParams.use_helm is true.
//   - cpConfig becomes an object. Its keys are the cpInstanceIds, or the keys that VnfExtCpInfos with these ids have. A
//     configuration without cpInstanceId has the key that the CPD has in the VNF, or else the cpdId.
//   - A linkPortId that is the id of its own virtual link, which has no extLinkPorts, is removed: guides of Tacker for
//     clusters by Kubespray have it, and it names no port. If nothing else is in the configuration, it gets a
//     cpProtocolData without addresses.
//   - numberOfSteps becomes a number.
//   - vnfcInstanceId becomes a list of ids of vnfcInfo; null is removed.
func Request(raw json.RawMessage, names Names) (*Translation, error) {
	t := &Translation{Body: raw, pointers: map[string]string{}}
	var body object
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, &Error{"", "the body is not a JSON object"}
	}
	t.helm = usesHelm(body)
	changed := false
	for name, translate := range map[string]func(json.RawMessage) (any, error){
		"vimConnectionInfo": t.connections,
		"extVirtualLinks":   func(raw json.RawMessage) (any, error) { return t.links(raw, names) },
		"numberOfSteps":     number,
		"vnfcInstanceId":    func(raw json.RawMessage) (any, error) { return t.vnfcs(raw, names) },
	} {
		given, ok := body[name]
		if !ok {
			continue
		}
		changed = true
		if delete(body, name); string(given) == "null" {
			continue
		}
		translated, err := translate(given)
		if err != nil {
			return nil, err
		}
		if body[name], err = json.Marshal(translated); err != nil {
			return nil, err
		}
	}
	if !changed {
		return t, nil
	}
	var err error
	t.Body, err = json.Marshal(body)
	return t, err
}

// Pointer returns the place in the request of version 1 of a JSON pointer into the body of version 2.
func (t *Translation) Pointer(pointer string) string {
	for end := len(pointer); end > 0; end = strings.LastIndexByte(pointer[:end], '/') {
		if place, ok := t.pointers[pointer[:end]]; ok {
			return place + pointer[end:]
		}
	}
	return pointer
}

// object is a JSON object whose members are decoded when they are needed.
type object map[string]json.RawMessage

// moveEndpoint makes interfaceInfo.endpoint of accessInfo.authUrl, where requests for OpenStack Tacker have the URL of
// Keystone. An endpoint that is given stays.
func (t *Translation) moveEndpoint(c object, at string, n int, id string) error {
	access, reach := c.object("accessInfo"), c.object("interfaceInfo")
	if access.text(authURL) == "" || reach == nil || reach[endpoint] != nil {
		return nil
	}
	reach[endpoint] = access[authURL]
	delete(access, authURL)
	moved := at + "/" + escape.Replace(id) + "/interfaceInfo/" + endpoint
	t.pointers[moved] = fmt.Sprintf("%s/%d/accessInfo/%s", at, n, authURL)
	var err error
	if c["interfaceInfo"], err = json.Marshal(reach); err != nil {
		return err
	}
	c["accessInfo"], err = json.Marshal(access)
	return err
}

// usesHelm says that a request is about Helm charts. Clients write the value as a boolean or as a text.
func usesHelm(body object) bool {
	given := body.object("additionalParams")["use_helm"]
	return strings.EqualFold(strings.Trim(string(given), `"`), "true")
}

// The members with the URL of Keystone in version 1 and 2.
const (
	authURL  = "authUrl"
	endpoint = "endpoint"
)

// object returns a member that is an object, or an empty one if it is absent; nil for any other, which is rejected
// later.
func (o object) object(name string) object {
	out := object{}
	if raw, ok := o[name]; ok && json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// text returns a member that is a text; "" for any other.
func (o object) text(name string) (text string) {
	_ = json.Unmarshal(o[name], &text) // see above
	return text
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// moved notes that the element of a list has become the member of an object at the same place.
func (t *Translation) moved(at string, element int, key string) {
	t.pointers[at+"/"+escape.Replace(key)] = at + "/" + strconv.Itoa(element)
}

func objects(raw json.RawMessage, at string) ([]object, error) {
	var list []object
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, &Error{at, "is not a list of objects"}
	}
	return list, nil
}

// connections makes an object of a list of VIM connections.
func (t *Translation) connections(raw json.RawMessage) (any, error) {
	const at = "/vimConnectionInfo"
	list, err := objects(raw, at)
	if err != nil {
		return nil, err
	}
	out := map[string]object{}
	for n, c := range list {
		id := c.text("id")
		if id == "" {
			return nil, &Error{fmt.Sprintf("%s/%d/id", at, n), "is missing"}
		}
		if _, taken := out[id]; taken {
			return nil, &Error{fmt.Sprintf("%s/%d/id", at, n), fmt.Sprintf("%q is the id of two connections", id)}
		}
		if name, ok := vimTypes[c.text("vimType")]; ok {
			if t.helm && c.text("vimType") == kubernetes {
				name = helm
			}
			c["vimType"] = json.RawMessage(strconv.Quote(name))
		}
		delete(c, "id")
		out[id] = c
		t.moved(at, n, id)
		if err := t.moveEndpoint(c, at, n, id); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// links translates the configurations of connection points of external virtual links.
func (t *Translation) links(raw json.RawMessage, names Names) (any, error) {
	const at = "/extVirtualLinks"
	list, err := objects(raw, at)
	if err != nil {
		return nil, err
	}
	for n, link := range list {
		here := fmt.Sprintf("%s/%d/extCps", at, n)
		if link["extCps"] == nil {
			continue
		}
		cps, err := objects(link["extCps"], here)
		if err != nil {
			return nil, err
		}
		unused := "" // a linkPortId without meaning
		if link["extLinkPorts"] == nil {
			unused = link.text("id")
		}
		for m, cp := range cps {
			if err := t.configs(cp, fmt.Sprintf("%s/%d/cpConfig", here, m), unused, names); err != nil {
				return nil, err
			}
		}
		if link["extCps"], err = json.Marshal(cps); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// configs makes an object of the list of configurations of a VnfExtCpData, and removes an unused linkPortId.
func (t *Translation) configs(cp object, at, unused string, names Names) error {
	if cp["cpConfig"] == nil {
		return nil
	}
	list, err := objects(cp["cpConfig"], at)
	if err != nil {
		return err
	}
	out := map[string]object{}
	for n, config := range list {
		key := configKey(config.text("cpInstanceId"), cp.text("cpdId"), names)
		if _, taken := out[key]; taken || key == "" {
			return &Error{
				fmt.Sprintf("%s/%d/cpInstanceId", at, n),
				fmt.Sprintf("two configurations of the CPD have the name %q; give each its own cpInstanceId", key),
			}
		}
		delete(config, "cpInstanceId")
		if unused != "" && config.text("linkPortId") == unused {
			delete(config, "linkPortId")
			if len(config) == 0 {
				// A configuration without members means, in a request to change, that the connection point is
				// removed, and must not be shown (SOL003 4.4.1.10a).
				config["cpProtocolData"] = json.RawMessage(`[{"layerProtocol":"IP_OVER_ETHERNET"}]`)
			}
		}
		out[key] = config
		t.moved(at, n, key)
	}
	cp["cpConfig"], err = json.Marshal(out)
	return err
}

// configKey is the key that a configuration has in version 2.
func configKey(cpInstanceID, cpdID string, names Names) string {
	if cpInstanceID == "" {
		if key, ok := names.CpConfigOf(cpdID); ok {
			return key
		}
		return cpdID
	}
	if key, ok := names.CpConfig(cpInstanceID); ok {
		return key
	}
	return cpInstanceID
}

// number makes a number of one that may be a text.
func number(raw json.RawMessage) (any, error) {
	n, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 32)
	if err != nil {
		return nil, &Error{"/numberOfSteps", "is not a number that is possible"}
	}
	return n, nil
}

// vnfcs makes ids of vnfcInfo of one id or a list of ids. Those that are not of a vnfcResourceInfo stay.
func (t *Translation) vnfcs(raw json.RawMessage, names Names) (any, error) {
	const at = "/vnfcInstanceId"
	var ids []string
	var one string
	if json.Unmarshal(raw, &one) == nil {
		ids = []string{one}
		t.pointers[at+"/0"] = at
	} else if err := json.Unmarshal(raw, &ids); err != nil {
		return nil, &Error{at, "is neither an id nor a list of ids"}
	}
	for n, id := range ids {
		if name, ok := names.VNFC(id); ok {
			ids[n] = name
		}
	}
	return ids, nil
}

// HealRequest is Request for a heal. One that names no VNFC deletes everything and makes it again, as in OpenStack
// Tacker: in version 2, additionalParams.all asks for that. A request that has this parameter keeps it.
func HealRequest(raw json.RawMessage, names Names) (*Translation, error) {
	t, err := Request(raw, names)
	if err != nil {
		return nil, err
	}
	var body, params object
	if err := json.Unmarshal(t.Body, &body); err != nil {
		return nil, err
	}
	if ids := body["vnfcInstanceId"]; ids != nil && string(ids) != "[]" {
		return t, nil
	}
	if given, ok := body["additionalParams"]; ok {
		if err := json.Unmarshal(given, &params); err != nil {
			return nil, &Error{"/additionalParams", "is not an object"}
		}
	}
	if _, given := params["all"]; given {
		return t, nil
	}
	if params == nil {
		params = object{}
	}
	params["all"] = json.RawMessage("true")
	if body["additionalParams"], err = json.Marshal(params); err != nil {
		return nil, err
	}
	t.Body, err = json.Marshal(body)
	return t, err
}
