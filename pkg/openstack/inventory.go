package openstack

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Inventory implements lcm.Infra. It changes nothing in the VIM.
func (d *Driver) Inventory(ctx context.Context, w *lcm.Work) error {
	j, err := d.begin(ctx, w)
	if err != nil {
		return err
	}
	g, err := d.goalOf(w)
	if err != nil {
		return err
	}
	var former *goal
	if w.Op.Type != sol.LcmOperationInstantiate {
		f, err := d.formerGoal(w)
		if err != nil {
			return err
		}
		former = &f
	}
	if former != nil && w.Op.State == sol.LcmOperationStateRollingBack {
		g, *former = *former, g
	}
	seen, err := j.look(ctx, g)
	if err != nil {
		return j.settle(err)
	}
	b := newBuilder(w, j.vim, seen, g, former)
	was := recordOf(w.Op.Before)
	is := record{info: b.info(), resources: b.resources()}
	w.Instance.Instantiated, w.Instance.Inventory = is.info, is.resources
	w.Op.ResourceChanges = differences(was, is)
	w.Op.ChangedExtConnectivity = changedLinks(was.info, is.info)
	return nil
}

// expected says whether the phase under way begins where the resources are as they should be: then a stack that is not there is an error,
// and not what a failure has left.
func expected(w *lcm.Work) bool {
	return strings.HasSuffix(w.Op.Phase, "inventory") || w.Op.Phase == ""
}

// sight is all that was read from the VIM for one inventory.
type sight struct {
	stack   *stack // nil when there is none
	project string
	nfv     map[string]any
	tree    tree
	servers map[string]server
	ports   map[string]port
	floats  map[string]floatingIP
	volumes map[string]volume
}

// look reads the stack and everything in it: a handful of calls, however many VNFCs there are.
func (j *job) look(ctx context.Context, g goal) (*sight, error) {
	name := j.stackName()
	st, err := j.findStack(ctx, name)
	if err != nil {
		return nil, err
	}
	out := &sight{stack: st, project: first(j.conn.project, j.project)}
	if st == nil {
		if !expected(j.w) {
			return out, nil
		}
		hint := lostHint
		if j.w.Op.Type == sol.LcmOperationInstantiate {
			hint = "roll the operation back and send it again"
		}
		return nil, lcm.Errorf(lcm.CodeUpstream, "the stack %s is not in the VIM %s any more", name, j.conn.base).WithHint(hint)
	}
	var created time.Time
	err = parallel(ctx,
		func(ctx context.Context) error {
			all, err := j.listResources(ctx, st)
			out.tree = newTree(st, all)
			out.tree.oldestFirst = j.signalledVDUs(g)
			return early(err)
		},
		func(ctx context.Context) (err error) {
			out.nfv, created, err = j.stackParameters(ctx, st, g)
			return early(err)
		})
	if err != nil {
		return nil, err
	}
	err = parallel(ctx,
		func(ctx context.Context) (err error) {
			out.servers, err = j.readServers(ctx, out.tree.ids(typeServer), created)
			return err
		},
		func(ctx context.Context) (err error) {
			ids := slices.Compact(slices.Sorted(slices.Values(append(out.tree.ids(typePort), givenPorts(g.ext)...))))
			out.ports, err = list(ctx, j, "ports", ids, portFields, func(p port) string { return p.ID })
			return err
		},
		func(ctx context.Context) (err error) {
			out.floats, err = list(ctx, j, "floatingips", out.tree.ids(typeFloat), nil, func(f floatingIP) string { return f.ID })
			return err
		})
	if err != nil {
		return nil, err
	}
	out.volumes, err = j.readVolumes(ctx, out.volumeIDs(), created)
	return out, err
}

// early makes a transient failure of a 404 for something that a list has just shown: the services of a VIM learn of new things one after
// another.
func early(err error) error {
	if !notFound(err) {
		return err
	}
	return lcm.AsError(err).AsTransient()
}

// volumeIDs lists the volumes of the stack, and those that Nova has attached or made on its own.
func (s *sight) volumeIDs() []string {
	ids := s.tree.ids(typeVolume)
	for _, srv := range s.servers {
		for _, v := range srv.Volumes {
			ids = append(ids, v.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// parallel runs calls at the same time and returns the first failure.
func parallel(ctx context.Context, calls ...func(context.Context) error) error {
	return lcm.Each(ctx, 0, calls, func(ctx context.Context, call func(context.Context) error) error { return call(ctx) })
}

// stackParameters reads nfv as Heat has it. Where Heat hides it, what was sent is taken.
func (j *job) stackParameters(ctx context.Context, st *stack, g goal) (map[string]any, time.Time, error) {
	var out struct {
		Stack struct {
			Created    string         `json:"creation_time"`
			Parameters map[string]any `json:"parameters"`
		} `json:"stack"`
	}
	err := j.do(ctx, call{
		what: "read stack " + st.Name, service: heat, method: http.MethodGet,
		path: "/stacks/" + segment(st.Name) + "/" + segment(st.ID) + "?resolve_outputs=False", out: &out,
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	created, _ := time.Parse(time.RFC3339, out.Stack.Created)
	nfv := decodeNFV(out.Stack.Parameters["nfv"])
	if nfv == nil {
		nfv = g.nfv
		if sent, err := j.build(g); err == nil {
			nfv = plain(sent.NFV)
		}
	}
	return userdata.Compact(nfv), created, nil
}
