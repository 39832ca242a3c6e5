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
	"github.com/gybe-nfv/gybe/pkg/sol/version"
)

// Prefix of the interface's paths.
const Prefix = "/vnflcm/v2"

// The API versions of SOL003 v3.7.1 and v3.3.1. One model serves both: all that the later one adds is optional. The
// error about a Version header names the last one, which deployed clients use.
const (
	laterVersion = "2.3.0"
	firstVersion = "2.0.0"
)

// API serves the interface.
type API struct {
	Services      *admission.Services
	Subscriptions *notify.Services

	known sync.Map // offers by package id

	url func(path string) string // public

	instances, operations, snapshots frame.Collection
	extended                         frame.Collection // instances in our own interface

	linksLock sync.RWMutex
	links     map[linksKey]frame.LinkTemplate // of instances
	taskLinks map[string]frame.LinkTemplate   // of operations, by their events
}

// Mount adds the interface to a frame.
func (a *API) Mount(f *frame.Frame) {
	a.instances, a.operations = frame.NewCollection(f.URL(instancesPath)), frame.NewCollection(f.URL(operationsPath))
	a.url = f.URL
	a.snapshots = frame.NewCollection(f.URL(snapshotsPath))
	a.extended = frame.NewCollection(f.URL("/gybe/v1/vnf_instances"))
	a.links, a.taskLinks = map[linksKey]frame.LinkTemplate{}, map[string]frame.LinkTemplate{}
	versions := []version.Version{version.MustParse(laterVersion), version.MustParse(firstVersion)}
	apiVersions := frame.Route{
		Method: http.MethodGet, Path: "/api_versions", Produces: frame.JSON, AnyVersion: true,
		Handle: frame.Versions("/vnflcm", firstVersion, laterVersion),
	}
	f.Mount(frame.API{Prefix: "/vnflcm", Versions: versions, Routes: []frame.Route{apiVersions}})
	f.Mount(frame.API{
		Prefix: Prefix, Versions: versions, Document: frame.Served(openapi.VnfLcmV2),
		Routes: slices.Concat(a.tasks(), a.snapshotRoutes(), a.subscriptions().Routes(), []frame.Route{
			apiVersions,
			{
				Method: http.MethodGet, Path: "/vnf_instances", Handle: a.listInstances, Produces: frame.JSON,
				Query: frame.ListParams,
			},
			{
				Method: http.MethodPost, Path: "/vnf_instances", Handle: a.create, Consumes: frame.JSON,
				Produces: frame.JSON, Replay: a.replayCreate,
			},
			{Method: http.MethodGet, Path: "/vnf_instances/{vnfInstanceId}", Handle: a.get, Produces: frame.JSON},
			{Method: http.MethodDelete, Path: "/vnf_instances/{vnfInstanceId}", Handle: a.delete},
			{
				Method: http.MethodGet, Path: "/vnf_lcm_op_occs", Handle: a.listOperations, Produces: frame.JSON,
				Query: frame.ListParams,
			},
			{
				Method: http.MethodGet, Path: "/vnf_lcm_op_occs/{vnfLcmOpOccId}", Handle: a.operation,
				Produces: frame.JSON,
			},
			{
				Method: http.MethodPost, Path: "/vnf_lcm_op_occs/{vnfLcmOpOccId}/retry",
				Handle: a.steer(lcm.EventRetry), Replay: replaySteer,
			},
			{
				Method: http.MethodPost, Path: "/vnf_lcm_op_occs/{vnfLcmOpOccId}/rollback",
				Handle: a.steer(lcm.EventRollback), Replay: replaySteer,
			},
			{
				Method: http.MethodPost, Path: "/vnf_lcm_op_occs/{vnfLcmOpOccId}/fail", Handle: a.fail,
				Produces: frame.JSON, Replay: a.replayFail,
			},
			{
				Method: http.MethodPost, Path: "/vnf_lcm_op_occs/{vnfLcmOpOccId}/cancel", Handle: a.cancel,
				Consumes: frame.JSON, Replay: replaySteer,
			},
		}),
	})
}
