package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// networks are the daemon sets that bring a pod network.
var networks = []string{"cilium", "calico-node", "kube-flannel-ds", "weave-net", "kube-router", "canal"}

// network tells the cluster whether a pod network is installed.
func (n *Node) network(k *ctl) {
	cl := n.reg.byCA(k.c.ca)
	if cl == nil {
		return
	}
	o, err := k.call(http.MethodGet, "/apis/apps/v1/daemonsets", "", nil)
	if err != nil {
		return
	}
	cl.CNIInstalled(slices.ContainsFunc(items(o), func(d kubeapi.Object) bool { return slices.Contains(networks, kubeapi.Name(d)) }))
}

// cilium is Cilium's command: install, uninstall, status, version.
func (n *Node) cilium(ctx context.Context, p *process.Proc) int {
	f := parseFlags(p.Args[1:], "wait client help", map[string]string{"n": "namespace"})
	if len(f.args) == 0 {
		return 0
	}
	if f.args[0] == "version" {
		p.Printf("cilium-cli: v0.18.8 compiled with go1.25.3 on linux/amd64\ncilium image (default): v1.18.4\ncilium image (stable): v1.18.4\n")
		return 0
	}
	k := &ctl{n: n, ctx: ctx, p: p, f: f}
	err := k.open()
	if err == nil {
		defer k.c.close()
		k.ns = "kube-system"
		switch f.args[0] {
		case "install", "upgrade":
			err = k.ciliumInstall()
		case "uninstall":
			err = k.ciliumRemove()
		case "status":
			err = k.ciliumStatus()
		default:
			err = fmt.Errorf("unknown command %q for \"cilium\"", f.args[0])
		}
	}
	if err != nil {
		text := err.Error()
		p.Errorf("\nError: %s%s\n", strings.ToUpper(text[:1]), text[1:]) // cilium's begin with a capital
		return 1
	}
	return 0
}

func (k *ctl) ciliumInstall() error {
	version := strings.TrimPrefix(or(k.f.get("version"), "1.18.4"), "v")
	if strings.Count(version, ".") != 2 {
		return fmt.Errorf("unable to install Cilium: failed to parse version %q", version)
	}
	if _, err := k.call(http.MethodGet, "/apis/apps/v1/namespaces/kube-system/daemonsets/cilium", "", nil); err == nil {
		return errors.New("unable to install Cilium: cannot re-use a name that is still in use")
	} else if !notFound(err) {
		return fmt.Errorf("unable to install Cilium: %w", err)
	}
	k.p.Printf("ℹ️  Using Cilium version %s\n🔮 Auto-detected cluster name: kubernetes\n🔮 Auto-detected kube-proxy has been installed\n", version)
	labels := map[string]any{"k8s-app": "cilium"}
	anywhere := []any{map[string]any{"operator": "Exists"}}
	pod := func(name string) map[string]any {
		return map[string]any{"hostNetwork": true, "tolerations": anywhere, "containers": []any{map[string]any{"name": name, "image": "quay.io/cilium/" + name + ":v" + version}}}
	}
	opLabels := map[string]any{"name": "cilium-operator"}
	for _, o := range []kubeapi.Object{
		{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "cilium", "namespace": "kube-system"}},
		{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "cilium-config", "namespace": "kube-system"}, "data": map[string]any{"ipam": "kubernetes"}},
		{"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": map[string]any{"name": "cilium", "namespace": "kube-system", "labels": labels}, "spec": map[string]any{
			"selector": map[string]any{"matchLabels": labels}, "template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": pod("cilium")},
		}},
		{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "cilium-operator", "namespace": "kube-system", "labels": opLabels}, "spec": map[string]any{
			"replicas": 1, "selector": map[string]any{"matchLabels": opLabels}, "template": map[string]any{"metadata": map[string]any{"labels": opLabels}, "spec": pod("operator-generic")},
		}},
	} {
		r, err := k.kind(kubeapi.String(o, "apiVersion"), kubeapi.String(o, "kind"))
		if err != nil {
			return err
		}
		if _, err := k.call(http.MethodPost, k.path(r, "kube-system", ""), "application/json", encode(o)); err != nil {
			var se *serverError
			if !errors.As(err, &se) || se.code != http.StatusConflict {
				return fmt.Errorf("unable to install Cilium: %w", err)
			}
		}
	}
	k.n.network(k)
	return nil
}

func (k *ctl) ciliumRemove() error {
	k.p.Printf("🔥 Deleting pods in cilium-test namespace...\n🔥 Uninstalling Cilium...\n")
	for _, path := range []string{
		"/apis/apps/v1/namespaces/kube-system/daemonsets/cilium", "/apis/apps/v1/namespaces/kube-system/deployments/cilium-operator",
		"/api/v1/namespaces/kube-system/configmaps/cilium-config", "/api/v1/namespaces/kube-system/serviceaccounts/cilium",
	} {
		if _, err := k.call(http.MethodDelete, path, "", nil); err != nil && !notFound(err) {
			return err
		}
	}
	k.n.network(k)
	return nil
}

func (k *ctl) ciliumStatus() error {
	look := func() (desired, ready int64, op bool, err error) {
		ds, err := k.call(http.MethodGet, "/apis/apps/v1/namespaces/kube-system/daemonsets/cilium", "", nil)
		if err != nil {
			return 0, 0, false, err
		}
		dep, err := k.call(http.MethodGet, "/apis/apps/v1/namespaces/kube-system/deployments/cilium-operator", "", nil)
		if err != nil {
			return 0, 0, false, err
		}
		return kubeapi.Int(ds, "status", "desiredNumberScheduled"), kubeapi.Int(ds, "status", "numberReady"), kubeapi.Int(dep, "status", "readyReplicas") > 0, nil
	}
	var desired, ready int64
	var op bool
	var err error
	if k.f.on("wait") {
		if d := k.f.get("wait-duration"); d != "" {
			k.f.vals["timeout"] = []string{d}
		}
		_, _ = k.until(5*time.Minute, func() (bool, error) {
			desired, ready, op, err = look()
			return err == nil && op && desired > 0 && ready == desired, nil
		})
	} else {
		desired, ready, op, err = look()
	}
	if err != nil && !notFound(err) {
		return fmt.Errorf("unable to determine status: %w", err)
	}
	word := func(ok bool) string {
		if ok {
			return "OK"
		}
		return "1 errors"
	}
	k.p.Printf("    /¯¯\\\n /¯¯\\__/¯¯\\    Cilium:             %s\n \\__/¯¯\\__/    Operator:           %s\n /¯¯\\__/¯¯\\    Envoy DaemonSet:    disabled (using embedded mode)\n \\__/¯¯\\__/    Hubble Relay:       disabled\n    \\__/       ClusterMesh:        disabled\n\n", word(desired > 0 && ready == desired), word(op))
	k.p.Printf("DaemonSet              cilium             Desired: %d, Ready: %d/%d, Available: %d/%d\n", desired, ready, desired, ready, desired)
	if err != nil || !op || desired == 0 || ready != desired {
		return errors.New("unable to determine status:  timeout while waiting for status to become successful: context deadline exceeded")
	}
	return nil
}
