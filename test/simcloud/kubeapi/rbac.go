package kubeapi

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// anonymous is a request without credentials.
var anonymous = User{Name: "system:anonymous", Groups: []string{"system:unauthenticated"}}

// attributes are what a request wants to do.
type attributes struct {
	verb, namespace, name, sub string
	res                        Resource
	path                       string // for requests outside resources
}

func rules(verbs, groups, resources string) map[string]any {
	split := func(t string) []any {
		var out []any
		for p := range strings.SplitSeq(t, ",") {
			out = append(out, p)
		}
		return out
	}
	return map[string]any{"verbs": split(verbs), "apiGroups": split(groups), "resources": split(resources)}
}

func paths(verbs string, urls ...any) map[string]any {
	return map[string]any{"verbs": []any{verbs}, "nonResourceURLs": urls}
}

const (
	readVerbs  = "get,list,watch"
	writeVerbs = "create,update,patch,delete,deletecollection"
)

const rbac = "rbac.authorization.k8s.io"

// group is the group of users in a binding.
func group(name string) Object { return Object{"kind": "Group", "apiGroup": rbac, "name": name} }

// roleRef is the role in a binding.
func roleRef(kind, name string) Object { return Object{"apiGroup": rbac, "kind": kind, "name": name} }

// bootstrapRoles makes the roles and bindings of every cluster.
func (s *Store) bootstrapRoles() {
	role := func(name string, rs ...any) {
		s.mustCreate("ClusterRole", "", name, Object{"rules": rs})
	}
	bind := func(name, role string, groups ...string) {
		var subjects []any
		for _, g := range groups {
			subjects = append(subjects, group(g))
		}
		s.mustCreate("ClusterRoleBinding", "", name, Object{
			"roleRef": roleRef("ClusterRole", role), "subjects": subjects,
		})
	}
	role("cluster-admin", rules("*", "*", "*"), paths("*", "*"))
	role("system:public-info-viewer", paths("get", "/healthz", "/livez", "/readyz", "/version", "/version/"))
	role("system:discovery", paths("get", "/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi",
		"/openapi/*", "/readyz", "/version", "/version/"))
	role("system:basic-user", rules("create", "authorization.k8s.io", "selfsubjectaccessreviews"))
	role("system:node", rules(readVerbs, "*", "*"), rules(writeVerbs, "", "nodes,nodes/status,pods,pods/status,events"),
		rules("*", "coordination.k8s.io", "leases"))
	bind("cluster-admin", "cluster-admin", "system:masters")
	bind("kubeadm:cluster-admins", "cluster-admin", "kubeadm:cluster-admins")
	bind("system:public-info-viewer", "system:public-info-viewer", "system:authenticated", "system:unauthenticated")
	bind("system:discovery", "system:discovery", "system:authenticated")
	bind("system:basic-user", "system:basic-user", "system:authenticated")
	bind("system:node", "system:node", "system:nodes")
	role("kubeadm:get-nodes", rules("get", "", "nodes"))
	bind("kubeadm:get-nodes", "kubeadm:get-nodes", "system:bootstrappers:kubeadm:default-node-token")
	s.publish("kube-public", "kubeadm:bootstrap-signer-clusterinfo", "cluster-info", "system:unauthenticated")
	s.publish("kube-system", "kubeadm:nodes-kubeadm-config", "kubeadm-config",
		"system:bootstrappers:kubeadm:default-node-token")
}

// publish lets a group read one config map.
func (s *Store) publish(namespace, name, configMap, to string) {
	rule := rules("get", "", "configmaps")
	rule["resourceNames"] = []any{configMap}
	s.mustCreate("Role", namespace, name, Object{"rules": []any{rule}})
	s.mustCreate("RoleBinding", namespace, name, Object{
		"roleRef": roleRef("Role", name), "subjects": []any{group(to), group("system:authenticated")},
	})
}

// foreignNode says whether a kubelet wants to write another node than its own, or to delete one.
func foreignNode(u User, a attributes) bool {
	own, kubelet := strings.CutPrefix(u.Name, "system:node:")
	if !kubelet || a.res.GR() != "nodes" {
		return false
	}
	switch a.verb {
	case "delete", "deletecollection":
		return true
	case "update", "patch":
		return a.name != own
	}
	return false
}

// authorize answers nil if the user may do it, else the server's refusal.
func (s *Store) authorize(u User, a attributes) error {
	if foreignNode(u, a) {
		return apierrors.NewForbidden(a.res.GroupResource(), a.name, fmt.Errorf(
			"node %q is not allowed to %s node %q", strings.TrimPrefix(u.Name, "system:node:"), a.verb, a.name,
		))
	}
	if slices.Contains(u.Groups, "system:masters") {
		return nil
	}
	for _, b := range s.bindings("clusterrolebindings."+rbac, "") {
		if subject(b, u) && s.allows(b, "", a) {
			return nil
		}
	}
	if a.namespace != "" {
		for _, b := range s.bindings("rolebindings."+rbac, a.namespace) {
			if subject(b, u) && s.allows(b, a.namespace, a) {
				return nil
			}
		}
	}
	if a.path != "" {
		return forbidden(fmt.Sprintf("forbidden: User %q cannot %s path %q", u.Name, a.verb, a.path))
	}
	where := "at the cluster scope"
	if a.namespace != "" {
		where = fmt.Sprintf("in the namespace %q", a.namespace)
	}
	what := a.res.Plural
	if a.sub != "" {
		what += "/" + a.sub
	}
	return apierrors.NewForbidden(a.res.GroupResource(), a.name, fmt.Errorf(
		"User %q cannot %s resource %q in API group %q %s", u.Name, a.verb, what, a.res.Group, where,
	))
}

func forbidden(msg string) error {
	e := apierrors.NewForbidden(Resource{}.GroupResource(), "", nil)
	e.ErrStatus.Message, e.ErrStatus.Details = msg, nil
	return e
}

func (s *Store) bindings(gr, namespace string) []Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []Object
	for k, o := range s.objs[gr] {
		if namespace == "" || strings.HasPrefix(k, namespace+"/") {
			out = append(out, o)
		}
	}
	return out
}

func subject(b Object, u User) bool {
	return slices.ContainsFunc(objectsAt(b, "subjects"), func(m Object) bool {
		name := String(m, "name")
		switch m["kind"] {
		case "User":
			return name == u.Name
		case "Group":
			return slices.Contains(u.Groups, name)
		case "ServiceAccount":
			return u.Name == "system:serviceaccount:"+String(m, "namespace")+":"+name
		}
		return false
	})
}

// allows reports whether the role of a binding has a rule for the request.
func (s *Store) allows(b Object, namespace string, a attributes) bool {
	gr, k := "clusterroles."+rbac, key("", String(b, "roleRef", "name"))
	if String(b, "roleRef", "kind") == "Role" {
		gr, k = "roles."+rbac, key(namespace, String(b, "roleRef", "name"))
	}
	s.mu.RLock()
	role := s.objs[gr][k]
	s.mu.RUnlock()
	return slices.ContainsFunc(objectsAt(role, "rules"), func(rule Object) bool { return ruleAllows(rule, a) })
}

func ruleAllows(rule Object, a attributes) bool {
	in := func(field string, fits func(entry string) bool) bool {
		list, _ := rule[field].([]any)
		return slices.ContainsFunc(list, func(x any) bool {
			entry, _ := x.(string)
			return entry == "*" || fits(entry)
		})
	}
	is := func(want string) func(string) bool { return func(entry string) bool { return entry == want } }
	if !in("verbs", is(a.verb)) {
		return false
	}
	if a.path != "" {
		return in("nonResourceURLs", func(url string) bool {
			prefix, all := strings.CutSuffix(url, "*")
			return url == a.path || all && strings.HasPrefix(a.path, prefix)
		})
	}
	res := a.res.Plural
	if a.sub != "" {
		res += "/" + a.sub
	}
	return in("apiGroups", is(a.res.Group)) && in("resources", is(res)) &&
		(rule["resourceNames"] == nil || in("resourceNames", is(a.name)))
}
