package kubeapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
)

// columns are what kubectl prints of a kind between NAME and AGE; those with a + at the end only with -o wide.
var columns = map[string]struct {
	names string
	cells func(o Object) []any
}{
	"Node": {"Status Roles Version@ Internal-IP+", func(o Object) []any {
		version, address := String(o, "status", "nodeInfo", "kubeletVersion"), cmp.Or(nodeAddress(o), "<none>")
		return []any{nodeStatus(o), nodeRoles(o), version, address}
	}},
	"Pod": {"Ready Status Restarts IP+ Node+", func(o Object) []any {
		ready, total, restarts := containers(o)
		return []any{
			fmt.Sprintf("%d/%d", ready, total), podStatus(o), restarts, String(o, "status", "podIP"),
			String(o, "spec", "nodeName"),
		}
	}},
	"Deployment": {"Ready Up-to-date Available", func(o Object) []any {
		return []any{
			fmt.Sprintf("%d/%d", Int(o, "status", "readyReplicas"), Int(o, "spec", "replicas")),
			Int(o, "status", "updatedReplicas"), Int(o, "status", "availableReplicas"),
		}
	}},
	"DaemonSet": {"Desired Current Ready Available", func(o Object) []any {
		return []any{
			Int(o, "status", "desiredNumberScheduled"), Int(o, "status", "currentNumberScheduled"),
			Int(o, "status", "numberReady"), Int(o, "status", "numberAvailable"),
		}
	}},
	"Namespace":    {"Status", func(o Object) []any { return []any{String(o, "status", "phase")} }},
	"StorageClass": {"Provisioner", func(o Object) []any { return []any{String(o, "provisioner")} }},
	"PersistentVolume": {"Capacity Reclaim-Policy Status Claim StorageClass", func(o Object) []any {
		claim := strings.Trim(String(o, "spec", "claimRef", "namespace")+"/"+String(o, "spec", "claimRef", "name"), "/")
		return []any{
			String(o, "spec", "capacity", "storage"), String(o, "spec", "persistentVolumeReclaimPolicy"),
			String(o, "status", "phase"), claim, String(o, "spec", "storageClassName"),
		}
	}},
	"PersistentVolumeClaim": {"Status Volume StorageClass", func(o Object) []any {
		return []any{
			String(o, "status", "phase"), String(o, "spec", "volumeName"), String(o, "spec", "storageClassName"),
		}
	}},
}

// wantsTable reports whether the client prints what the server lays out, as kubectl get does.
func (c call) wantsTable() bool {
	first, _, _ := strings.Cut(c.req.Header.Get("Accept"), ",")
	return strings.Contains(first, "as=Table")
}

// table lays objects out in the usual columns of their kind.
func (c call) table(meta map[string]any, objects ...Object) metav1.Table {
	layout := columns[c.res.Kind]
	t := metav1.Table{TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"}}
	t.ResourceVersion, _ = meta["resourceVersion"].(string)
	t.Continue, _ = meta["continue"].(string)
	column := func(name, format string, priority int32) {
		t.ColumnDefinitions = append(t.ColumnDefinitions, metav1.TableColumnDefinition{
			Name: name, Type: "string", Format: format, Priority: priority,
		})
	}
	column("Name", "name", 0)
	age := -1 // the column after which the age comes; at the end of those that are always printed
	names := strings.Fields(layout.names)
	for i, n := range names {
		if strings.HasSuffix(n, "@") || age < 0 && strings.HasSuffix(n, "+") {
			column("Age", "", 0)
			age = i
		}
		priority := int32(0)
		if strings.HasSuffix(n, "+") {
			priority = 1
		}
		column(strings.Trim(n, "@+"), "", priority)
	}
	if age < 0 {
		column("Age", "", 0)
		age = len(names)
	}
	for _, o := range objects {
		var cells []any
		if layout.cells != nil {
			cells = layout.cells(o)
		}
		cells = append([]any{Name(o)}, slices.Insert(cells, age, any(ageOf(o, c.h.c.store.now())))...)
		raw, err := json.Marshal(
			map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": o["metadata"]},
		)
		if err != nil {
			continue
		}
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

// containers counts the containers of a pod that are ready, all of them, and their restarts.
func containers(o Object) (ready, total int, restarts string) {
	count := 0
	for _, m := range objectsAt(o, "status", "containerStatuses") {
		if m["ready"] == true {
			ready++
		}
		n, _ := strconv.Atoi(fmt.Sprint(m["restartCount"]))
		count += n
	}
	return ready, len(objectsAt(o, "spec", "containers")), strconv.Itoa(count)
}

func podStatus(o Object) string {
	if String(o, "metadata", "deletionTimestamp") != "" {
		return "Terminating"
	}
	return cmp.Or(String(o, "status", "phase"), "Unknown")
}
