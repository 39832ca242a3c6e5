package cnf

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gybe-nfv/gybe/pkg/cnf/podvnfc"
	"github.com/gybe-nfv/gybe/pkg/kubernetes/objects"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Preview implements lcm.Infra: the API server applies every object without storing it, and the result is compared with
// what it has.
func (d *Driver) Preview(ctx context.Context, r lcm.Request) (*lcm.Preview, error) {
	p := &lcm.Preview{Operation: r.Type, Possible: true, Checks: []lcm.Check{}}
	w := &lcm.Execution{
		Op: &lcm.Operation{
			Type: r.Type, State: sol.LcmOperationStateProcessing, InstanceID: r.Instance.ID, Params: r.Params,
			Scope: r.Scope, Before: r.Instance,
		},
		Instance: r.Instance, VNFD: r.VNFD, Flavour: r.Flavour, Package: r.Package, Previous: r.Previous, Log: d.log,
	}
	err := d.with(ctx, w, func(ctx context.Context, t *tick) error {
		if r.Type == sol.LcmOperationTerminate || r.Type == sol.LcmOperationModifyInfo {
			return t.preview(ctx, r, &desired{}, p)
		}
		want, bad, err := planned(r)
		if err != nil || len(bad) > 0 {
			return errors.Join(err, lcm.Unprocessable(bad...))
		}
		return t.preview(ctx, r, want, p)
	})
	if err != nil {
		return nil, err
	}
	p.Complete()
	return p, nil
}

func (t *tick) preview(ctx context.Context, r lcm.Request, want *desired, p *lcm.Preview) error {
	t.previewVNFCs(r, want, p)
	if r.Type == sol.LcmOperationModifyInfo {
		return nil
	}
	if r.Type != sol.LcmOperationTerminate && !t.wholeHeal(r) {
		absent := map[string]bool{} // names of objects that the operation creates
		for _, o := range want.objects {
			if err := t.previewObject(ctx, o, absent, p); err != nil {
				return err
			}
		}
	}
	had, err := present(r)
	if err != nil {
		return err
	}
	if r.Type == sol.LcmOperationInstantiate || r.Instance.Instantiated == nil {
		return nil
	}
	if want.namespace == "" {
		want.namespace = t.fallbackNamespace()
	}
	list, err := t.own(ctx, want, had)
	if err != nil {
		return err
	}
	for _, o := range list {
		entry := plannedObject(o)
		switch {
		case t.wholeHeal(r):
			p.Replace = append(p.Replace, entry)
		case r.Type == sol.LcmOperationTerminate, isChange(r.Type) && !want.has(refOf(o)) && !claimed(o, want):
			p.Remove = append(p.Remove, entry)
		}
	}
	return nil
}

func (t *tick) wholeHeal(r lcm.Request) bool {
	return r.Type == sol.LcmOperationHeal && r.Scope != nil && r.Scope.Whole
}

// isChange says that an operation brings other manifests.
func isChange(op sol.LcmOperationType) bool {
	return op == sol.LcmOperationChangeVnfpkg || op == sol.LcmOperationChangeFlavour
}

// previewVNFCs lists the VNFCs that come, go and get other pods.
func (t *tick) previewVNFCs(r lcm.Request, want *desired, p *lcm.Preview) {
	gone := func(id string) lcm.PlannedResource {
		c, res, _ := r.Instance.VNFC(id)
		return lcm.PlannedResource{
			Type: podvnfc.Type, Name: id, VDU: c.VduID, VNFC: id, ID: res.ComputeResource.ResourceID,
			Kind: lcm.KindContainer,
		}
	}
	for _, w := range want.workloads {
		add := w.want
		if r.Type != sol.LcmOperationInstantiate {
			add = 0
			if r.Scope != nil {
				add = r.Scope.Add[w.vdu]
			}
		}
		for n := range add {
			p.Add = append(p.Add, podvnfc.Planned(w.vdu, w.want-add+n, w.ref().String()))
		}
	}
	if r.Scope != nil {
		for _, id := range r.Scope.Remove {
			p.Remove = append(p.Remove, gone(id))
		}
	}
	switch {
	case r.Type == sol.LcmOperationTerminate:
		for _, c := range vnfcs(r.Instance) {
			p.Remove = append(p.Remove, gone(c.ID))
		}
	case t.wholeHeal(r):
		for _, c := range vnfcs(r.Instance) {
			p.Replace = append(p.Replace, gone(c.ID))
		}
	case r.Scope == nil:
	case r.Type == sol.LcmOperationHeal:
		for _, id := range r.Scope.VNFCs {
			p.Replace = append(p.Replace, gone(id))
		}
	case isChange(r.Type):
		for _, id := range r.Scope.Replace {
			p.Replace = append(p.Replace, gone(id))
		}
	}
}

// previewObject applies one object without storing it. absent gets the name of an object that is not there yet.
func (t *tick) previewObject(
	ctx context.Context, o *unstructured.Unstructured, absent map[string]bool, p *lcm.Preview,
) error {
	ref := refOf(o)
	check := func(state lcm.CheckState, detail, hint string) {
		c := lcm.Check{State: state, Subject: ref.String(), Detail: detail, Hint: hint}
		if state == lcm.CheckFailed {
			p.Possible = false
			p.Checks = slices.Insert(p.Checks, 0, c)
			return
		}
		p.Checks = append(p.Checks, c)
	}
	live, err := t.find(ctx, ref)
	if err != nil {
		return err
	}
	if live != nil && !t.owns(live) {
		if ref.Kind == "Namespace" {
			check(lcm.CheckOK, "exists, and stays as it is", "")
			return nil
		}
		check(lcm.CheckFailed, "exists and does not belong to the VNF instance", "give another namespace, or delete it")
		return nil
	}
	after, err := t.Apply(ctx, o, objects.Options{DryRun: true, Force: true})
	switch e := lcm.AsError(err); {
	case err == nil:
	case e.Class == lcm.Transient || e.Class == lcm.Auth && e.Code == lcm.CodeUnauthorized:
		return err
	case errors.Is(err, objects.ErrUnknownKind) || e.Code == lcm.CodeNotFound || names(e.Detail, absent):
		check(lcm.CheckWarning, e.Detail, "it is applied after what it needs; this is seen only then")
	default:
		check(lcm.CheckFailed, e.Detail, e.Hint)
	}
	entry := plannedObject(o)
	if live == nil {
		absent[o.GetName()] = true
		p.Add = append(p.Add, entry)
		return nil
	}
	if after == nil {
		return nil
	}
	if changes := objects.Diff(live, after); len(changes) > 0 {
		entry.Detail = objects.Summarize(changes)
		p.Change = append(p.Change, entry)
	}
	return nil
}

// names says that a refusal of the API names one of the objects, such as the PriorityClass or the ServiceAccount of a
// Pod.
func names(detail string, objects map[string]bool) bool {
	words := strings.FieldsFunc(detail, func(r rune) bool {
		return r != '-' && r != '.' && !unicode.IsLower(r) && !unicode.IsDigit(r)
	})
	return slices.ContainsFunc(words, func(word string) bool { return objects[strings.Trim(word, ".")] })
}

// plannedObject is the entry of an object in a plan.
func plannedObject(o *unstructured.Unstructured) lcm.PlannedResource {
	r := resource(o)
	return lcm.PlannedResource{
		Type: r.Type, Name: r.Name, ID: r.ID, Kind: r.Kind, VDU: o.GetAnnotations()[objects.AnnotationVDU],
	}
}
