package leftovers

import (
	"context"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/images"
	"github.com/gybe-nfv/gybe/pkg/openstack/stack"
)

// Search finds what an instance has left in one of its VIMs, in one request.
type Search struct {
	Cloud    *cloud.Client
	Instance *lcm.Instance
	// Part is the instance with what it has in this VIM.
	Part *lcm.Instance
	// Stacks are the ids of all stacks that the instance has.
	Stacks []string
	Stack  *stack.Worker
	Images *images.Store
	// Snapshots are those of the instance: what they consist of is not left over.
	Snapshots []*lcm.Snapshot
}

// Compare lists what the project has, of every kind that a VNF can have, and compares it with the inventory.
func (f *Search) Compare(ctx context.Context) (*lcm.Leftovers, error) {
	a, err := f.survey(ctx)
	if err != nil {
		return nil, err
	}
	missing, err := f.missing(ctx, a)
	if err != nil {
		return nil, err
	}
	return &lcm.Leftovers{Extra: a.extra(), Missing: missing}, nil
}

// findings is what a survey of the VIM has found.
type findings struct {
	instance *lcm.Instance
	objects  []object
	parts    map[string]bool // physical ids of what the instance's stacks consist of, and of what its inventory has
	images   map[string]bool // that the instance is made from
}

// object is anything in the VIM, of whatever kind.
type object struct {
	lcm.Leftover
	tags  []string
	stack cloud.Stack // of a stack
	// nested says of a stack that another one was around it, owner is the id of that one as long as it is there.
	nested bool
	owner  string
}

// hasName says whether a name is the instance's: the name of its stack ("vnf-<instance id>" as a rule), alone or with
// something behind a dash.
func (a *findings) hasName(name string) bool {
	rest, ok := strings.CutPrefix(name, stack.NameOf(a.instance))
	return ok && (rest == "" || rest[0] == '-')
}

// recognise says how an object shows that it is the instance's; "" when it does not.
func (a *findings) recognise(o object) string {
	switch {
	case slices.Contains(o.tags, a.instance.ID):
		return "it has the tag " + a.instance.ID
	case o.Type == cloud.TypeStack && !o.nested: // every stack that was ever made for an instance has its tag
		return ""
	case a.hasName(o.Name):
		return "its name begins with " + stack.NameOf(a.instance)
	case o.Type == cloud.TypeServer:
		if of := a.shortened(o.Name); of != "" {
			return "its name is one that Heat has shortened, of a server in the stack of " + of
		}
	}
	return ""
}

// shortened finds the thing whose stack a server is of when Heat has cut the beginning off its name, which can be no
// longer than 53 characters: "vn-" and the end of "<stack>-<resource>-<random>". The stack's own random part, twelve
// characters, is then still there, and other things of the stack have it in their full names.
func (a *findings) shortened(name string) string {
	rest, ok := strings.CutPrefix(name, "vn-")
	if !ok {
		return ""
	}
	words := strings.Split(rest, "-")
	for _, w := range words[:len(words)-1] { // the last is the server's own
		if !isRandom(w) {
			continue
		}
		at := slices.IndexFunc(a.objects, func(o object) bool {
			return a.hasName(o.Name) && slices.Contains(strings.Split(o.Name, "-"), w)
		})
		if at >= 0 {
			return a.objects[at].Name
		}
	}
	return ""
}

// isRandom says whether a word may be one that Heat has made up to keep names apart.
func isRandom(w string) bool {
	return len(w) == 12 && strings.IndexFunc(w, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) < 0
}

// extra lists the objects that are the instance's and that it should not have. What a stack in the list consists of
// goes with it and is not named.
func (a *findings) extra() []lcm.Leftover {
	out := []lcm.Leftover{}
	for _, o := range a.objects {
		why := a.recognise(o)
		if why == "" || a.parts[o.ID] || o.Type == cloud.TypeImage && a.images[o.ID] || o.owner != "" {
			continue
		}
		o.Why = why
		out = append(out, o.Leftover)
	}
	slices.SortStableFunc(out, func(x, y lcm.Leftover) int { return rankOf(x.Type) - rankOf(y.Type) })
	return out
}

// missing lists what the inventory has and the VIM has not. A project does not see everything that it uses, so each is
// looked for by its id before that is said.
func (f *Search) missing(ctx context.Context, a *findings) ([]lcm.Leftover, error) {
	seen := make(map[string]bool, len(a.objects))
	for _, o := range a.objects {
		seen[o.ID] = true
	}
	var doubtful []lcm.Resource
	for _, r := range f.Part.Inventory {
		if k, ok := kindOf(r.Type); ok && k.path != "" && f.Cloud.Has(k.service) && !seen[r.ID] {
			doubtful = append(doubtful, r)
		}
	}
	absent := make([]bool, len(doubtful))
	at := make([]int, len(doubtful))
	for i := range at {
		at[i] = i
	}
	err := lcm.Each(ctx, 8, at, func(ctx context.Context, i int) error {
		there, err := f.exists(ctx, doubtful[i].Type, doubtful[i].ID)
		absent[i] = !there
		return err
	})
	out := []lcm.Leftover{}
	if id := stack.Recorded(f.Part); id != "" && !seen[id] {
		out = append(
			out, lcm.Leftover{Type: cloud.TypeStack, ID: id, Name: f.Stack.Name(), Why: "the stack is not in the VIM"},
		)
	}
	for i, r := range doubtful {
		if absent[i] {
			out = append(out, lcm.Leftover{Type: r.Type, ID: r.ID, Name: r.Name, Why: "it is in the inventory" +
				stack.Prefixed(" of VNFC ", r.VNFC) + " and not in the VIM"})
		}
	}
	return out, err
}
