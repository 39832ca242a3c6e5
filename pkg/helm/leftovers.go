package helm

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Leftovers implements lcm.Infra: objects with the label of the instance that its inventory does not have, and
// releases.
func (d *Driver) Leftovers(ctx context.Context, i *lcm.Instance, _ []*lcm.Snapshot) (*lcm.Leftovers, error) {
	s, err := d.opened(ctx, i)
	if err != nil {
		return nil, err
	}
	defer s.close()
	known := map[string]bool{}
	for _, r := range i.Inventory {
		known[r.ID] = true
	}
	out := &lcm.Leftovers{}
	present := map[string]bool{}
	all, err := s.extra(ctx, i.ID)
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		id := leftoverID(o)
		present[id] = true
		if known[id] {
			continue
		}
		phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		out.Extra = append(out.Extra, lcm.Leftover{
			Type: o.GetKind(), ID: id, Name: o.GetName(), Status: phase,
			Why: "it has the label " + labelInstance + "=" + i.ID,
		})
	}
	for _, r := range i.Inventory {
		if present[r.ID] {
			continue
		}
		there, err := s.there(ctx, r)
		if err != nil {
			return nil, err
		}
		if !there {
			out.Missing = append(out.Missing, lcm.Leftover{Type: r.Type, ID: r.ID, Name: r.Name})
		}
	}
	return out, nil
}

// opened is a session with the cluster of an instance, also of one that is terminated.
func (d *Driver) opened(ctx context.Context, i *lcm.Instance) (*session, error) {
	conns := i.VimConnections
	if len(conns) == 0 {
		conns = i.PreviousVims
	}
	_, vim, ok := lcm.PrimaryVim(conns)
	if !ok {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "the VNF instance %s has no VIM connection", i.ID)
	}
	params, err := i.Params.Decode()
	if err != nil {
		return nil, err
	}
	return d.open(ctx, vim, namespaceOf(params), nil)
}

func namespaceOf(params sol.KeyValuePairs) string {
	if ns, _ := params[paramNamespace].(string); validNamespace.MatchString(ns) {
		return ns
	}
	return defaultNamespace
}

// extra lists the objects with the label of an instance and the records of its releases.
func (s *session) extra(ctx context.Context, instance string) ([]*unstructured.Unstructured, error) {
	out, err := s.labelled(ctx, instance)
	if err != nil {
		return nil, err
	}
	list, err := s.core.Secrets(s.namespace).List(ctx, metav1.ListOptions{
		LabelSelector: "owner=helm," + labelInstance + "=" + instance,
	})
	if err != nil {
		return nil, s.failure("list the records of Helm releases", err)
	}
	seen := map[string]bool{}
	for n := range list.Items {
		name := list.Items[n].Labels["name"]
		if seen[name] {
			continue
		}
		seen[name] = true
		o := &unstructured.Unstructured{Object: map[string]any{"kind": typeRelease}}
		o.SetName(name)
		o.SetNamespace(s.namespace)
		out = append(out, o)
	}
	return out, nil
}

// leftoverID is the id of an object in the inventory.
func leftoverID(o *unstructured.Unstructured) string {
	if o.GetKind() == typeRelease {
		return o.GetNamespace() + "/" + o.GetName()
	}
	return string(o.GetUID())
}

// there says whether a resource of an inventory exists. Only pods and objects of the searched kinds can be asked for;
// others count as there.
func (s *session) there(ctx context.Context, r lcm.Resource) (bool, error) {
	for _, gvk := range ownedKinds {
		if gvk.Kind != r.Type {
			continue
		}
		c, err := s.client(gvk, "")
		if err != nil {
			return false, err
		}
		o, err := c.Get(ctx, r.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, s.failure(fmt.Sprintf("read %s %s", r.Type, r.Name), err)
		}
		return string(o.GetUID()) == r.ID, nil
	}
	return r.Type != typeRelease, nil
}

// RemoveLeftovers implements lcm.Infra.
func (d *Driver) RemoveLeftovers(
	ctx context.Context, i *lcm.Instance, _ []*lcm.Snapshot, extra []lcm.Leftover,
) ([]lcm.Leftover, error) {
	s, err := d.opened(ctx, i)
	if err != nil {
		return nil, err
	}
	defer s.close()
	all, err := s.extra(ctx, i.ID)
	if err != nil {
		return nil, err
	}
	wanted := map[string]lcm.Leftover{}
	for _, l := range extra {
		wanted[l.ID] = l
	}
	var left []lcm.Leftover
	for _, o := range all {
		l, ok := wanted[leftoverID(o)]
		if !ok {
			continue
		}
		if o.GetKind() == typeRelease {
			err = s.release(o.GetName(), i.ID, "").uninstall(ctx)
		} else {
			err = s.delete(ctx, o)
		}
		if err != nil {
			l.Why = lcm.AsError(err).Detail
			left = append(left, l)
		}
	}
	return left, nil
}
