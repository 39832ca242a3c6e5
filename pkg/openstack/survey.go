package openstack

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Kinds of objects that Heat does not name, or that are no part of a stack.
const (
	typeStack    = "OS::Heat::Stack"
	typeImage    = "OS::Glance::Image"
	typeSnapshot = "OS::Cinder::Snapshot"
)

// kind is one kind of object that a VNF can leave behind.
type kind struct {
	typ     string
	service service
	// path lists the objects, and with an id leads to one; query narrows the list where the service can.
	path, list string
	query      url.Values
	member     string // of the answer
	paged      bool
}

// kinds are in the order in which they are removed: what uses something goes before it.
var kinds = []kind{
	{typ: typeStack, service: heat},
	{typ: typeServer, service: nova, path: "/servers", list: "/servers/detail", query: url.Values{"name": {"^vn"}}, member: "servers", paged: true},
	{typ: typeFloat, service: neutron, path: "/floatingips", member: "floatingips", paged: true},
	{typ: typePort, service: neutron, path: "/ports", member: "ports", paged: true},
	{typ: typeSnapshot, service: cinder, path: "/snapshots", list: "/snapshots/detail", member: "snapshots", paged: true},
	{typ: typeVolume, service: cinder, path: "/volumes", list: "/volumes/detail", member: "volumes", paged: true},
	{typ: "OS::Neutron::Router", service: neutron, path: "/routers", member: "routers", paged: true},
	{typ: "OS::Neutron::Subnet", service: neutron, path: "/subnets", member: "subnets", paged: true},
	{typ: typeNet, service: neutron, path: "/networks", member: "networks", paged: true},
	{typ: "OS::Neutron::SecurityGroup", service: neutron, path: "/security-groups", member: "security_groups", paged: true},
	{typ: "OS::Nova::ServerGroup", service: nova, path: "/os-server-groups", member: "server_groups"},
	{typ: "OS::Nova::KeyPair", service: nova, path: "/os-keypairs", member: "keypairs"},
	{typ: typeImage, service: glance, path: "/images", member: "images", paged: true},
}

func rankOf(typ string) int {
	return slices.IndexFunc(kinds, func(k kind) bool { return k.typ == typ })
}

func kindOf(typ string) (kind, bool) {
	if at := rankOf(typ); at >= 0 {
		return kinds[at], true
	}
	return kind{}, false
}

// surveyPages bounds the list of one kind.
const surveyPages = 100

// survey lists everything in the project that may be the instance's.
func (j *job) survey(ctx context.Context) (*audit, error) {
	a := &audit{instance: j.w.Instance, parts: map[string]bool{}, images: map[string]bool{}}
	for _, r := range a.instance.Inventory {
		a.parts[r.ID] = true
		a.images[r.Image] = true
	}
	lists := make([][]object, len(kinds))
	at := make([]int, len(kinds))
	for i := range at {
		at[i] = i
	}
	err := lcm.Each(ctx, 6, at, func(ctx context.Context, i int) (err error) {
		if j.services[kinds[i].service] == "" {
			return nil
		}
		lists[i], err = j.listKind(ctx, kinds[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	a.objects = slices.Concat(lists...)
	a.usedImages()
	return a, j.stackParts(ctx, a)
}

// usedImages notes the images that the stack's parameters name: they are needed for as long as the instance is.
func (a *audit) usedImages() {
	if a.instance.Instantiated == nil {
		return
	}
	nfv, _ := json.Marshal(a.instance.Instantiated.Metadata["nfv"])
	for _, o := range a.objects {
		if o.Type == typeImage && strings.Contains(string(nfv), `"`+o.ID+`"`) {
			a.images[o.ID] = true
		}
	}
}

// stackParts notes what the instance's stacks consist of: the one in its record, which is to be there, and others, with which their parts go.
func (j *job) stackParts(ctx context.Context, a *audit) error {
	recorded := j.recordedStack()
	a.parts[recorded] = recorded != ""
	var tops []stack
	for _, o := range a.objects {
		if o.Type == typeStack && o.owner == "" && a.recognise(o) != "" {
			tops = append(tops, o.stack)
		}
	}
	found := make([][]resource, len(tops))
	err := lcm.Each(ctx, 6, tops, func(ctx context.Context, s stack) (err error) {
		found[slices.IndexFunc(tops, func(o stack) bool { return o.ID == s.ID })], err = j.listResources(ctx, &s)
		if notFound(err) { // gone meanwhile
			err = nil
		}
		return err
	})
	for _, list := range found {
		for _, r := range list {
			if r.PhysicalID != "" {
				a.parts[r.PhysicalID] = true
			}
		}
	}
	return err
}

// listed is what the lists of all services have in common, and what one of them has alone.
type listed struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Status  string   `json:"status"`
	Tags    []string `json:"tags"`
	Address string   `json:"floating_ip_address"`
	Owner   string   `json:"device_owner"`
	KeyPair *listed  `json:"keypair"`

	StackName   string `json:"stack_name"`
	StackStatus string `json:"stack_status"`
	Reason      string `json:"stack_status_reason"`
	Parent      string `json:"parent"`
}

func (j *job) listKind(ctx context.Context, k kind) ([]object, error) {
	if k.typ == typeStack {
		return j.allStacks(ctx)
	}
	var out []object
	add := func(l listed) (string, bool) {
		if l.KeyPair != nil {
			l = *l.KeyPair
			l.ID = l.Name
		}
		if strings.HasPrefix(l.Owner, "network:") { // a service's own: it goes with what that has it for
			return l.ID, true
		}
		out = append(out, object{Leftover: lcm.Leftover{Type: k.typ, ID: l.ID, Name: l.Name + l.Address, Status: l.Status}, tags: l.Tags})
		return l.ID, true
	}
	q := url.Values{}
	maps.Copy(q, k.query)
	if k.service == neutron && j.projectID != "" { // an administrator sees everybody's
		q.Set("project_id", j.projectID)
	}
	if k.typ == typeImage {
		q.Set("tag", j.w.Instance.ID)
	}
	if k.typ == typeServer && !less(j.microversion(ctx, nova), microversion{2, 26}) {
		err := eachPage(ctx, j.session, k.service, k.member, k.list, url.Values{"tags": {j.w.Instance.ID}}, surveyPages, add)
		if err != nil {
			return nil, err
		}
	}
	if k.paged {
		err := eachPage(ctx, j.session, k.service, k.member, first(k.list, k.path), q, surveyPages, add)
		return unique(out), err
	}
	var page map[string]json.RawMessage
	err := j.do(ctx, call{what: "list " + k.member, service: k.service, method: http.MethodGet, path: k.path, out: &page})
	if err != nil {
		return nil, err
	}
	var list []listed
	if raw := page[k.member]; raw != nil {
		err = json.Unmarshal(raw, &list)
	}
	for _, l := range list {
		add(l)
	}
	return out, err
}

// unique leaves out objects that were listed twice.
func unique(all []object) []object {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(o object) bool {
		twice := seen[o.ID]
		seen[o.ID] = true
		return twice
	})
}

// allStacks lists stacks with the nested ones: their names tell whose things are, and one whose top stack is gone is a leftover itself.
func (j *job) allStacks(ctx context.Context) ([]object, error) {
	var out []object
	known := map[string]bool{}
	err := eachPage(ctx, j.session, heat, "stacks", "/stacks", url.Values{"show_nested": {"true"}}, surveyPages, func(l listed) (string, bool) {
		s := stack{ID: l.ID, Name: l.StackName, Status: l.StackStatus, Reason: l.Reason, Tags: l.Tags}
		out = append(out, object{Leftover: lcm.Leftover{Type: typeStack, ID: s.ID, Name: s.Name, Status: s.Status}, tags: s.Tags, stack: s, nested: l.Parent != "", owner: l.Parent})
		known[s.ID] = true
		return l.ID, true
	})
	for i := range out {
		if !known[out[i].owner] {
			out[i].owner = ""
		}
	}
	return out, err
}

// stackByID finds a stack; nil when it is gone.
func (j *job) stackByID(ctx context.Context, id string) (*stack, error) {
	found, err := j.listStacks(ctx, "look for stack "+id, url.Values{"id": {id}, "show_nested": {"true"}})
	for _, s := range found {
		if s.ID == id && s.Status != "DELETE_COMPLETE" {
			return &s, nil
		}
	}
	return nil, err //nolint:nilnil // no stack is a good answer
}

// exists asks for one object.
func (j *job) exists(ctx context.Context, typ, id string) (bool, error) {
	k, _ := kindOf(typ)
	err := j.do(ctx, call{what: "look for " + typ + " " + id, service: k.service, method: http.MethodGet, path: k.path + "/" + segment(id)})
	if notFound(err) {
		return false, nil
	}
	if e, ok := errors.AsType[*lcm.Error](err); ok && e.Class == lcm.Permanent {
		return true, nil // it may be somebody else's, and is not ours to see
	}
	return err == nil, err
}
