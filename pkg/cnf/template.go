package cnf

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gybe-nfv/gybe/pkg/cnf/podvnfc"
	"github.com/gybe-nfv/gybe/pkg/kubernetes/objects"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// annotationTemplate is on the pods of a ReplicaSet: which version of its template they were made from.
const annotationTemplate = "gybe.io/template"

// markTemplate gives the template of a ReplicaSet its version. A ReplicaSet keeps its pods when its template changes,
// and does not tell which template they are from.
func markTemplate(o *unstructured.Unstructured) {
	template, ok, _ := unstructured.NestedMap(o.Object, "spec", "template")
	if o.GetKind() != "ReplicaSet" || !ok {
		return
	}
	raw, err := json.Marshal(template)
	if err != nil {
		return // it was parsed from YAML, so this does not happen
	}
	sum := sha256.Sum256(raw)
	t := &unstructured.Unstructured{Object: template}
	all := t.GetAnnotations()
	if all == nil {
		all = map[string]string{}
	}
	all[annotationTemplate] = hex.EncodeToString(sum[:8])
	t.SetAnnotations(all)
	// spec is an object, because it has a template, so this does not fail.
	_ = unstructured.SetNestedMap(o.Object, template, "spec", "template")
}

// replaceOutdated deletes the pods of ReplicaSets that were made from another template, one after the other: the next
// one goes when the others are ready.
func (t *tick) replaceOutdated(ctx context.Context, want *desired) error {
	for _, o := range want.objects {
		if o.GetKind() != "ReplicaSet" {
			continue
		}
		version, _, _ := unstructured.NestedString(
			o.Object, "spec", "template", "metadata", "annotations", annotationTemplate,
		)
		ref := refOf(o)
		err := t.w.Step(ctx, "replace pods", t.target(ref), func(ctx context.Context, _ *lcm.Step) error {
			return t.replaceOldest(ctx, ref, version)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// replaceOldest deletes one pod of a ReplicaSet that was not made from this version of its template, and waits. It
// returns nil when there is none.
func (t *tick) replaceOldest(ctx context.Context, ref objects.Ref, version string) error {
	pods, err := t.pods(ctx, ref)
	if err != nil {
		return failed("list the pods of", ref, err)
	}
	old := slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool {
		return p.Annotations[annotationTemplate] == version
	})
	if len(old) == 0 {
		return nil
	}
	n := max(0, slices.IndexFunc(old, func(p corev1.Pod) bool { return !ready(p) }))
	if ready(old[n]) {
		if err := t.requireReady(ctx, ref); err != nil {
			return err
		}
	}
	pod := objects.Ref{
		APIVersion: "v1", Kind: podvnfc.Type, Namespace: old[n].Namespace, Name: old[n].Name, UID: string(old[n].UID),
	}
	if err := t.Delete(ctx, pod, objects.DeleteOptions{UID: pod.UID}); err != nil {
		return failed("delete", pod, err)
	}
	return lcm.Wait(pollEvery, fmt.Sprintf("%s: %d pods are from an older template", ref.String(), len(old)))
}
