package nova

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/neutron"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// Spec is the body of a server create.
type Spec struct {
	Name           string            `json:"name"`
	ImageRef       string            `json:"imageRef"`
	FlavorRef      string            `json:"flavorRef"`
	Networks       json.RawMessage   `json:"networks"`
	Zone           string            `json:"availability_zone"`
	UserData       string            `json:"user_data"`
	KeyName        string            `json:"key_name"`
	Metadata       map[string]string `json:"metadata"`
	Tags           []string          `json:"tags"`
	Description    string            `json:"description"`
	SecurityGroups []GroupRef        `json:"security_groups"`
	BlockDevices   []BlockDevice     `json:"block_device_mapping_v2"`

	// Group is the server group of the scheduler hints.
	Group string `json:"-"`
	// FailWith makes the build end in ERROR with this message.
	FailWith string `json:"-"`
}

// GroupRef names a security group.
type GroupRef struct {
	Name string `json:"name"`
}

// NetworkRef asks for a port: an existing one, or a new one on a network.
type NetworkRef struct {
	UUID    string `json:"uuid,omitempty"`
	Port    string `json:"port,omitempty"`
	FixedIP string `json:"fixed_ip,omitempty"`
}

// BlockDevice is one entry of block_device_mapping_v2.
type BlockDevice struct {
	UUID                string `json:"uuid"`
	SourceType          string `json:"source_type"`
	DestinationType     string `json:"destination_type"`
	BootIndex           any    `json:"boot_index"`
	VolumeSize          int    `json:"volume_size"`
	DeviceName          string `json:"device_name"`
	DeleteOnTermination bool   `json:"delete_on_termination"`
}

// Create checks the request and starts the build.
func (s *Service) Create(c rest.Caller, spec Spec) (*Server, error) {
	if spec.Name == "" || len(spec.Name) > 255 {
		const format = "Invalid input for field/attribute name. Value: %s. '%s' is too short"
		return nil, badRequest(format, spec.Name, spec.Name)
	}
	now := s.world.Now()
	srv := &Server{
		ID: sim.NewID(), Name: spec.Name, Project: c.ProjectID, UserID: c.UserID, Status: "BUILD", VMState: "building",
		TaskState: "scheduling", Metadata: maps.Clone(spec.Metadata), Tags: slices.Clone(spec.Tags),
		UserData: spec.UserData, Description: spec.Description, Hostname: hostname(spec.Name),
		Created: now, Updated: now, Settled: make(chan struct{}), Gone: make(chan struct{}), failWith: spec.FailWith,
	}
	if err := s.check(c, srv, spec); err != nil {
		return nil, err
	}
	want := map[string]int{"instances": 1, "cores": srv.Flavor.VCPUs, "ram": srv.Flavor.RAM}
	if err := s.room(c.ProjectID, want); err != nil {
		return nil, err
	}
	refs, err := s.networks(c, spec.Networks)
	if err != nil {
		return nil, err
	}
	disks, err := s.disks(c, spec)
	if err != nil {
		return nil, err
	}
	for _, d := range disks {
		if d.SourceType == "volume" {
			s.volumes.Reserve(d.UUID)
			srv.reserved = append(srv.reserved, d.UUID)
		}
	}
	s.Servers.Add(srv.ID, srv)
	s.world.Go(func(ctx context.Context) { s.build(ctx, c, srv, refs, disks) })
	return srv, nil
}

func (s *Service) check(c rest.Caller, srv *Server, spec Spec) error {
	f, err := s.FindFlavor(spec.FlavorRef)
	if err != nil {
		return badRequest("Flavor %s could not be found.", spec.FlavorRef)
	}
	srv.Flavor = f
	if spec.ImageRef != "" {
		img, err := s.images.Image(c, spec.ImageRef)
		if err != nil {
			return badRequest("Can not find requested image")
		}
		if img.Status != "active" {
			return badRequest("Image %s is not active.", img.ID)
		}
		if img.MinRAM > f.RAM {
			return badRequest("Flavor's memory is too small for requested image.")
		}
		if img.MinDisk > f.Disk && f.Disk > 0 {
			const format = "Flavor's disk is smaller than the minimum size specified in image metadata. " +
				"Flavor disk is %d bytes, minimum size is %d bytes."
			return badRequest(format, int64(f.Disk)<<30, int64(img.MinDisk)<<30)
		}
		srv.ImageID = img.ID
	} else if len(spec.BlockDevices) == 0 {
		return badRequest("Invalid imageRef provided.")
	}
	if spec.KeyName != "" { // users do not have key pairs
		return badRequest("Invalid key_name provided.")
	}
	if _, err := base64.StdEncoding.DecodeString(spec.UserData); err != nil {
		const format = "Invalid input for field/attribute user_data. Value: %.20s. '%.20s' is not a 'base64'"
		return badRequest(format, spec.UserData, spec.UserData)
	}
	if len(spec.UserData) > 65535 {
		return badRequest("Invalid input for field/attribute user_data. It is too long")
	}
	zone, host, _ := strings.Cut(spec.Zone, ":")
	if zone != "" && !slices.Contains(s.Zones(), zone) {
		return badRequest("The requested availability zone is not available")
	}
	srv.requestedZone, srv.requestedHost = zone, host
	if spec.Group != "" {
		if _, err := s.Group(c, spec.Group); err != nil {
			return badRequest("The server group %s could not be found.", spec.Group)
		}
		srv.GroupID = spec.Group
	}
	for _, g := range spec.SecurityGroups {
		if _, err := s.network.FindGroup(c, g.Name); err != nil {
			return badRequest("Security group %s not found.", g.Name)
		}
		srv.Groups = append(srv.Groups, g.Name)
	}
	if len(srv.Groups) == 0 {
		srv.Groups = []string{"default"}
	}
	return nil
}

// networks resolves what the request says about networks: a list, "auto", "none" or nothing.
func (s *Service) networks(c rest.Caller, raw json.RawMessage) ([]NetworkRef, error) {
	if string(raw) == `"none"` {
		return nil, nil
	}
	var refs []NetworkRef
	if len(raw) > 0 && string(raw) != `"auto"` && string(raw) != "null" {
		if err := json.Unmarshal(raw, &refs); err != nil {
			return nil, badRequest("Invalid input for field/attribute networks.")
		}
	}
	if len(refs) == 0 {
		free := s.network.Networks.Filter(func(n *neutron.Network) bool {
			return !n.External && (n.Project == c.ProjectID || n.Shared)
		})
		switch {
		case len(free) > 1:
			return nil, conflict("Multiple possible networks found, use a Network ID to be more specific.")
		case len(free) == 1:
			refs = []NetworkRef{{UUID: free[0].ID}}
		}
	}
	for _, r := range refs {
		if r.Port != "" {
			p, err := s.network.Port(c, r.Port)
			if err != nil {
				return nil, badRequest("Port id %s could not be found.", r.Port)
			}
			if p.DeviceID != "" {
				return nil, conflict("Port %s is still in use.", p.ID)
			}
			if len(p.FixedIPs) == 0 && !p.IPLess {
				return nil, badRequest("Port %s requires a FixedIP in order to be used.", p.ID)
			}
			continue
		}
		if _, err := s.network.Network(c, r.UUID); err != nil {
			return nil, badRequest("Network %s could not be found.", r.UUID)
		}
	}
	return refs, nil
}

// disks checks the volumes to attach and returns them.
func (s *Service) disks(c rest.Caller, spec Spec) ([]BlockDevice, error) {
	var out []BlockDevice
	for _, d := range spec.BlockDevices {
		switch d.SourceType {
		case "volume":
			v, err := s.volumes.Volume(c, d.UUID)
			if err != nil {
				return nil, badRequest("Block Device Mapping is Invalid: failed to get volume %s.", d.UUID)
			}
			if v.Status != "available" {
				const format = "Invalid volume: Invalid input received: Invalid volume: Volume %s status must be " +
					"available or downloading to reserve, but the current status is %s. " +
					"(HTTP 400) (Request-ID: req-%s)"
				return nil, badRequest(format, v.ID, v.Status, sim.NewID())
			}
			out = append(out, d)
		case "image", "blank":
			if d.DestinationType == "volume" && d.VolumeSize == 0 {
				return nil, badRequest("Block Device Mapping is Invalid: Images with destination_type 'volume' need " +
					"to have a non-zero size specified")
			}
			out = append(out, d)
		default:
			return nil, badRequest("Block Device Mapping is Invalid.")
		}
	}
	return out, nil
}

// build takes a server from BUILD to ACTIVE or ERROR.
func (s *Service) build(ctx context.Context, c rest.Caller, srv *Server, refs []NetworkRef, disks []BlockDevice) {
	defer close(srv.Settled)
	err := s.place(c, srv, refs, disks)
	if err == nil {
		if cause := s.world.Take(ctx, "create", serverType); cause != nil {
			return
		}
		if srv.failWith != "" {
			err = errors.New(srv.failWith)
		} else {
			err = s.boot(ctx, srv)
		}
	}
	s.world.Lock()
	defer s.world.Unlock()
	if srv.deleting {
		return
	}
	s.touch(srv)
	srv.TaskState = ""
	if err != nil {
		s.fail(srv, err)
		return
	}
	srv.activate()
	srv.Launched = s.world.Now()
	for _, r := range srv.Ports {
		if p := s.network.Ports.Get(r.ID); p != nil {
			p.Status = "ACTIVE"
		}
	}
}

func (srv *Server) activate() { srv.Status, srv.VMState, srv.PowerState = "ACTIVE", "active", 1 }

// fail sets a server to ERROR.
func (s *Service) fail(srv *Server, err error) {
	srv.Status, srv.VMState = "ERROR", "error"
	srv.Fault = &Fault{Code: http.StatusInternalServerError, Message: err.Error(), At: s.world.Now()}
}

// place schedules the server and gives it ports and volumes.
func (s *Service) place(c rest.Caller, srv *Server, refs []NetworkRef, disks []BlockDevice) error {
	s.world.Lock()
	defer s.world.Unlock()
	if srv.deleting {
		return nil
	}
	h, fits := s.schedule(srv, srv)
	if h == nil {
		reason := ""
		if fits {
			reason = "There are not enough hosts available."
		}
		return fmt.Errorf("No valid host was found. %s", reason) //nolint:staticcheck // the real service's text
	}
	srv.Host, srv.Zone, srv.TaskState = h.Name, h.Zone, "spawning"
	if err := s.equip(c, srv, refs, disks); err != nil {
		return fmt.Errorf("Build of instance %s aborted: %w", srv.ID, err) //nolint:staticcheck // the real service's text
	}
	return nil
}

// equip gives a server its ports and volumes.
func (s *Service) equip(c rest.Caller, srv *Server, refs []NetworkRef, disks []BlockDevice) error {
	for _, r := range refs {
		if err := s.plug(c, srv, r); err != nil {
			return err
		}
	}
	for _, d := range disks {
		if err := s.attachAtBoot(c, srv, d); err != nil {
			return err
		}
	}
	return nil
}

// plug binds or makes one port.
func (s *Service) plug(c rest.Caller, srv *Server, r NetworkRef) error {
	if r.Port != "" {
		p, err := s.network.Port(c, r.Port)
		if err != nil {
			return err
		}
		if p.DeviceID != "" && p.DeviceID != srv.ID {
			return conflict("Port %s is still in use.", p.ID)
		}
		s.network.BindPort(p, srv.ID, "compute:"+srv.Zone, srv.Host, srv.Status == "ACTIVE")
		srv.Ports = append(srv.Ports, PortRef{ID: p.ID})
		return nil
	}
	spec := neutron.PortSpec{NetworkID: r.UUID}
	if r.FixedIP != "" {
		spec.FixedIPs = &[]neutron.IPSpec{{IP: r.FixedIP}}
	}
	groups := []string{}
	for _, name := range srv.Groups {
		if g, err := s.network.FindGroup(c, name); err == nil {
			groups = append(groups, g.ID)
		}
	}
	spec.SecurityGroups = &groups
	p, err := s.network.CreatePort(c, spec)
	if err != nil {
		return err
	}
	s.network.BindPort(p, srv.ID, "compute:"+srv.Zone, srv.Host, srv.Status == "ACTIVE")
	srv.Ports = append(srv.Ports, PortRef{ID: p.ID, Owned: true})
	return nil
}

// hostname is the guest's name: lower case, and only letters, digits, dots and dashes.
func hostname(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.':
			b.WriteRune(r)
		case r == ' ', r == '_':
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String()[:min(b.Len(), 63)], "-.")
}
