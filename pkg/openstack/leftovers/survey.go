package leftovers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// kind is one kind of object that a VNF can leave behind.
type kind struct {
	typ     string
	service cloud.Service
	// path lists the objects, and with an id leads to one; query narrows the list where the service can.
	path, list string
	query      url.Values
	member     string // of the answer
	paged      bool
}

// kinds are in the order in which they are removed: what uses something goes before it.
var kinds = []kind{
	{typ: cloud.TypeStack, service: cloud.Heat},
	{
		typ: cloud.TypeServer, service: cloud.Nova, path: "/servers", list: "/servers/detail",
		query: url.Values{"name": {"^vn"}}, member: "servers", paged: true,
	},
	{typ: cloud.TypeFloatingIP, service: cloud.Neutron, path: "/floatingips", member: "floatingips", paged: true},
	{typ: cloud.TypePort, service: cloud.Neutron, path: "/ports", member: "ports", paged: true},
	{
		typ: cloud.TypeSnapshot, service: cloud.Cinder, path: "/snapshots", list: "/snapshots/detail",
		member: "snapshots",
		paged:  true,
	},
	{
		typ: cloud.TypeVolume, service: cloud.Cinder, path: "/volumes", list: "/volumes/detail", member: "volumes",
		paged: true,
	},
	{typ: cloud.TypeRouter, service: cloud.Neutron, path: "/routers", member: "routers", paged: true},
	{typ: cloud.TypeSubnet, service: cloud.Neutron, path: "/subnets", member: "subnets", paged: true},
	{typ: cloud.TypeNetwork, service: cloud.Neutron, path: "/networks", member: "networks", paged: true},
	{
		typ: cloud.TypeSecurityGroup, service: cloud.Neutron, path: "/security-groups", member: "security_groups",
		paged: true,
	},
	{typ: cloud.TypeServerGroup, service: cloud.Nova, path: "/os-server-groups", member: "server_groups"},
	{typ: cloud.TypeKeyPair, service: cloud.Nova, path: "/os-keypairs", member: "keypairs"},
	{typ: cloud.TypeImage, service: cloud.Glance, path: "/images", member: "images", paged: true},
}

// pages is the list of the objects that a query selects.
func (k kind) pages(q url.Values) cloud.List {
	return cloud.List{
		Service: k.service, Path: cmp.Or(k.list, k.path), Member: k.member, Query: q, Pages: cloud.SurveyPages,
	}
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

// survey lists everything in the project that may be the instance's.
func (f *Search) survey(ctx context.Context) (*findings, error) {
	a := &findings{instance: f.Instance, parts: map[string]bool{}, images: map[string]bool{}}
	for _, r := range a.instance.Inventory {
		a.parts[r.ID] = true
		a.images[r.Image] = true
	}
	for _, s := range f.Snapshots {
		for _, c := range s.VNFCs {
			if c.Compute != nil {
				a.parts[c.Compute.ID] = true
			}
			for _, r := range c.Storages {
				a.parts[r.Resource.ID] = true
			}
		}
	}
	lists := make([][]object, len(kinds))
	at := make([]int, len(kinds))
	for i := range at {
		at[i] = i
	}
	err := lcm.Each(ctx, 6, at, func(ctx context.Context, i int) (err error) {
		if !f.Cloud.Has(kinds[i].service) {
			return nil
		}
		lists[i], err = f.listKind(ctx, kinds[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	a.objects = slices.Concat(lists...)
	a.usedImages()
	return a, f.stackParts(ctx, a)
}

// usedImages notes the images that the parameters of stacks name: they are needed for as long as the instance is.
func (a *findings) usedImages() {
	if a.instance.Instantiated == nil {
		return
	}
	nfv, _ := json.Marshal(a.instance.Instantiated.Metadata)
	for _, o := range a.objects {
		if o.Type == cloud.TypeImage && strings.Contains(string(nfv), `"`+o.ID+`"`) {
			a.images[o.ID] = true
		}
	}
}

// stackParts notes what the instance's stacks consist of: those in its record, which are to be there, and others, with
// which their parts go.
func (f *Search) stackParts(ctx context.Context, a *findings) error {
	for _, id := range f.Stacks {
		a.parts[id] = true
	}
	var tops []cloud.Stack
	for _, o := range a.objects {
		if o.Type == cloud.TypeStack && o.owner == "" && a.recognise(o) != "" {
			tops = append(tops, o.stack)
		}
	}
	found := make([][]cloud.Resource, len(tops))
	err := lcm.Each(ctx, 6, tops, func(ctx context.Context, s cloud.Stack) (err error) {
		found[slices.IndexFunc(tops, func(o cloud.Stack) bool {
			return o.ID == s.ID
		})], err = f.Cloud.ListResources(ctx, &s)
		if cloud.NotFound(err) { // deleted since
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

func (f *Search) listKind(ctx context.Context, k kind) ([]object, error) {
	if k.typ == cloud.TypeStack {
		return f.allStacks(ctx)
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
		out = append(out, object{
			Leftover: lcm.Leftover{Type: k.typ, ID: l.ID, Name: l.Name + l.Address, Status: l.Status}, tags: l.Tags,
		})
		return l.ID, true
	}
	q := url.Values{}
	maps.Copy(q, k.query)
	if k.service == cloud.Neutron && f.Cloud.ProjectID() != "" { // an administrator sees everybody's
		q.Set("project_id", f.Cloud.ProjectID())
	}
	if k.typ == cloud.TypeImage {
		q.Set("tag", f.Instance.ID)
		// Images of servers have no tags.
		all, err := f.Cloud.ListServerImages(ctx, cloud.MarkInstance, f.Instance.ID)
		if err != nil {
			return nil, err
		}
		for _, i := range all {
			add(listed{ID: i.ID, Name: i.Name, Status: i.Status})
		}
	}
	if k.typ == cloud.TypeServer && f.Cloud.ServersHaveTags(ctx) {
		err := cloud.EachPage(ctx, f.Cloud, k.pages(url.Values{"tags": {f.Instance.ID}}), add)
		if err != nil {
			return nil, err
		}
	}
	if k.paged {
		err := cloud.EachPage(ctx, f.Cloud, k.pages(q), add)
		return unique(out), err
	}
	var page map[string]json.RawMessage
	err := f.Cloud.Do(
		ctx, cloud.Call{What: "list " + k.member, Service: k.service, Method: http.MethodGet, Path: k.path, Out: &page},
	)
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

// allStacks lists stacks with the nested ones: their names tell whose things are, and one whose top stack is gone is a
// leftover itself.
func (f *Search) allStacks(ctx context.Context) ([]object, error) {
	var out []object
	known := map[string]bool{}
	err := cloud.EachPage(ctx, f.Cloud, cloud.List{
		Service: cloud.Heat, Path: "/stacks", Member: "stacks",
		Query: url.Values{"show_nested": {"true"}}, Pages: cloud.SurveyPages,
	}, func(l listed) (string, bool) {
		s := cloud.Stack{ID: l.ID, Name: l.StackName, Status: l.StackStatus, Reason: l.Reason, Tags: l.Tags}
		out = append(
			out, object{
				Leftover: lcm.Leftover{Type: cloud.TypeStack, ID: s.ID, Name: s.Name, Status: s.Status},
				tags:     s.Tags, stack: s, nested: l.Parent != "", owner: l.Parent,
			})
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

// exists asks for one object.
func (f *Search) exists(ctx context.Context, typ, id string) (bool, error) {
	k, _ := kindOf(typ)
	err := f.Cloud.Exists(ctx, typ+" "+id, k.service, k.path, id)
	if cloud.NotFound(err) {
		return false, nil
	}
	if e, ok := errors.AsType[*lcm.Error](err); ok && e.Class == lcm.Permanent {
		return true, nil // it may belong to another project, and is not ours to see
	}
	return err == nil, err
}
