package helm_test

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm/infratest"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/tosca"
	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

// Images of the sample chart and of the Job below.
const (
	image    = "nginx:1.27"
	jobImage = "registry.test/migrate:1"
)

// hookJob is a hook of a chart: Helm runs it before the objects are made, and waits for its end.
const hookJob = `apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations: {helm.sh/hook: pre-install, helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{name: migrate, image: registry.test/migrate:1}]
`

// charts is the harness of the contract for the sample package with other files.
func charts(t *testing.T, more map[string]string) infratest.Harness {
	t.Helper()
	parsed, err := tosca.Parse(os.DirFS(sample), tosca.Options{Entry: "Definitions/cnf_web_helm_top.vnfd.yaml"})
	require.NoError(t, err)
	params, err := os.ReadFile(sample + "/params/instantiate.json")
	require.NoError(t, err)
	var request sol.InstantiateVnfRequest
	require.NoError(t, json.Unmarshal(params, &request))
	files := fstest.MapFS{}
	require.NoError(t, fs.WalkDir(os.DirFS(sample), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(sample + "/" + name)
		files[name] = &fstest.MapFile{Data: data}
		return err
	}))
	for name, text := range more {
		files["Files/charts/web/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	return infratest.Harness{
		VNFD: parsed.VNFD, Files: files, Request: request, Aspect: "web", NoSnapshots: true, Own: own,
		New: func(t *testing.T) infratest.VIM { t.Helper(); return newCluster(t) },
	}
}

// fault is one of the simulated cluster; begin and end get the namespace of the instance.
func fault(texts []string, begin, end func(c *cluster, namespace string)) infratest.Fault {
	on := func(do func(*cluster, string)) func(infratest.VIM, string) {
		return func(vim infratest.VIM, instance string) {
			c, _ := vim.(*cluster)
			do(c, "ns-"+instance[:8])
		}
	}
	return infratest.Fault{Texts: texts, Begin: on(begin), End: on(end)}
}

// requests fails requests, those for Deployments if f names none, until the fault ends.
func requests(f kubeapi.Fault, texts ...string) infratest.Fault {
	f.Path = cmp.Or(f.Path, "/deployments/web")
	return fault(texts,
		func(c *cluster, _ string) { c.AddFault(f) },
		func(c *cluster, _ string) { c.ClearFaults() },
	)
}

// ofImage is a fault of the containers of an image.
func ofImage(name string, f kubeapi.PodFault, texts ...string) infratest.Fault {
	return fault(texts,
		func(c *cluster, _ string) { c.SetImageFault(name, f) },
		func(c *cluster, _ string) { c.SetImageFault(name, kubeapi.NoPodFault) })
}

// waits is a fault that an operation waits out.
func waits(f infratest.Fault) infratest.Fault {
	f.Waits = true
	return f
}

// TestFaultsOfOtherOperations: the operations after the instantiation tell a fault and complete after it, too.
func TestFaultsOfOtherOperations(t *testing.T) {
	t.Parallel()
	all := map[string]infratest.Fault{}
	for name, on := range map[string]struct {
		method, path string
		on           sol.LcmOperationType
		whole        bool
	}{
		"Scale":     {http.MethodPatch, "/deployments/web", sol.LcmOperationScale, false},
		"Heal":      {http.MethodDelete, "/pods/web-", sol.LcmOperationHeal, false},
		"WholeHeal": {http.MethodDelete, "/deployments/web", sol.LcmOperationHeal, true},
		"Terminate": {http.MethodDelete, "/deployments/web", sol.LcmOperationTerminate, false},
		"Records":   {http.MethodGet, "/secrets", sol.LcmOperationScale, false},
	} {
		for kind, f := range map[string]kubeapi.Fault{"ConnectionBreaks": {}, "Unavailable": kubeapi.Unavailable} {
			f.Method, f.Path = on.method, on.path
			of := requests(f, f.Message)
			of.On, of.Whole = on.on, on.whole
			all[name+kind] = of
		}
		if on.on == sol.LcmOperationTerminate || name == "Records" {
			continue
		}
		of := waits(ofImage(image, kubeapi.ImagePullFault, "pod web-", "ImagePullBackOff", image))
		of.On, of.Whole = on.on, on.whole
		all[name+"ImagePull"] = of
	}
	infratest.Faults(t, charts(t, nil), all)
}

// TestFaultsOfTheCluster: an instantiation tells a fault in the words of the cluster, and completes after it.
func TestFaultsOfTheCluster(t *testing.T) {
	t.Parallel()
	infratest.Faults(t, charts(t, nil), map[string]infratest.Fault{
		"ConnectionBreaks": requests(kubeapi.Fault{}, "stream error", "received from peer"),
		"Unavailable":      requests(kubeapi.Unavailable, kubeapi.Unavailable.Message),
		"Conflict":         requests(kubeapi.Conflict, kubeapi.Conflict.Message),
		"TooManyRequests":  waits(requests(kubeapi.Busy, "429 Too Many Requests to", "/deployments/web")),
		"Webhook": fault([]string{`admission webhook "policy.example.com" denied the request: no owner`},
			func(c *cluster, _ string) { c.SetWebhook("no owner") },
			func(c *cluster, _ string) { c.SetWebhook("") }),
		"Quota": fault([]string{"exceeded quota: few, requested: count/deployments.apps=1"},
			func(c *cluster, ns string) { c.quota(ns, "few", "count/deployments.apps") },
			func(c *cluster, ns string) { c.remove("ResourceQuota", ns, "few") }),
		"QuotaOfPods": waits(fault([]string{"Deployment web: ", "exceeded quota: few, requested: pods=1"},
			func(c *cluster, ns string) { c.quota(ns, "few", "pods") },
			func(c *cluster, ns string) { c.remove("ResourceQuota", ns, "few") })),
		"ImagePull": waits(ofImage(image, kubeapi.ImagePullFault, "pod web-", "ImagePullBackOff", image)),
		"Probe":     waits(ofImage(image, kubeapi.ProbeFault, "pod web-")),
		"Scheduling": waits(fault([]string{"pod web-", "0/1 nodes are available"},
			func(c *cluster, _ string) { c.SetNodeReady("worker1", false, "the kubelet does not answer") },
			func(c *cluster, _ string) { c.SetNodeReady("worker1", true, "") })),
		"NamespaceTerminating": fault([]string{"because it is being terminated"},
			func(c *cluster, ns string) {
				c.HoldNamespace(ns, true)
				c.remove("Namespace", "", ns)
			},
			func(c *cluster, ns string) {
				c.HoldNamespace(ns, false)
				c.create("Namespace", "", ns, nil)
			}),
	})
}

// quota forbids objects that it counts by this name.
func (c *cluster) quota(namespace, name, counts string) {
	c.t.Helper()
	_, err := c.Store().Create(kubeapi.Kind("ResourceQuota"), namespace, kubeapi.Object{
		"metadata": kubeapi.Object{"name": name}, "spec": kubeapi.Object{"hard": kubeapi.Object{counts: "0"}},
	})
	require.NoError(c.t, err)
}

// remove deletes an object without the driver.
func (c *cluster) remove(kind, namespace, name string) {
	c.t.Helper()
	path := kubeapi.Kind(kind).Path(namespace, name)
	code, body := c.Do(c.t.Context(), kubeapi.Admin, http.MethodDelete, path, "", nil)
	require.Less(c.t, code, http.StatusBadRequest, "%s", body)
}

// TestHookThatFails: a chart fails half way. The operation says which hook has failed and why, a retry completes it,
// and the termination leaves nothing.
func TestHookThatFails(t *testing.T) {
	t.Parallel()
	h := charts(t, map[string]string{"templates/migrate.yaml": hookJob})
	infratest.Faults(t, h, map[string]infratest.Fault{
		"Job": ofImage(jobImage, kubeapi.CrashFault, "failed pre-install", "/migrate not ready", "Job Failed"),
		"Quota": fault([]string{"migrate", "exceeded quota: none, requested: count/jobs.batch=1"},
			func(c *cluster, ns string) { c.quota(ns, "none", "count/jobs.batch") },
			func(c *cluster, ns string) { c.remove("ResourceQuota", ns, "none") }),
	})
}

// TestChartsLive: charts of several shapes live the life of a VNF.
func TestChartsLive(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]map[string]string{
		"Hooks": {
			"templates/migrate.yaml": hookJob,
			"templates/clean.yaml": `apiVersion: batch/v1
kind: Job
metadata:
  name: clean
  annotations:
    helm.sh/hook: pre-upgrade,post-delete
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: clean, image: registry.test/clean:1}]
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			infratest.Life(t, charts(t, more))
		})
	}
}
