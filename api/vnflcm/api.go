package vnflcm

import (
	"net/http"
	"slices"
	"sync"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/openapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/admission"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/sol/selector"
	"github.com/gybe-nfv/gybe/pkg/sol/version"
)

const (
	root = "/vnflcm"
	// Prefix of the paths of version 2.
	Prefix = root + "/v2"
	// PrefixV1 is that of version 1.
	PrefixV1 = root + "/v1"
)

// The API versions of SOL003 v3.7.1, v3.3.1 and, for version 1, the one that deployed clients send. One model serves
// 2.3.0 and 2.0.0: all that the later one adds is optional. The error about a Version header names the default one.
const (
	laterVersion = "2.3.0"
	firstVersion = "2.0.0"
	oldVersion   = "1.3.0"
)

// pageSizeV1 bounds the pages of version 1, as in OpenStack Tacker.
const pageSizeV1 = 100

// API serves the interface.
type API struct {
	Services      *admission.Services
	Subscriptions *notify.Services

	known sync.Map // offers by package id
}

// edition serves one major version of the interface.
type edition struct {
	*API

	prefix string
	form   form
	url    func(path string) string // public

	// instances are the URLs of instances in links of instances, and parents those in links of operations.
	instances, parents, operations, snapshots frame.Collection
	extended                                  frame.Collection // instances in our own interface

	linksLock sync.RWMutex
	links     map[linksKey]frame.LinkTemplate // of instances
	taskLinks map[string]frame.LinkTemplate   // of operations, by their events
}

// edition makes the edition with a prefix. links makes the URL of a path in links of instances.
func (a *API) edition(prefix string, form form, url, links func(path string) string) *edition {
	return &edition{
		API: a, prefix: prefix, form: form, url: url,
		instances:  frame.NewCollection(links(prefix + instancesPart)),
		extended:   frame.NewCollection(links("/gybe/v1/vnf_instances")),
		parents:    frame.NewCollection(url(prefix + instancesPart)),
		operations: frame.NewCollection(url(prefix + operationsPart)),
		snapshots:  frame.NewCollection(url(prefix + snapshotsPart)),
		links:      map[linksKey]frame.LinkTemplate{}, taskLinks: map[string]frame.LinkTemplate{},
	}
}

// Mount adds both versions of the interface to a frame.
func (a *API) Mount(f *frame.Frame) {
	f.Mount(frame.API{
		Prefix: root, Versions: parsed(laterVersion, oldVersion, firstVersion),
		Routes: []frame.Route{apiVersions(oldVersion, firstVersion, laterVersion)},
	})
	v2 := a.edition(Prefix, native{}, f.URL, f.URL)
	f.Mount(frame.API{
		Prefix: Prefix, Versions: parsed(laterVersion, firstVersion), Document: frame.Served(openapi.VnfLcmV2),
		Routes: slices.Concat(
			v2.routes(listInstances(v2, selector.VnfInstances), listOperations(v2, selector.VnfLcmOpOccs)),
			v2.snapshotRoutes(), a.subscriptions().Routes(),
			[]frame.Route{apiVersions(firstVersion, laterVersion)},
		),
	})
	v1 := a.edition(PrefixV1, translated{}, f.URL, relative(f))
	f.Mount(frame.API{
		Prefix: PrefixV1, Versions: parsed(oldVersion), VersionOptional: true, AnyMinor: true, LenientQuery: true,
		PageSize: pageSizeV1, Document: frame.Served(openapi.VnfLcmV1),
		Routes: slices.Concat(
			v1.routes(listInstances(v1, instancesV1), listOperations(v1, operationsV1)),
			a.subscriptionsV1().Routes(), []frame.Route{apiVersions(oldVersion)},
		),
	})
}

func parsed(texts ...string) []version.Version {
	out := make([]version.Version, len(texts))
	for n, text := range texts {
		out[n] = version.MustParse(text)
	}
	return out
}

// apiVersions lists versions (SOL013 clause 9.3).
func apiVersions(versions ...string) frame.Route {
	return frame.Route{
		Method: http.MethodGet, Path: "/api_versions", Produces: frame.JSON, AnyVersion: true,
		Handle: frame.Versions(root, versions...),
	}
}

// routes are those that both versions have, besides subscriptions.
func (a *edition) routes(listInstances, listOperations frame.Handler) []frame.Route {
	const one, operation = "/vnf_instances/{vnfInstanceId}", "/vnf_lcm_op_occs/{vnfLcmOpOccId}"
	return append(a.tasks(),
		frame.Route{
			Method: http.MethodGet, Path: "/vnf_instances", Handle: listInstances, Produces: frame.JSON,
			Query: frame.ListParams,
		},
		frame.Route{
			Method: http.MethodPost, Path: "/vnf_instances", Handle: a.create, Consumes: frame.JSON,
			Produces: frame.JSON, Replay: a.replayCreate,
		},
		frame.Route{Method: http.MethodGet, Path: one, Handle: a.get, Produces: frame.JSON},
		frame.Route{Method: http.MethodDelete, Path: one, Handle: a.delete},
		frame.Route{
			Method: http.MethodGet, Path: "/vnf_lcm_op_occs", Handle: listOperations, Produces: frame.JSON,
			Query: frame.ListParams,
		},
		frame.Route{Method: http.MethodGet, Path: operation, Handle: a.operation, Produces: frame.JSON},
		frame.Route{
			Method: http.MethodPost, Path: operation + "/retry", Handle: a.steer(lcm.EventRetry), Replay: replaySteer,
		},
		frame.Route{
			Method: http.MethodPost, Path: operation + "/rollback", Handle: a.steer(lcm.EventRollback),
			Replay: replaySteer,
		},
		frame.Route{
			Method: http.MethodPost, Path: operation + "/fail", Handle: a.fail, Produces: frame.JSON,
			Replay: a.replayFail,
		},
		frame.Route{
			Method: http.MethodPost, Path: operation + "/cancel", Handle: a.cancel, Consumes: frame.JSON,
			Replay: replaySteer,
		},
	)
}
