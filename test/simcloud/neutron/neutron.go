// Package neutron is the simulated network service (v2.0): networks, subnets with address allocation, ports, floating
// IPs, routers, security groups, quotas and tags.
//
// Exported methods other than New and Register need the world's lock.
package neutron

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// base is what every object of the service has.
type base struct {
	ID, Name, Description string
	Project               string
	Tags                  []string
	Created, Updated      time.Time
	Revision              int
}

// Network is a network.
type Network struct {
	base
	Shared, External, AdminUp, PortSecurity bool
	MTU                                     int
}

// Port is a port.
type Port struct {
	base
	NetworkID           string
	MAC                 string
	Status              string
	AdminUp             bool
	PortSecurity        bool
	FixedIPs            []FixedIP
	IPLess              bool // created to have no address
	AllowedAddressPairs []AddressPair
	SecurityGroups      []string
	DeviceID            string
	DeviceOwner         string
	HostID              string
	VNICType            string
}

// FixedIP is one address of a port.
type FixedIP struct {
	SubnetID string     `json:"subnet_id"`
	IP       netip.Addr `json:"ip_address"`
}

// AddressPair is one address (or prefix) that a port may use besides its own.
type AddressPair struct {
	IP  string `json:"ip_address"`
	MAC string `json:"mac_address,omitempty"`
}

// FloatingIP is a public address, associated with a port or not.
type FloatingIP struct {
	base
	NetworkID string
	IP        netip.Addr
	PortID    string
	FixedIP   netip.Addr
	RouterID  string
	Status    string
	ownPort   string
}

// Router joins subnets, and through its gateway lets floating IPs reach them.
type Router struct {
	base
	AdminUp bool
	Gateway string
	gwPort  string
}

// Service is the network service of one cloud.
type Service struct {
	world *sim.World

	Networks    sim.Table[Network]
	Subnets     sim.Table[Subnet]
	Ports       sim.Table[Port]
	FloatingIPs sim.Table[FloatingIP]
	Routers     sim.Table[Router]
	Groups      sim.Table[SecurityGroup]
	Quotas      *rest.Quotas

	// OnPortChange is called (with the lock held) whenever the addresses of a port may have changed: its own, its
	// pairs, or a floating IP of it. gone is the port as it was when it has just been deleted.
	OnPortChange func(p *Port, gone bool)
}

// New returns an empty service.
func New(w *sim.World) *Service {
	unknown := func(name string) error {
		return badRequest("InvalidInput", "Invalid input for operation: unknown quota '%s'.", name)
	}
	return &Service{world: w, OnPortChange: func(*Port, bool) {}, Quotas: rest.NewQuotas(unknown,
		"network", "subnet", "subnetpool", "port", "router", "floatingip", "rbac_policy", "security_group",
		"security_group_rule",
	)}
}

// Reset forgets everything.
func (s *Service) Reset() {
	s.Networks.Clear()
	s.Subnets.Clear()
	s.Ports.Clear()
	s.FloatingIPs.Clear()
	s.Routers.Clear()
	s.Groups.Clear()
	s.Quotas.Reset()
}

func (s *Service) newBase(project, name string) base {
	now := s.world.Now()
	return base{ID: sim.NewID(), Name: name, Project: project, Created: now, Updated: now, Revision: 1}
}

func (s *Service) touch(b *base) {
	b.Updated = s.world.Now()
	b.Revision++
}

func (b *base) common() *base { return b }

func (b *base) view() rest.Obj {
	const form = "2006-01-02T15:04:05Z"
	return rest.Obj{
		"id": b.ID, "name": b.Name, "description": b.Description, "project_id": b.Project, "tenant_id": b.Project,
		"tags": rest.Strings(b.Tags), "revision_number": b.Revision,
		"created_at": b.Created.Format(form), "updated_at": b.Updated.Format(form),
	}
}

// own finds a row of the caller's project. kind and format are those of the error when it does not exist.
func own[T any, P object[T]](rows *sim.Table[T], c rest.Caller, id, kind, format string) (*T, error) {
	v := rows.Get(id)
	if v == nil || !c.Admin && P(v).common().Project != c.ProjectID {
		return nil, notFound(kind, format, id)
	}
	return v, nil
}

func notFound(kind, format string, args ...any) *rest.Error {
	return rest.Errorf(http.StatusNotFound, kind, format, args...)
}

func badRequest(kind, format string, args ...any) *rest.Error {
	return rest.Errorf(http.StatusBadRequest, kind, format, args...)
}

func conflict(kind, format string, args ...any) *rest.Error {
	return rest.Errorf(http.StatusConflict, kind, format, args...)
}

// Usage counts the objects of a project by the names quotas use.
func (s *Service) Usage(project string) map[string]int {
	use := map[string]int{
		"network": count(&s.Networks, project), "subnet": count(&s.Subnets, project),
		"port": count(&s.Ports, project), "floatingip": count(&s.FloatingIPs, project),
		"router": count(&s.Routers, project), "security_group": count(&s.Groups, project),
	}
	for _, g := range s.Groups.All() {
		if g.Project == project {
			use["security_group_rule"] += len(g.Rules)
		}
	}
	return use
}

func count[T any, P object[T]](rows *sim.Table[T], project string) int {
	return len(rows.Filter(func(v *T) bool { return P(v).common().Project == project }))
}

// room refuses one more object of a kind when the project's quota is used up.
func (s *Service) room(project, what string) error {
	if limit := s.Quotas.Limit(project, what); limit >= 0 && s.Usage(project)[what]+1 > limit {
		return conflict("OverQuota", "Quota exceeded for resources: ['%s'].", what)
	}
	return nil
}
