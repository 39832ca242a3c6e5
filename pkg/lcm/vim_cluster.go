package lcm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// ExtraCluster is the key in VimConnectionInfo.extra that marks a connection to a cluster that another VNF instance has
// made; its value is the id of that instance. Such a connection has the credentials of the registered VIM.
const ExtraCluster = "gybe.clusterOf"

// Used is the connection that an instance has to the VIM. A cluster that another instance has made is a VIM for it, so
// the mark of the owner is replaced by ExtraCluster.
func (v Vim) Used(instance string) sol.VimConnectionInfo {
	c := v.Connection
	owner := c.Extra[ExtraOwner]
	if owner == nil || owner == instance {
		return c
	}
	c.Extra = maps.Clone(c.Extra)
	delete(c.Extra, ExtraOwner)
	c.Extra[ExtraCluster] = owner
	return c
}

// follows says that a connection always has the credentials of the VIM, which is a cluster that an instance has made.
func follows(c sol.VimConnectionInfo, v Vim) bool {
	return v.Owner != "" && c.VimID == v.ID && c.Extra[ExtraCluster] == v.Owner
}

// Clusters lists the ids of the VIMs that are clusters of other instances and that the instance has connections to, or
// had at its last instantiation. Sorted, each once.
func (i *Instance) Clusters() []string {
	var ids []string
	for _, conns := range []map[string]sol.VimConnectionInfo{i.VimConnections, i.PreviousVims} {
		for _, c := range conns {
			if c.VimID != "" && c.Extra[ExtraCluster] != nil {
				ids = append(ids, c.VimID)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// ClusterOwner is the id of the instance that has made the cluster in which the resources of i are; "" if they are in
// another VIM.
func (i *Instance) ClusterOwner() string {
	_, c, _ := PrimaryVim(i.VimConnections)
	owner, _ := c.Extra[ExtraCluster].(string)
	return owner
}

// MadeVims lists the ids of the VIMs that the instance itself has made. Sorted.
func (i *Instance) MadeVims() []string {
	var ids []string
	for _, c := range i.VimConnections {
		if c.VimID != "" && c.Extra[ExtraOwner] == i.ID {
			ids = append(ids, c.VimID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// maxUsersNamed is the number of instances that an error names.
const maxUsersNamed = 10

// NameUsers names instances in an error: the first ten, and how many more there are.
func NameUsers(ids []string) string {
	named := ids[:min(len(ids), maxUsersNamed)]
	text := strings.Join(named, ", ")
	if more := len(ids) - len(named); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// releasing calls do, which deletes the resources of an instance. They are gone with their cluster if the instance that
// made it was terminated.
func releasing(do func(context.Context, *Execution) error) func(context.Context, *Execution) error {
	return func(ctx context.Context, w *Execution) error {
		if w.clusterGone == "" {
			return do(ctx, w)
		}
		return w.Step(ctx, "skip the deletion", "VNF instance "+w.clusterGone, func(_ context.Context, s *Step) error {
			s.Detail("the instance that made the cluster was terminated: all resources are gone with the cluster")
			return nil
		})
	}
}
