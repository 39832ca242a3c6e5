package kubeapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
)

// layout is how kubectl prints objects of a kind; columns with a + at the end only with -o wide.
type layout struct {
	columns string
	cells   func(o Object, age string) []any
}

var (
	layouts = map[string]layout{
		"Node": {"Name Status Roles Age Version Internal-IP+", func(o Object, age string) []any {
			version, address := String(o, "status", "nodeInfo", "kubeletVersion"), cmp.Or(nodeAddress(o), "<none>")
			return []any{Name(o), nodeStatus(o), nodeRoles(o), age, version, address}
		}},
		"Pod": {"Name Ready Status Restarts Age IP+ Node+", func(o Object, age string) []any {
			ready, ip, node := readyContainers(o), String(o, "status", "podIP"), String(o, "spec", "nodeName")
			return []any{Name(o), ready, podStatus(o), "0", age, ip, node}
		}},
		"Deployment": {"Name Ready Up-to-date Available Age", func(o Object, age string) []any {
			ready := fmt.Sprintf("%d/%d", Int(o, "status", "readyReplicas"), Int(o, "spec", "replicas"))
			return []any{
				Name(o), ready, Int(o, "status", "updatedReplicas"), Int(o, "status", "availableReplicas"), age,
			}
		}},
		"DaemonSet": {"Name Desired Current Ready Available Age", func(o Object, age string) []any {
			n := func(name string) int64 { return Int(o, "status", name) }
			return []any{
				Name(o), n("desiredNumberScheduled"), n("currentNumberScheduled"), n("numberReady"),
				n("numberAvailable"), age,
			}
		}},
	}
	defaultLayout = layout{"Name Age", func(o Object, age string) []any { return []any{Name(o), age} }}
)

// wantsTable reports whether the client prints what the server lays out, as kubectl get does.
func (c call) wantsTable() bool {
	first, _, _ := strings.Cut(c.req.Header.Get("Accept"), ",")
	return strings.Contains(first, "as=Table")
}

// table lays objects out in the usual columns of their kind.
func (c call) table(meta map[string]any, objects ...Object) metav1.Table {
	l, ok := layouts[c.res.Kind]
	if !ok {
		l = defaultLayout
	}
	t := metav1.Table{TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"}}
	t.ResourceVersion, _ = meta["resourceVersion"].(string)
	t.Continue, _ = meta["continue"].(string)
	for name := range strings.FieldsSeq(l.columns) {
		name, wide := strings.CutSuffix(name, "+")
		column := metav1.TableColumnDefinition{Name: name, Type: "string"}
		if wide {
			column.Priority = 1
		}
		t.ColumnDefinitions = append(t.ColumnDefinitions, column)
	}
	t.ColumnDefinitions[0].Format = "name"
	for _, o := range objects {
		raw, err := json.Marshal(
			map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": o["metadata"]},
		)
		if err != nil {
			continue
		}
		cells := l.cells(o, ageOf(o, c.h.c.now()))
		t.Rows = append(t.Rows, metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Raw: raw}})
	}
	return t
}

func ageOf(o Object, now time.Time) string {
	t, err := time.Parse(time.RFC3339, String(o, "metadata", "creationTimestamp"))
	if err != nil {
		return "<unknown>"
	}
	return duration.HumanDuration(max(now.Sub(t), 0))
}

// objectsAt are the objects of a list inside an object.
func objectsAt(o Object, path ...string) (out []map[string]any) {
	l, _ := At(o, path...).([]any)
	for _, x := range l {
		if m, ok := x.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func nodeStatus(o Object) string {
	s := "NotReady"
	switch conditionOf(o, "Ready")["status"] {
	case "True":
		s = "Ready"
	case nil:
		s = "Unknown"
	}
	if At(o, "spec", "unschedulable") == true {
		s += ",SchedulingDisabled"
	}
	return s
}

func nodeRoles(o Object) string {
	labels, _ := At(o, "metadata", "labels").(map[string]any)
	var roles []string
	for l := range labels {
		if r, ok := strings.CutPrefix(l, "node-role.kubernetes.io/"); ok {
			roles = append(roles, r)
		}
	}
	slices.Sort(roles)
	return cmp.Or(strings.Join(roles, ","), "<none>")
}

// nodeAddress is the InternalIP of a node.
func nodeAddress(o Object) string {
	for _, m := range objectsAt(o, "status", "addresses") {
		if m["type"] == "InternalIP" {
			return String(m, "address")
		}
	}
	return ""
}

// readyContainers says how many containers of a pod are ready, and how many it has.
func readyContainers(o Object) string {
	ready := 0
	for _, m := range objectsAt(o, "status", "containerStatuses") {
		if m["ready"] == true {
			ready++
		}
	}
	return fmt.Sprintf("%d/%d", ready, len(objectsAt(o, "spec", "containers")))
}

func podStatus(o Object) string {
	if String(o, "metadata", "deletionTimestamp") != "" {
		return "Terminating"
	}
	return cmp.Or(String(o, "status", "phase"), "Unknown")
}
