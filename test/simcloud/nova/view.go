package nova

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

const (
	timeForm   = "2006-01-02T15:04:05Z"
	maxMinor   = 93
	headerOld  = "X-OpenStack-Nova-API-Version"
	headerNew  = "OpenStack-API-Version"
	usageForm  = "2006-01-02T15:04:05.000000"
	adminMinor = 3
)

// minor is the microversion the request asks for: 2.<minor>, 1 without one.
func minor(r *http.Request) int {
	v := askedVersion(r)
	if v == "latest" {
		return maxMinor
	}
	_, m, _ := strings.Cut(v, ".")
	n, err := strconv.Atoi(m)
	if err != nil {
		return 1
	}
	return n
}

// askedVersion is the microversion of a request as it is written there, empty without one.
func askedVersion(r *http.Request) string {
	if v, ok := strings.CutPrefix(r.Header.Get(headerNew), "compute "); ok {
		return v
	}
	return r.Header.Get(headerOld)
}

// checkVersion refuses a microversion that the service does not have.
func checkVersion(r *http.Request) error {
	v := askedVersion(r)
	if m := minor(r); v == "" || v == "latest" || strings.HasPrefix(v, "2.") && m >= 1 && m <= maxMinor {
		return nil
	}
	return rest.Errorf(http.StatusNotAcceptable, "computeFault",
		"Version %s is not supported by the API. Minimum is 2.1 and maximum is 2.%d.", v, maxMinor)
}

func writeVersion(w http.ResponseWriter, r *http.Request) {
	v := "2." + strconv.Itoa(min(minor(r), maxMinor))
	w.Header().Set(headerOld, v)
	w.Header().Set(headerNew, "compute "+v)
	w.Header().Set("Vary", headerNew+", "+headerOld)
}

func (s *Service) links(kind, id string) []rest.Obj {
	return []rest.Obj{
		{"rel": "self", "href": s.world.BaseURL + "/compute/v2.1/" + kind + "/" + id},
		{"rel": "bookmark", "href": s.world.BaseURL + "/compute/" + kind + "/" + id},
	}
}

// Addresses is the "addresses" member of a server: by network name, with type, MAC address and version.
func (s *Service) Addresses(srv *Server) rest.Obj {
	out := rest.Obj{}
	for _, ref := range srv.Ports {
		p := s.network.Ports.Get(ref.ID)
		if p == nil {
			continue
		}
		n := s.network.Networks.Get(p.NetworkID)
		if n == nil {
			continue
		}
		list, _ := out[n.Name].([]rest.Obj)
		entry := func(addr, kind string, v6 bool) rest.Obj {
			version := 4
			if v6 {
				version = 6
			}
			return rest.Obj{"addr": addr, "version": version, "OS-EXT-IPS:type": kind, "OS-EXT-IPS-MAC:mac_addr": p.MAC}
		}
		for _, f := range p.FixedIPs {
			list = append(list, entry(f.IP.String(), "fixed", f.IP.Is6()))
			for _, fip := range s.network.FloatingIPsOf(p.ID) {
				if fip.FixedIP == f.IP {
					list = append(list, entry(fip.IP.String(), "floating", fip.IP.Is6()))
				}
			}
		}
		if list != nil {
			out[n.Name] = list
		}
	}
	return out
}

// View is the JSON of a server at a microversion; the attributes of the extended kind are for administrators.
func (s *Service) View(srv *Server, c rest.Caller, minor int) rest.Obj {
	hostID := ""
	if srv.Host != "" {
		sum := sha256.Sum224([]byte(srv.Project + srv.Host))
		hostID = hex.EncodeToString(sum[:])
	}
	volumes := []rest.Obj{}
	for _, v := range srv.Volumes {
		e := rest.Obj{"id": v.ID}
		if minor >= 3 {
			e["delete_on_termination"] = v.DeleteOnTermination
		}
		volumes = append(volumes, e)
	}
	groups := []rest.Obj{}
	for _, g := range srv.Groups {
		groups = append(groups, rest.Obj{"name": g})
	}
	v := rest.Obj{
		"id": srv.ID, "name": srv.Name, "status": srv.Status, "tenant_id": srv.Project, "user_id": srv.UserID,
		"metadata": rest.Map(srv.Metadata), "hostId": hostID, "created": srv.Created.Format(timeForm),
		"updated": srv.Updated.Format(timeForm), "addresses": s.Addresses(srv), "accessIPv4": "", "accessIPv6": "",
		"links": s.links("servers", srv.ID), "OS-DCF:diskConfig": "MANUAL", "OS-EXT-AZ:availability_zone": srv.Zone,
		"config_drive": "", "key_name": nil, "OS-SRV-USG:launched_at": timeOrNil(srv.Launched),
		"OS-SRV-USG:terminated_at": nil, "security_groups": groups, "OS-EXT-STS:task_state": rest.OrNil(srv.TaskState),
		"OS-EXT-STS:vm_state": srv.VMState, "OS-EXT-STS:power_state": srv.PowerState,
		"os-extended-volumes:volumes_attached": volumes, "image": "",
	}
	if srv.ImageID != "" {
		v["image"] = rest.Obj{"id": srv.ImageID, "links": s.links("images", srv.ImageID)[1:]}
	}
	if minor >= 47 {
		f := srv.Flavor
		v["flavor"] = rest.Obj{
			"original_name": f.Name, "vcpus": f.VCPUs, "ram": f.RAM, "disk": f.Disk, "ephemeral": 0,
			"swap": 0, "extra_specs": rest.Obj{},
		}
	} else {
		v["flavor"] = rest.Obj{"id": srv.Flavor.ID, "links": s.links("flavors", srv.Flavor.ID)[1:]}
	}
	if srv.Status == "ACTIVE" || srv.Status == "BUILD" {
		v["progress"] = 0
	}
	if srv.Fault != nil && srv.Status == "ERROR" {
		f := rest.Obj{"code": srv.Fault.Code, "message": srv.Fault.Message, "created": srv.Fault.At.Format(timeForm)}
		if c.Admin {
			f["details"] = "Traceback (most recent call last):\n  (simulated)\n" + srv.Fault.Message
		}
		v["fault"] = f
	}
	if c.Admin {
		s.adminView(v, srv, minor)
	}
	since := func(first int, name string, value any) {
		if minor >= first {
			v[name] = value
		}
	}
	inGroups := []string{}
	if srv.GroupID != "" {
		inGroups = []string{srv.GroupID}
	}
	since(9, "locked", false)
	since(19, "description", rest.OrNil(srv.Description))
	since(26, "tags", rest.Strings(srv.Tags))
	since(63, "trusted_image_certificates", nil)
	since(71, "server_groups", inGroups)
	since(73, "locked_reason", nil)
	since(90, "OS-EXT-SRV-ATTR:hostname", srv.Hostname)
	return v
}

func (s *Service) adminView(v rest.Obj, srv *Server, minor int) {
	v["OS-EXT-SRV-ATTR:host"], v["OS-EXT-SRV-ATTR:hypervisor_hostname"] = rest.OrNil(srv.Host), rest.OrNil(srv.Host)
	v["OS-EXT-SRV-ATTR:instance_name"] = "instance-" + srv.ID[:8]
	if minor >= 16 {
		v["host_status"] = "UP"
	}
	if minor >= adminMinor {
		v["OS-EXT-SRV-ATTR:hostname"], v["OS-EXT-SRV-ATTR:reservation_id"] = srv.Hostname, "r-"+srv.ID[:8]
		v["OS-EXT-SRV-ATTR:launch_index"], v["OS-EXT-SRV-ATTR:kernel_id"], v["OS-EXT-SRV-ATTR:ramdisk_id"] = 0, "", ""
		v["OS-EXT-SRV-ATTR:root_device_name"], v["OS-EXT-SRV-ATTR:user_data"] = "/dev/vda", rest.OrNil(srv.UserData)
	}
}

func timeOrNil(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Format(usageForm)
}

func (s *Service) flavorView(f *Flavor, minor int) rest.Obj {
	v := rest.Obj{
		"id": f.ID, "name": f.Name, "vcpus": f.VCPUs, "ram": f.RAM, "disk": f.Disk, "swap": "", "rxtx_factor": 1.0,
		"OS-FLV-EXT-DATA:ephemeral": 0, "OS-FLV-DISABLED:disabled": false, "os-flavor-access:is_public": true,
		"links": s.links("flavors", f.ID),
	}
	if minor >= 55 {
		v["description"] = nil
	}
	if minor >= 61 {
		v["extra_specs"] = rest.Obj{}
	}
	if minor >= 75 {
		v["swap"] = 0
	}
	return v
}

func (s *Service) groupView(g *Group, minor int) rest.Obj {
	members := []string{}
	for _, m := range s.Members(g.ID) {
		members = append(members, m.ID)
	}
	v := rest.Obj{"id": g.ID, "name": g.Name, "members": members}
	if minor >= 13 {
		v["project_id"], v["user_id"] = g.Project, g.UserID
	}
	if minor >= 64 {
		rules := rest.Obj{}
		if g.MaxPerHost > 0 {
			rules["max_server_per_host"] = g.MaxPerHost
		}
		v["policy"], v["rules"] = g.Policy, rules
	} else {
		v["policies"], v["metadata"] = []string{g.Policy}, rest.Obj{}
	}
	return v
}
