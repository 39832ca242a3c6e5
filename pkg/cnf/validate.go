package cnf

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// refusals are operations that are not possible for a CNF, and why.
var refusals = map[sol.LcmOperationType]string{
	sol.LcmOperationChangeExtConn: "the connectivity of a CNF is in its manifests (Services, Ingresses); change the " +
		"package instead",
	sol.LcmOperationCreateSnapshot:   "a pod has no snapshot",
	sol.LcmOperationRevertToSnapshot: "a pod has no snapshot",
}

// Validate implements lcm.Infra.
func (d *Driver) Validate(_ context.Context, r lcm.Request) error {
	if why, ok := refusals[r.Type]; ok {
		e := lcm.Errorf(lcm.CodeUnprocessable, "%s is not possible for a CNF: %s", r.Type, why)
		e.Title = "Operation not supported"
		return e
	}
	bad := badConnections(r)
	if r.Type == sol.LcmOperationTerminate || r.Type == sol.LcmOperationModifyInfo || len(bad) > 0 {
		return lcm.Unprocessable(bad...)
	}
	want, more, err := planned(r)
	if err != nil {
		return err
	}
	bad = append(bad, more...)
	if want != nil && len(bad) == 0 {
		bad = append(bad, badNumbers(r, want)...)
	}
	return lcm.Unprocessable(bad...)
}

// badConnections rejects connections that cannot be used.
func badConnections(r lcm.Request) []lcm.InvalidParam {
	var bad []lcm.InvalidParam
	key, conn, ok := lcm.PrimaryVim(r.Instance.VimConnections)
	if !ok {
		return nil // the domain reports it
	}
	if _, err := kubernetes.FromVim(conn); err != nil {
		bad = append(bad, lcm.InvalidParam{Pointer: "/vimConnectionInfo/" + lcm.Escape(key), Detail: err.Error()})
	}
	for k, c := range r.Instance.VimConnections {
		if c.Extra[lcm.ExtraVDUs] != nil {
			bad = append(bad, lcm.InvalidParam{
				Pointer: "/vimConnectionInfo/" + lcm.Escape(k) + "/extra/" + lcm.ExtraVDUs,
				Detail:  "all objects of a CNF are in one cluster; remove the selection of VDUs",
			})
		}
	}
	return bad
}

// planned makes what a request leads to.
func planned(r lcm.Request) (*desired, []lcm.InvalidParam, error) {
	_, conn, _ := lcm.PrimaryVim(r.Instance.VimConnections)
	params, bad := readParameters(r.AdditionalParams, conn, r.Flavour)
	counts, err := plannedCounts(r)
	if err != nil {
		return nil, nil, err
	}
	want, more, err := source{
		pkg: r.Package, flavour: r.Flavour, params: params, instance: r.Instance.ID, counts: counts,
	}.load()
	return want, append(bad, more...), err
}

// plannedCounts is the number of pods of every VDU after a request.
func plannedCounts(r lcm.Request) (map[string]int, error) {
	switch {
	case r.Type == sol.LcmOperationInstantiate:
		var req sol.InstantiateVnfRequest
		if err := json.Unmarshal(r.Params, &req); err != nil {
			return nil, err
		}
		counts, _ := r.Flavour.Counts(req.InstantiationLevelID) // the domain reports a level that there is not
		return counts, nil
	case r.Type == sol.LcmOperationOperate:
		to, err := operateTo(r.Params)
		if err != nil || to == sol.VnfOperationalStateStopped {
			return map[string]int{}, err
		}
		return countsOf(r.Instance), nil
	case r.Scope != nil && !stopped(r.Instance):
		return r.Scope.Counts, nil
	}
	return runningCounts(r.Instance), nil
}

// pointers to the member of a request that decides on numbers.
var numberMember = map[sol.LcmOperationType]string{
	sol.LcmOperationInstantiate: "/instantiationLevelId", sol.LcmOperationScale: "/aspectId",
	sol.LcmOperationScaleToLevel: "", sol.LcmOperationOperate: "/changeStateTo",
}

// badNumbers rejects numbers of pods that a workload cannot have.
func badNumbers(r lcm.Request, want *desired) []lcm.InvalidParam {
	var bad []lcm.InvalidParam
	reject := func(format string, args ...any) {
		bad = append(bad, lcm.InvalidParam{Pointer: numberMember[r.Type], Detail: fmt.Sprintf(format, args...)})
	}
	now := countsOf(r.Instance)
	scales := r.Type == sol.LcmOperationScale || r.Type == sol.LcmOperationScaleToLevel
	for _, w := range want.workloads {
		kind := w.obj.GetKind()
		changes := scales && r.Scope != nil && r.Scope.Counts[w.vdu] != now[w.vdu]
		switch {
		case scales && stopped(r.Instance):
			if changes {
				reject("the CNF is stopped; start it before it is scaled")
			}
		case changes && w.autoscaler != "":
			reject("the HorizontalPodAutoscaler %s decides on the number of pods of %s, the VDU %s", w.autoscaler,
				w.ref(), w.vdu)
		case kind == "Pod" && r.Type != sol.LcmOperationOperate && w.want != 1:
			reject("the VDU %s is one Pod and cannot have %d VNFCs", w.vdu, w.want)
		case changes && !scalable(kind):
			reject("the nodes of the cluster decide on the number of pods of %s, the VDU %s", w.ref(), w.vdu)
		case r.Type == sol.LcmOperationOperate && !scalable(kind):
			reject("%s, the VDU %s, has no number of pods and cannot be stopped", w.ref(), w.vdu)
		}
	}
	return bad
}

// Replaces implements lcm.Infra: the pods of a workload are replaced when its template of pods changes.
func (d *Driver) Replaces(r lcm.Request) ([]string, error) {
	if r.Type != sol.LcmOperationChangeVnfpkg && r.Type != sol.LcmOperationChangeFlavour {
		return nil, nil
	}
	want, _, err := planned(r)
	if err != nil || want == nil {
		return nil, err
	}
	had, err := present(r)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, c := range vnfcs(r.Instance) {
		w := want.workload(c.VduID)
		removed := r.Scope != nil && slices.Contains(r.Scope.Remove, c.ID)
		if w != nil && !removed && (had == nil || !sameTemplate(had.workload(c.VduID), w)) {
			out = append(out, c.ID)
		}
	}
	return out, nil
}

// vnfcs are the VNFCs of an instance.
func vnfcs(i *lcm.Instance) []sol.VnfcInfo {
	if i.Instantiated == nil {
		return nil
	}
	return i.Instantiated.VnfcInfo
}

// present makes what the instance of a request has; nil when its manifests cannot be read.
func present(r lcm.Request) (*desired, error) {
	params, err := r.Instance.Params.Decode()
	if err != nil {
		return nil, err
	}
	_, conn, _ := lcm.PrimaryVim(r.Instance.VimConnections)
	s := source{pkg: r.Package, flavour: r.Flavour, instance: r.Instance.ID, counts: runningCounts(r.Instance)}
	if r.Previous != nil {
		s.pkg, s.flavour = r.Previous.Package, r.Previous.Flavour
	}
	if s.pkg == nil || s.flavour == nil {
		return nil, nil
	}
	var bad []lcm.InvalidParam
	if s.params, bad = readParameters(params, conn, s.flavour); len(bad) > 0 {
		return nil, nil
	}
	d, bad, err := s.load()
	if len(bad) > 0 {
		return nil, err
	}
	return d, err
}

// sameTemplate says that the pods of two workloads have the same template.
func sameTemplate(a, b *workload) bool {
	if a == nil || a.ref() != b.ref() {
		return false
	}
	one, _, _ := unstructured.NestedFieldNoCopy(a.obj.Object, "spec", "template")
	two, _, _ := unstructured.NestedFieldNoCopy(b.obj.Object, "spec", "template")
	if a.obj.GetKind() == "Pod" {
		one, two = a.obj.Object["spec"], b.obj.Object["spec"]
	}
	return reflect.DeepEqual(one, two)
}
