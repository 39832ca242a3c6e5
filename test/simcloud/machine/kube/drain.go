package kube

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

func (k *ctl) cordon(args []string, on bool) error {
	for _, name := range args {
		name = strings.TrimPrefix(strings.TrimPrefix(name, "node/"), "nodes/")
		o, err := k.call(http.MethodGet, "/api/v1/nodes/"+url.PathEscape(name), "", nil)
		if err != nil {
			return err
		}
		word := map[bool]string{true: "cordoned", false: "uncordoned"}[on]
		if (kubeapi.At(o, "spec", "unschedulable") == true) == on {
			k.p.Printf("node/%s already %s\n", name, word)
			continue
		}
		var v any
		if on {
			v = true
		}
		if _, err := k.call(http.MethodPatch, "/api/v1/nodes/"+url.PathEscape(name), "application/merge-patch+json", encode(map[string]any{"spec": map[string]any{"unschedulable": v}})); err != nil {
			return err
		}
		k.p.Printf("node/%s %s\n", name, word)
	}
	return nil
}

func (k *ctl) drain(args []string) error {
	for _, name := range args {
		if err := k.cordon([]string{name}, true); err != nil {
			return err
		}
		pods, err := k.call(http.MethodGet, "/api/v1/pods?fieldSelector="+url.QueryEscape("spec.nodeName="+name), "", nil)
		if err != nil {
			return err
		}
		var evict, daemons, bare []kubeapi.Object
		for _, p := range items(pods) {
			switch kind := ownerKind(p); {
			case kubeapi.String(p, "metadata", "annotations", "kubernetes.io/config.mirror") != "":
			case kind == "DaemonSet":
				daemons = append(daemons, p)
			case kind == "" && !k.f.on("force"):
				bare = append(bare, p)
			default:
				evict = append(evict, p)
			}
		}
		full := func(l []kubeapi.Object) string {
			var out []string
			for _, p := range l {
				out = append(out, kubeapi.Namespace(p)+"/"+kubeapi.Name(p))
			}
			return strings.Join(out, ", ")
		}
		if len(daemons) > 0 && !k.f.on("ignore-daemonsets") {
			return fmt.Errorf("error: unable to drain node \"%s\" due to error: cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): %s, continuing command\nThere are pending nodes to be drained:\n %s\ncannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): %s", name, full(daemons), name, full(daemons))
		}
		if len(bare) > 0 {
			return fmt.Errorf("error: unable to drain node \"%s\" due to error: cannot delete Pods that declare no controller (use --force to override): %s, continuing command", name, full(bare))
		}
		if len(daemons) > 0 {
			k.p.Errorf("Warning: ignoring DaemonSet-managed Pods: %s\n", full(daemons))
		}
		timeout := time.Duration(0)
		if t := k.f.get("timeout"); t != "" {
			timeout, _ = time.ParseDuration(t)
		}
		if err := k.evict(name, evict, timeout); err != nil {
			return err
		}
		k.p.Printf("node/%s drained\n", name)
	}
	return nil
}

func ownerKind(p kubeapi.Object) string {
	l, _ := kubeapi.At(p, "metadata", "ownerReferences").([]any)
	for _, x := range l {
		if m, ok := x.(map[string]any); ok {
			s, _ := m["kind"].(string)
			return s
		}
	}
	return ""
}

// evict evicts pods, waiting for disruption budgets until the timeout.
func (k *ctl) evict(node string, pods []kubeapi.Object, timeout time.Duration) error {
	limit := time.Now().Add(24 * time.Hour)
	if timeout > 0 {
		limit = time.Now().Add(max(k.p.Sys.Clock.Real(timeout), time.Millisecond))
	}
	for _, p := range pods {
		ns, name := kubeapi.Namespace(p), kubeapi.Name(p)
		k.p.Printf("evicting pod %s/%s\n", ns, name)
		for {
			_, err := k.call(http.MethodPost, "/api/v1/namespaces/"+url.PathEscape(ns)+"/pods/"+url.PathEscape(name)+"/eviction", "application/json",
				encode(map[string]any{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": name, "namespace": ns}}))
			var se *serverError
			if err == nil || notFound(err) {
				k.p.Printf("pod/%s evicted\n", name)
				break
			}
			if !errors.As(err, &se) || se.code != http.StatusTooManyRequests {
				return err
			}
			k.p.Errorf("error when evicting pods/\"%s\" -n \"%s\" (will retry after 5s): %s\n", name, ns, se.text)
			if time.Now().After(limit) {
				return fmt.Errorf("error: unable to drain node \"%s\" due to error: error when evicting pods/\"%s\" -n \"%s\": global timeout reached: %s, continuing command", node, name, ns, timeout)
			}
			if k.p.Sleep(max(5*time.Second, 0)) != nil {
				return exit(1)
			}
		}
	}
	return nil
}
