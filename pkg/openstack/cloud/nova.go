package cloud

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/availabilityzones"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// novaAPI are the requests to Nova.
type novaAPI struct{ *session }

// Server is a server with what an inventory needs of it.
type Server struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Status    string `json:"status"`
	Zone      string `json:"OS-EXT-AZ:availability_zone"`
	Host      string `json:"OS-EXT-SRV-ATTR:host"` // administrators only
	Addresses map[string][]struct {
		Addr string `json:"addr"`
		MAC  string `json:"OS-EXT-IPS-MAC:mac_addr"`
		Type string `json:"OS-EXT-IPS:type"`
	} `json:"addresses"`
	Flavour struct {
		ID   string `json:"id"`            // before 2.47
		Name string `json:"original_name"` // since 2.47
	} `json:"flavor"`
	Image   ImageRef `json:"image"`
	Volumes []struct {
		ID string `json:"id"`
	} `json:"os-extended-volumes:volumes_attached"`
}

// ImageRef is the image of a server: "" for one that boots from a volume.
type ImageRef struct{ ID string }

// UnmarshalJSON implements json.Unmarshaler.
func (r *ImageRef) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '{' {
		return nil
	}
	var image struct {
		ID string `json:"id"`
	}
	err := json.Unmarshal(b, &image)
	r.ID = image.ID
	return err
}

// FlavourName is the flavour's name, or its id where Nova gives only that.
func (s Server) FlavourName() string { return cmp.Or(s.Flavour.Name, s.Flavour.ID) }

// deleted says that Nova only remembers the server.
func (s Server) deleted() bool { return s.Status == "DELETED" || s.Status == "SOFT_DELETED" }

// State is the state of the server's VNFC: started means that the server runs or is about to.
func (s Server) State() sol.VnfOperationalState {
	switch s.Status {
	case ServerStopped, ServerError, "SUSPENDED", "PAUSED", "SHELVED", "SHELVED_OFFLOADED", "DELETED", "SOFT_DELETED":
		return sol.VnfOperationalStateStopped
	}
	return sol.VnfOperationalStateStarted
}

// States of a server, in Nova's words.
const (
	ServerActive  = "ACTIVE"
	ServerStopped = "SHUTOFF"
	ServerError   = "ERROR"
)

// changedSince is a time for a filter: the clocks of a VIM's services may differ a little.
func changedSince(t time.Time) string {
	return t.Add(-10 * time.Minute).UTC().Format("2006-01-02T15:04:05Z")
}

// ReadServers reads servers by id. Nova has no filter for several ids, so the servers that changed since the stack
// began are listed. A server that is gone is not in the result.
func (c novaAPI) ReadServers(ctx context.Context, ids []string, began time.Time) (map[string]Server, error) {
	found := map[string]Server{}
	if len(ids) > 1 {
		q := url.Values{}
		if !began.IsZero() {
			q.Set("changes-since", changedSince(began))
		}
		list := List{Service: Nova, Path: "/servers/detail", Member: "servers", Query: q, Pages: maxPages}
		err := EachPage(ctx, c, list, func(s Server) (string, bool) {
			if slices.Contains(ids, s.ID) {
				found[s.ID] = s
			}
			return s.ID, len(found) < len(ids)
		})
		if err != nil {
			return nil, err
		}
	}

	err := readMissing(ctx, ids, found, func(ctx context.Context, id string) (s Server, err error) {
		err = c.getServer(ctx, id, &s)
		return s, err
	})
	for id, s := range found {
		if s.deleted() {
			delete(found, id)
		}
	}
	return found, err
}

// getServer reads one server into a struct with the members that are needed.
func (c novaAPI) getServer(ctx context.Context, id string, into any) error {
	return c.typed(ctx, "read server "+id, Nova, func(ctx context.Context, sc *gophercloud.ServiceClient) error {
		return servers.Get(ctx, sc, segment(id)).ExtractInto(into)
	})
}

// ServerState is what Nova says about the state of a server.
type ServerState struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Task   string `json:"OS-EXT-STS:task_state"`
	Host   string `json:"OS-EXT-SRV-ATTR:host"` // administrators only
	Fault  struct {
		Message string `json:"message"`
	} `json:"fault"`
}

// String describes the state to the user.
func (s *ServerState) String() string {
	out := s.ID + " is " + s.Status
	if s.Task != "" {
		out += ", " + s.Task
	}
	if s.Fault.Message != "" && s.Status == ServerError {
		out += ": " + Tidy(s.Fault.Message)
	}
	return out
}

// ReadServer reads the state of a server.
func (c novaAPI) ReadServer(ctx context.Context, id string) (*ServerState, error) {
	s := &ServerState{}
	err := c.getServer(ctx, id, s)
	return s, err
}

// DeleteServer starts the deletion of a server.
func (c novaAPI) DeleteServer(ctx context.Context, id string) error {
	return c.typed(ctx, "delete server "+id, Nova, func(ctx context.Context, sc *gophercloud.ServiceClient) error {
		return servers.Delete(ctx, sc, segment(id)).ExtractErr()
	})
}

// StartServer asks Nova to start a server.
func (c novaAPI) StartServer(ctx context.Context, id string) error {
	return c.typed(ctx, "os-start of server "+id, Nova, func(ctx context.Context, sc *gophercloud.ServiceClient) error {
		return servers.Start(ctx, sc, segment(id)).ExtractErr()
	})
}

// StopServer asks Nova to stop a server.
func (c novaAPI) StopServer(ctx context.Context, id string) error {
	return c.typed(ctx, "os-stop of server "+id, Nova, func(ctx context.Context, sc *gophercloud.ServiceClient) error {
		return servers.Stop(ctx, sc, segment(id)).ExtractErr()
	})
}

// ServersHaveTags says whether servers can be listed by tag.
func (c novaAPI) ServersHaveTags(ctx context.Context) bool {
	return !less(c.microversion(ctx, Nova), microversion{2, 26})
}

// ListZones returns Nova's availability zones; the values say whether they are up.
func (c novaAPI) ListZones(ctx context.Context) (map[string]bool, error) {
	up := map[string]bool{}
	err := c.typed(ctx, "list availability zones", Nova,
		func(ctx context.Context, sc *gophercloud.ServiceClient) error {
			page, err := availabilityzones.List(sc).AllPages(ctx)
			if err != nil {
				return err
			}
			zones, err := availabilityzones.ExtractAvailabilityZones(page)
			for _, z := range zones {
				up[z.ZoneName] = z.ZoneState.Available
			}
			return err
		})
	return up, err
}

// FindKeyPair looks for a key pair of the connection's user. One that is not there is an error.
func (c novaAPI) FindKeyPair(ctx context.Context, name string) error {
	return c.typed(ctx, "look for key pair "+name, Nova,
		func(ctx context.Context, sc *gophercloud.ServiceClient) error {
			return keypairs.Get(ctx, sc, segment(name), nil).Err
		})
}

// Flavour is a flavour with the size of its servers.
type Flavour struct {
	Named
	VCPUs int `json:"vcpus"`
	RAM   int `json:"ram"` // MiB
}

// ListFlavours lists the flavours that the project can use.
func (c novaAPI) ListFlavours(ctx context.Context) (all []Flavour, err error) {
	list := List{Service: Nova, Path: "/flavors/detail", Member: "flavors", Pages: SurveyPages}
	err = EachPage(ctx, c, list, func(f Flavour) (string, bool) {
		all = append(all, f)
		return f.ID, true
	})
	return all, err
}

// ComputeLimits returns Nova's limits and what is in use, by Nova's names. A limit that Nova does not mention does not
// exist.
func (c novaAPI) ComputeLimits(ctx context.Context) (map[string]int, error) {
	var out struct {
		Limits struct {
			Absolute map[string]int `json:"absolute"`
		} `json:"limits"`
	}
	err := c.typed(ctx, "read the limits of compute", Nova,
		func(ctx context.Context, sc *gophercloud.ServiceClient) error {
			return limits.Get(ctx, sc, nil).ExtractInto(&out)
		})
	return out.Limits.Absolute, err
}
