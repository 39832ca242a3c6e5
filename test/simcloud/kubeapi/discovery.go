package kubeapi

import (
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
)

// discovery serves /version, /api, /apis and the resource lists.
func (h *handler) discovery(w http.ResponseWriter, path string) error {
	switch path {
	case "/version":
		gitVersion := h.c.opts.Version
		major, rest, _ := strings.Cut(strings.TrimPrefix(gitVersion, "v"), ".")
		minor, _, _ := strings.Cut(rest, ".")
		writeJSON(w, http.StatusOK, version.Info{
			Major: major, Minor: minor, GitVersion: gitVersion, GitCommit: strings.Repeat("0", 40),
			GitTreeState: "clean", BuildDate: "2025-01-01T00:00:00Z", GoVersion: "go1.24.0", Compiler: "gc",
			Platform: "linux/amd64",
		})
		return nil
	case "/api":
		writeJSON(w, http.StatusOK, metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
		})
		return nil
	case "/apis":
		writeJSON(w, http.StatusOK, metav1.APIGroupList{
			TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: groups(h.c.store.Resources()),
		})
		return nil
	case "/api/v1":
		return h.resourceList(w, "", "v1")
	}
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if parts[0] == "apis" && len(parts) == 2 {
		for _, g := range groups(h.c.store.Resources()) {
			if g.Name == parts[1] {
				writeJSON(w, http.StatusOK, g)
				return nil
			}
		}
	}
	if parts[0] == "apis" && len(parts) == 3 {
		return h.resourceList(w, parts[1], parts[2])
	}
	return notFoundPath()
}

// groups lists the API groups. The first version of a group is the preferred one.
func groups(all []Resource) []metav1.APIGroup {
	out := []metav1.APIGroup{}
	for _, r := range all {
		if r.Group == "" {
			continue
		}
		v := metav1.GroupVersionForDiscovery{GroupVersion: r.APIVersion(), Version: r.Version}
		if n := slices.IndexFunc(out, func(g metav1.APIGroup) bool { return g.Name == r.Group }); n >= 0 {
			if !slices.Contains(out[n].Versions, v) {
				out[n].Versions = append(out[n].Versions, v)
			}
			continue
		}
		out = append(out, metav1.APIGroup{
			TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: r.Group,
			Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v,
		})
	}
	return out
}

func (h *handler) resourceList(w http.ResponseWriter, group, version string) error {
	list := metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, APIResources: []metav1.APIResource{},
	}
	verbs := metav1.Verbs{"create", "delete", "get", "list", "patch", "update", "watch"}
	some := metav1.Verbs{"get", "patch", "update"}
	for _, r := range h.c.store.Resources() {
		if r.Group != group || r.Version != version {
			continue
		}
		list.GroupVersion = r.APIVersion()
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: r.Plural, SingularName: r.Singular, Namespaced: r.Namespaced, Kind: r.Kind, Verbs: verbs,
			ShortNames: r.Short,
		})
		if r.Status {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: r.Plural + "/status", Namespaced: r.Namespaced, Kind: r.Kind, Verbs: some,
			})
		}
		if isScalable(r) {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: r.Plural + "/scale", Namespaced: true, Group: "autoscaling", Version: "v1", Kind: "Scale",
				Verbs: some,
			})
		}
		switch r.GR() {
		case "pods":
			list.APIResources = append(list.APIResources,
				metav1.APIResource{
					Name: "pods/eviction", Namespaced: true, Group: "policy", Version: "v1",
					Kind: "Eviction", Verbs: metav1.Verbs{"create"},
				},
				metav1.APIResource{Name: "pods/log", Namespaced: true, Kind: "Pod", Verbs: metav1.Verbs{"get"}})
		case "serviceaccounts":
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: "serviceaccounts/token", Namespaced: true, Group: "authentication.k8s.io", Version: "v1",
				Kind: "TokenRequest", Verbs: metav1.Verbs{"create"},
			})
		}
	}
	if list.GroupVersion == "" {
		return notFoundPath()
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}
