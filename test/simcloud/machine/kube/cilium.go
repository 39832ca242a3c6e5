package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// network tells the cluster whether its pod network is installed.
func (n *Node) network(k *ctl) {
	cl := n.reg.byCA(k.c.ca)
	if cl == nil {
		return
	}
	o, err := k.call(http.MethodGet, "/apis/apps/v1/daemonsets", "", nil)
	if err != nil {
		return
	}
	cl.CNIInstalled(slices.ContainsFunc(items(o), func(d kubeapi.Object) bool { return kubeapi.Name(d) == "cilium" }))
}

// cilium is Cilium's command: install, upgrade, uninstall, status, version.
func (n *Node) cilium(ctx context.Context, p *process.Proc) int {
	f, ok := p.Options(
		false, "", "version:=version", "set:=set", "client=client", "wait=wait", "wait-duration:=wait-duration",
	)
	if !ok || len(f.Args) != 1 {
		return p.Errorf("Error: install, upgrade, uninstall, status and version are simulated\n")
	}
	if f.Args[0] == "version" {
		p.Printf("cilium-cli: v0.18.8 compiled with go1.25.3 on linux/amd64\n")
		return 0
	}
	k := &ctl{n: n, ctx: ctx, p: p, f: f}
	err := k.open()
	if err == nil {
		defer k.c.close()
		k.ns = "kube-system"
		switch f.Args[0] {
		case "install":
			err = k.ciliumInstall()
		case "upgrade":
			err = k.ciliumUpgrade()
		case "status":
			_, err = k.call(http.MethodGet, "/apis/apps/v1/namespaces/kube-system/daemonsets/cilium", "", nil)
		case "uninstall":
			err = k.ciliumRemove()
		default:
			err = fmt.Errorf("unknown command %q for \"cilium\"", f.Args[0])
		}
	}
	if err != nil {
		text := describe(err)
		p.Errorf("\nError: %s%s\n", strings.ToUpper(text[:1]), text[1:]) // cilium's begin with a capital
		return 1
	}
	return 0
}

func (k *ctl) ciliumInstall() error {
	version := strings.TrimPrefix(cmp.Or(k.f.Val("version"), "1.18.4"), "v")
	if strings.Count(version, ".") != 2 {
		return fmt.Errorf("unable to install Cilium: failed to parse version %q", version)
	}
	if _, err := k.call(http.MethodGet, "/apis/apps/v1/namespaces/kube-system/daemonsets/cilium", "", nil); err == nil {
		return errors.New("unable to install Cilium: cannot re-use a name that is still in use")
	} else if !apierrors.IsNotFound(err) {
		return fmt.Errorf("unable to install Cilium: %s", describe(err))
	}
	k.p.Printf("ℹ️  Using Cilium version %s\n🔮 Auto-detected cluster name: kubernetes\n"+
		"🔮 Auto-detected kube-proxy has been installed\n", version)
	for _, o := range []kubeapi.Object{
		{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": kubeapi.Object{"name": "cilium"}},
		{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": kubeapi.Object{"name": "cilium-config"},
			"data": kubeapi.Object{"ipam": "kubernetes"},
		},
		ciliumWorkload("DaemonSet", "cilium", "cilium", version),
		ciliumWorkload("Deployment", "cilium-operator", "operator-generic", version),
	} {
		path := kubeapi.Kind(kubeapi.String(o, "kind")).Path("kube-system", "")
		_, err := k.call(http.MethodPost, path, "application/json", encode(o))
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("unable to install Cilium: %s", describe(err))
		}
	}
	k.n.network(k)
	return nil
}

// ciliumWorkload is a workload of Cilium with one container.
func ciliumWorkload(kind, name, container, version string) kubeapi.Object {
	labels := kubeapi.Object{"k8s-app": name}
	pod := kubeapi.Object{
		"hostNetwork": true, "tolerations": []any{kubeapi.Object{"operator": "Exists"}},
		"containers": ciliumContainers(container, version),
	}
	return kubeapi.Object{
		"apiVersion": "apps/v1", "kind": kind, "metadata": kubeapi.Object{"name": name, "labels": labels},
		"spec": kubeapi.Object{
			"selector": kubeapi.Object{"matchLabels": labels},
			"template": kubeapi.Object{"metadata": kubeapi.Object{"labels": labels}, "spec": pod},
		},
	}
}

func ciliumContainers(name, version string) []any {
	return []any{kubeapi.Object{"name": name, "image": "quay.io/cilium/" + name + ":v" + version}}
}

// ciliumUpgrade gives the agents and the operator the images of another version.
func (k *ctl) ciliumUpgrade() error {
	version := strings.TrimPrefix(cmp.Or(k.f.Val("version"), "1.18.4"), "v")
	for path, name := range map[string]string{
		"daemonsets/cilium": "cilium", "deployments/cilium-operator": "operator-generic",
	} {
		patch := kubeapi.Object{}
		kubeapi.Set(patch, ciliumContainers(name, version), "spec", "template", "spec", "containers")
		if _, err := k.call(http.MethodPatch, "/apis/apps/v1/namespaces/kube-system/"+path,
			"application/merge-patch+json", encode(patch)); err != nil {
			return fmt.Errorf("unable to upgrade Cilium: %s", describe(err))
		}
	}
	k.p.Printf("🔮 Auto-detected cluster name: kubernetes\nℹ️  Using Cilium version %s\n", version)
	return nil
}

func (k *ctl) ciliumRemove() error {
	k.p.Printf("🔥 Deleting pods in cilium-test namespace...\n🔥 Uninstalling Cilium...\n")
	for _, path := range []string{
		"/apis/apps/v1/namespaces/kube-system/daemonsets/cilium",
		"/apis/apps/v1/namespaces/kube-system/deployments/cilium-operator",
		"/api/v1/namespaces/kube-system/configmaps/cilium-config",
		"/api/v1/namespaces/kube-system/serviceaccounts/cilium",
	} {
		if _, err := k.call(http.MethodDelete, path, "", nil); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	k.n.network(k)
	return nil
}
