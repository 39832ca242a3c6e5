package ansible

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

const (
	dir   = "/var/lib/kubespray-simulation"
	admin = "kubectl --kubeconfig /etc/kubernetes/admin.conf "
)

// cluster makes all machines nodes of one cluster. What is a node already stays one. The first master of the inventory
// is the one that has the cluster, or gets it.
func (r *run) cluster(ctx context.Context) {
	r.facts(ctx)
	first := r.masters[0]
	for _, h := range slices.Concat(r.masters, r.workers) {
		r.prepare(ctx, h)
	}
	r.phase(ctx, first, "init", "test -e /etc/kubernetes/admin.conf", nil)
	r.own(ctx, first)
	for _, h := range append(slices.Clone(r.masters[1:]), r.workers...) {
		r.join(ctx, h)
	}
}

// own makes the programs of a master use its own API server. The kubelets of workers, which have a proxy of their own
// to all masters, ask the API server only once here.
func (r *run) own(ctx context.Context, h *host) {
	r.task(ctx, h, "kubernetes/control-plane : Update server field in component kubeconfigs",
		"umask 077; cd /etc/kubernetes && for f in admin kubelet controller-manager scheduler; do "+
			"sed 's#^    server: https.*#    server: https://127.0.0.1:6443#' $f.conf >$f.new && "+
			"mv -f $f.new $f.conf || exit; done", nil)
}

// facts visits all machines, and keeps what it learns of them in the cache.
func (r *run) facts(ctx context.Context) {
	for _, h := range slices.Concat(r.masters, r.workers) {
		if _, ok := r.task(ctx, h, "Gathering Facts", "true", nil); ok {
			r.remember(h)
		}
	}
}

// remember writes what is known of a host into the cache of facts.
func (r *run) remember(h *host) {
	cache := r.cache()
	err := r.p.FS().MkdirAll(cache, 0o700)
	if err == nil {
		err = r.p.WriteFile(cache+"/"+h.name, []byte(h.IP), 0o600)
	}
	if err != nil {
		h.fail(r, "Gathering Facts", err.Error())
	}
}

// cache is the folder of the cache of facts; that of Kubespray's ansible.cfg is /tmp.
func (r *run) cache() string { return cmp.Or(r.p.Env["ANSIBLE_CACHE_PLUGIN_CONNECTION"], "/tmp") }

// scale makes workers nodes. It uses what the cache has of the other hosts.
func (r *run) scale(ctx context.Context) {
	for _, h := range slices.Concat(r.masters, r.workers) {
		if known, err := r.p.ReadFile(r.cache() + "/" + h.name); err != nil || string(known) != h.IP {
			h.fail(r, "kubespray-defaults : Set fallback_ips", "the facts of "+h.name+" are those of "+string(known))
			return
		}
	}
	for _, h := range r.workers {
		if r.limit == nil || slices.Contains(r.limit, h.name) {
			r.prepare(ctx, h)
			r.join(ctx, h)
		}
	}
}

// remove takes nodes out of the cluster, through the first master. It asks before.
func (r *run) remove(ctx context.Context) {
	if r.vars["delete_nodes_confirmation"] != "yes" {
		r.masters[0].fail(r, "check confirmation", "Delete nodes confirmation failed")
		return
	}
	for name := range strings.SplitSeq(r.vars["node"], ",") {
		h := r.hosts[name]
		if h == nil {
			continue
		}
		if r.vars["reset_nodes"] != "false" {
			r.task(ctx, h, "reset : reset | Restart network", "kubeadm reset -f", nil)
		}
		if name == r.masters[0].name {
			continue // Kubespray cannot remove the master that it works through
		}
		if slices.Contains(r.etcd, h) && !r.leaveEtcd(ctx, h) {
			continue
		}
		if _, ok := r.task(ctx, r.masters[0], "remove-node/post-remove : Delete node",
			admin+"delete node "+name+" --ignore-not-found", nil); ok {
			h.ok++
		}
	}
}

// leaveEtcd removes a host from etcd, through the first host of that group.
func (r *run) leaveEtcd(ctx context.Context, h *host) bool {
	first := r.etcd[0]
	etcdctl := admin + "-n kube-system exec etcd-" + first.name + " -- etcdctl member "
	list, ok := r.task(ctx, first, "remove-node/remove-etcd-node : Lookup etcd member id", etcdctl+"list", nil)
	if !ok {
		return false
	}
	for line := range strings.Lines(list) {
		id, rest, _ := strings.Cut(line, ", ")
		if strings.HasPrefix(rest, "started, "+h.name+", ") {
			_, ok = r.task(ctx, first, "remove-node/remove-etcd-node : Remove etcd member from cluster",
				etcdctl+"remove "+id, nil)
		}
	}
	return ok
}

// prepare copies the script to a machine and installs what a node needs.
func (r *run) prepare(ctx context.Context, h *host) {
	err := fs.WalkDir(r.script, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(name, ".sh") {
			return err
		}
		raw, err := fs.ReadFile(r.script, name)
		if err != nil {
			return err
		}
		r.task(ctx, h, "download : "+name,
			fmt.Sprintf("mkdir -p %[1]s/lib && cat >%[1]s/%[2]s", dir, name), raw)
		return nil
	})
	if err != nil {
		h.fail(r, "download", err.Error())
		return
	}
	r.phase(ctx, h, "prepare", "test -e /var/lib/kubelet/config.yaml", nil)
}

// join makes a machine a node, with a token that the first master makes.
func (r *run) join(ctx context.Context, h *host) {
	if r.masters[0].failed+r.masters[0].unreachable > 0 || h.failed+h.unreachable > 0 {
		return
	}
	const done = "test -e /etc/kubernetes/kubelet.conf"
	r.phase(ctx, r.masters[0], "tokens", "false", nil)
	raw, ok := r.task(ctx, r.masters[0], "kubernetes/kubeadm : Create kubeadm token", "cat "+dir+"/result", nil)
	if !ok {
		return
	}
	secrets := strings.NewReplacer("token=", "JOIN_TOKEN=", "ssl_ca_cert_hash=", "CA_CERT_HASH=",
		"certificate_key=", "CERTIFICATE_KEY=").Replace(raw)
	r.phase(ctx, h, "join", done, []byte(secrets))
	if slices.Contains(r.masters, h) {
		r.own(ctx, h)
	}
}

// phase runs a phase of the script unless the command done says that it has been done.
func (r *run) phase(ctx context.Context, h *host, phase, done string, secrets []byte) {
	ips := []string{}
	for _, m := range r.masters {
		ips = append(ips, m.IP)
	}
	var hosts []string
	for _, o := range slices.Concat(r.masters, r.workers) {
		hosts = append(hosts, o.IP+" "+o.name)
	}
	args := "-i " + r.masters[0].IP
	if slices.Contains(r.workers, h) {
		args += " -w " + h.IP
	} else {
		args += " -m " + strings.Join(ips, ",") + " -p " + r.settings.Pods + " -a " + r.settings.Services
	}
	env := map[string]string{
		"GYBE_PHASE": phase, "GYBE_SECRETS_FILE": dir + "/secrets", "GYBE_RESULT_FILE": dir + "/result",
		"NODE_NAME": h.name, "NODE_IP": h.IP, "CLUSTER_HOSTS": strings.Join(hosts, ","), "ha_flag": "False",
		"EXTRA_CERT_SANS": strings.Join(r.settings.Names, ","), "K8S_VERSION": "1.34", "CILIUM_VERSION": "1.18.4",
	}
	var vars strings.Builder
	for name, value := range env {
		fmt.Fprintf(&vars, "export %s=%s; ", name, quote(value))
	}
	r.task(ctx, h, "kubernetes : "+phase, fmt.Sprintf(
		"umask 077; cat >%[2]s/secrets; if %[1]s; then exit 0; fi; %[3]s cd %[2]s && "+
			"bash ./install_k8s_cluster.sh %[4]s",
		done, dir, vars.String(), args), secrets)
}
