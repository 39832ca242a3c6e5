package gybe

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/openapi"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/admission"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// Prefix of the interface's paths.
const Prefix = "/gybe/v1"

// Feeds gives each principal the event feed of its project.
type Feeds interface {
	In(p lcm.Principal) gybeapi.Feed
}

// API serves the interface.
type API struct {
	Services *admission.Services
	Packages *vnfpkg.Services
	Feeds    Feeds
	// Nodes lists the gybe processes that share the database.
	Nodes func(context.Context) ([]gybeapi.Node, error)
	// Kubeconfig makes a kubeconfig from the connection to a Kubernetes cluster; cluster names it.
	Kubeconfig func(c sol.VimConnectionInfo, cluster string) ([]byte, error)
	// KubernetesType is the vimType of connections that Kubeconfig understands.
	KubernetesType string
	// Clusters answers for instances that are Kubernetes clusters.
	Clusters Clusters
	// Audit gives out audit trails.
	Audit AuditTrails
	// Subscriptions are those to all interfaces.
	Subscriptions *notify.Services
	// Quotas gives out quotas.
	Quotas Quotas
	// Streams bounds the followers of the feed at the same time.
	Streams int
	// Stopping is closed when the server stops: event streams end then.
	Stopping <-chan struct{}
	// Ready says whether the node can serve now; the error says why not.
	Ready func(context.Context) error
}

// Mount adds the interface to a frame.
func (a *API) Mount(f *frame.Frame) {
	slots := make(chan struct{}, max(a.Streams, 0))
	routes := []frame.Route{
		{
			// It changes nothing, but logs in to the VIM with stored credentials, or to an address from the request.
			Method: http.MethodPost, Path: "/plan", Handle: a.plan, Consumes: frame.JSON, Produces: frame.JSON,
			Query: []string{}, Role: lcm.RoleOperator,
		},
		{
			Method: http.MethodPost, Path: "/adoptions", Handle: a.adopt, Consumes: frame.JSON, Produces: frame.JSON,
			Query: []string{},
		},
		{
			Method: http.MethodGet, Path: "/vnf_instances/{vnfInstanceId}/leftovers", Handle: a.leftovers,
			Produces: frame.JSON, Query: []string{},
		},
		{
			Method: http.MethodDelete, Path: "/vnf_instances/{vnfInstanceId}/leftovers", Handle: a.removeLeftovers,
			Produces: frame.JSON, Query: []string{},
		},
		{
			Method: http.MethodGet, Path: "/vnf_instances/{vnfInstanceId}/protection", Handle: a.protection,
			Produces: frame.JSON, Query: []string{},
		},
		{
			Method: http.MethodPut, Path: "/vnf_instances/{vnfInstanceId}/protection", Handle: a.protect,
			Consumes: frame.JSON, Produces: frame.JSON, Query: []string{},
		},
		{
			Method: http.MethodDelete, Path: "/vnf_instances/{vnfInstanceId}/protection", Handle: a.unprotect,
			Query: []string{},
		},
		{
			Method: http.MethodGet, Path: "/vnf_instances/{vnfInstanceId}/kubeconfig", Handle: a.ServeKubeconfig,
			Produces: []string{"application/yaml", "text/plain"}, Query: []string{},
			Role: lcm.RoleOperator, Secret: true,
		},
		{
			Method: http.MethodGet, Path: "/vnf_instances/{vnfInstanceId}/nodes", Handle: a.clusterNodes,
			Produces: frame.JSON, Query: []string{},
		},
		{
			Method: http.MethodGet, Path: "/vnf_instances/{vnfInstanceId}/ssh_hosts", Handle: a.sshHosts,
			Produces: frame.JSON, Query: []string{}, Role: lcm.RoleOperator, Secret: true, // the way into machines
		},
		{
			Method: http.MethodDelete, Path: "/vnf_instances/{vnfInstanceId}/ssh_hosts/{vnfcInstanceId}/host_key",
			Handle: a.forgetHostKey, Query: []string{},
		},
		{
			Method: http.MethodGet, Path: "/vnf_lcm_op_occs/{vnfLcmOpOccId}/progress", Handle: a.progress,
			Produces: frame.JSON, Query: []string{"since", "limit"},
		},
		{
			Method: http.MethodGet, Path: "/operation_actions", Handle: a.actions, Produces: frame.JSON,
			Query: []string{"vnfLcmOpOccId"},
		},
		{
			Method: http.MethodGet, Path: "/events", Handle: a.events(slots),
			Produces: []string{"text/event-stream"},
			Query:    []string{"since", "vnfInstanceId", "vnfLcmOpOccId", "vnfPkgId", "format"},
		},
		{
			Method: http.MethodGet, Path: "/nodes", Handle: a.nodes, Produces: frame.JSON, Query: []string{},
			Role: lcm.RoleOperator, // they belong to the installation, not to the project
		},
		{Method: http.MethodGet, Path: "/quotas", Handle: a.quotas, Produces: frame.JSON, Query: []string{}},
		{
			Method: http.MethodPut, Path: "/vnf_packages/{vnfPkgId}/sharing", Handle: a.share(true), Query: []string{},
			Role: lcm.RoleAdmin,
		},
		{
			Method: http.MethodDelete, Path: "/vnf_packages/{vnfPkgId}/sharing", Handle: a.share(false),
			Query: []string{}, Role: lcm.RoleAdmin,
		},
		{
			Method: http.MethodGet, Path: "/vnf_packages/{vnfPkgId}/download", Handle: a.download,
			Produces: frame.JSON, Query: []string{},
		},
		{
			Method: http.MethodGet, Path: "/vnf_packages/{vnfPkgId}/signature", Handle: a.signature,
			Produces: frame.JSON, Query: []string{},
		},
		{
			Method: http.MethodGet, Path: "/shared_packages", Handle: a.sharedPackages, Produces: frame.JSON,
			Query: []string{},
		},
		{
			Method: http.MethodGet, Path: "/audit", Handle: a.audit, Produces: frame.JSON, Query: auditParams,
			Role: lcm.RoleAdmin,
		},
		{
			Method: http.MethodGet, Path: "/openapi/{document}", Handle: document, Produces: frame.JSON,
			Query: []string{},
		},
	}
	f.Mount(frame.API{
		Prefix: Prefix, Document: frame.Served(openapi.GybeV1), Routes: append(routes, a.subscriptionRoutes()...),
	})
	f.Mount(frame.API{Routes: openAPIRoutes()})
	f.Mount(frame.API{Routes: []frame.Route{
		{Method: http.MethodGet, Path: "/healthz", Handle: healthy, Public: true, Quiet: true},
		{Method: http.MethodGet, Path: "/readyz", Handle: a.ready, Public: true, Quiet: true},
	}})
}

func (a *API) nodes(w http.ResponseWriter, r *frame.Request) error {
	nodes, err := a.Nodes(r.Context())
	if err != nil {
		return err
	}
	if nodes == nil {
		nodes = []gybeapi.Node{}
	}
	return frame.WriteJSON(w, http.StatusOK, nodes)
}

// document serves one of our OpenAPI documents.
func document(w http.ResponseWriter, r *frame.Request) error {
	name := r.Param("document")
	if !slices.Contains(openapi.Names(), name) {
		return lcm.Errorf(lcm.CodeNotFound, "there is no document %.80q", name).WithHint(
			"there are " + strings.Join(openapi.Names(), ", "),
		)
	}
	raw, err := openapi.JSON(name)
	if err != nil {
		return err
	}
	return frame.WriteJSON(w, http.StatusOK, json.RawMessage(raw))
}

// healthy says that the process answers.
func healthy(w http.ResponseWriter, _ *frame.Request) error {
	return frame.WriteJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// ready says that the node can serve.
func (a *API) ready(w http.ResponseWriter, r *frame.Request) error {
	if err := a.Ready(r.Context()); err != nil {
		e := *lcm.AsError(err)
		e.Code = lcm.CodeUnavailable
		return &e
	}
	return frame.WriteJSON(w, http.StatusOK, map[string]string{"status": "ready"})
}
