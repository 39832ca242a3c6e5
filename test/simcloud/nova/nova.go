// Package nova is the simulated compute service (v2.1): servers that boot machines of the fleet, a scheduler over
// compute hosts and zones, server groups, flavors, volume and interface attachment, quotas.
//
// Exported methods other than New and Register need the world's lock.
package nova

import (
	"net/http"
	"slices"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/cinder"
	"github.com/gybe-nfv/gybe/test/simcloud/glance"
	"github.com/gybe-nfv/gybe/test/simcloud/neutron"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

const serverType = "OS::Nova::Server"

// Host is a compute host.
type Host struct {
	Name string `json:"name"`
	Zone string `json:"zone"`
	// VCPUs and MemoryMB are what flavors may take together; zero is without limit.
	VCPUs    int `json:"vcpus,omitempty"`
	MemoryMB int `json:"memory_mb,omitempty"`
	// Disabled hosts get no new servers.
	Disabled bool `json:"disabled,omitempty"`
}

// Flavor is a flavor.
type Flavor struct {
	ID, Name         string
	VCPUs, RAM, Disk int
}

// Server is a server.
type Server struct {
	ID, Name, Project, UserID string
	Status, VMState           string
	// TaskState is empty when nothing goes on.
	TaskState        string
	PowerState       int
	Flavor           *Flavor
	ImageID          string
	Host, Zone       string
	Ports            []PortRef
	Volumes          []VolumeRef
	reserved         []string // volumes that a build has still to attach
	Metadata         map[string]string
	Tags             []string
	UserData         string
	Description      string
	Hostname         string
	Groups           []string // security group names
	GroupID          string
	Fault            *Fault
	Created, Updated time.Time
	Launched         time.Time
	// Settled is closed when the build has ended, well or not; Gone when the server has been deleted.
	Settled, Gone chan struct{}

	requestedZone string
	requestedHost string
	failWith      string
	deleting      bool
	guest         guest
}

// PortRef is a port of a server; an owned one was made by Nova and goes with the server.
type PortRef struct {
	ID    string
	Owned bool
}

// VolumeRef is an attached volume.
type VolumeRef struct {
	ID, Device          string
	DeleteOnTermination bool
}

// Fault says why a server is in ERROR.
type Fault struct {
	Code    int
	Message string
	At      time.Time
}

// Service is the compute service of one cloud.
type Service struct {
	world   *sim.World
	network *neutron.Service
	images  *glance.Service
	volumes *cinder.Service

	Servers sim.Table[Server]
	Groups  sim.Table[Group]
	Flavors sim.Table[Flavor]
	Hosts   []*Host
	// deleted are the last servers that have gone, for lists of changes.
	deleted sim.Table[Server]

	Quotas *rest.Quotas
}

// adminUser is the login of every image, and its password.
const adminUser = "ubuntu"

// New returns a service without flavors and hosts.
func New(w *sim.World, n *neutron.Service, i *glance.Service, v *cinder.Service) *Service {
	s := &Service{world: w, network: n, images: i, volumes: v, Quotas: rest.NewQuotas(unknownQuota, quotaNames...)}
	n.OnPortChange = s.portChanged
	return s
}

// Reset forgets everything; the caller has stopped background work and deletes the machines itself.
func (s *Service) Reset() {
	s.Servers.Clear()
	s.deleted.Clear()
	s.Groups.Clear()
	s.Flavors.Clear()
	s.Hosts = nil
	s.Quotas.Reset()
}

// Booted returns the ids of the servers whose machines the fleet has. The lock must not be held.
func (s *Service) Booted() []string {
	s.world.Lock()
	all := s.Servers.All()
	s.world.Unlock()
	var ids []string
	for _, srv := range all {
		if srv.guest.isUp() {
			ids = append(ids, srv.ID)
		}
	}
	return ids
}

func badRequest(format string, args ...any) *rest.Error {
	return rest.Errorf(http.StatusBadRequest, "badRequest", format, args...)
}

func conflict(format string, args ...any) *rest.Error {
	return rest.Errorf(http.StatusConflict, "conflictingRequest", format, args...)
}

func forbidden(format string, args ...any) *rest.Error {
	return rest.Errorf(http.StatusForbidden, "forbidden", format, args...)
}

func notFound(format string, args ...any) *rest.Error {
	return rest.Errorf(http.StatusNotFound, "itemNotFound", format, args...)
}

// Server finds a server of the caller's project.
func (s *Service) Server(c rest.Caller, id string) (*Server, error) {
	srv := s.Servers.Get(id)
	if srv == nil || !c.Admin && srv.Project != c.ProjectID {
		return nil, notFound("Instance %s could not be found.", id)
	}
	return srv, nil
}

// FindFlavor resolves a name or id of a flavor.
func (s *Service) FindFlavor(nameOrID string) (*Flavor, error) {
	if f := s.Flavors.Get(nameOrID); f != nil {
		return f, nil
	}
	for _, f := range s.Flavors.All() {
		if f.Name == nameOrID {
			return f, nil
		}
	}
	return nil, notFound("No Flavor matching {'name': '%s'}. (HTTP 404)", nameOrID)
}

// Zones returns the names of the availability zones.
func (s *Service) Zones() []string {
	var out []string
	for _, h := range s.Hosts {
		if !slices.Contains(out, h.Zone) {
			out = append(out, h.Zone)
		}
	}
	return out
}

func (s *Service) touch(srv *Server) { srv.Updated = s.world.Now() }
