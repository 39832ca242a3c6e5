package tackerapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
)

// uuidLength is the length of a UUID in the form of Tacker: uuid.Validate accepts other forms.
const uuidLength = 36

// Instance is a VNF instance of Tacker.
type Instance struct {
	ID       string
	Name     string // vnfInstanceName; "" for none
	VnfdID   string
	VnfPkgID string // id of the package in Tacker; only version 1 has it
	State    string // instantiationState
	// Connections are the VIM connections of the instance.
	Connections []Connection
	// Request is a request for the adoption with Source, VnfInstance, Operations and Vims. VnfInstance is as Tacker
	// shows it, passwords included if Tacker shows them.
	Request gybeapi.AdoptionRequest
}

// Connection is an entry of vimConnectionInfo.
type Connection struct {
	Key     string // key of the map in version 2, id of the entry in version 1
	VimID   string // of Tacker's registry; "" if the instance has the whole connection
	VimType string // such as openstack or ETSINFV.OPENSTACK_KEYSTONE.V_3
}

// Instance reads an instance by its id, which is a UUID, with its operation occurrences and VIMs. version is that of
// the lifecycle interface, 1 or 2; 0 tries those that Tacker has, as an instance belongs to the version that it was
// created with.
func (c *Client) Instance(ctx context.Context, id string, version int) (*Instance, error) {
	if len(id) != uuidLength || uuid.Validate(id) != nil {
		return nil, fmt.Errorf("%.80q is not the id of a VNF instance of Tacker, which is a UUID", id)
	}
	versions := []int{version}
	if version == 0 {
		var err error
		if versions, err = c.versions(ctx); err != nil {
			return nil, err
		}
	}
	for _, v := range versions {
		in, err := c.instance(ctx, id, v)
		if isStatus(err, http.StatusNotFound) && version == 0 && v != versions[len(versions)-1] {
			continue
		}
		if err != nil {
			return nil, explain(err, version)
		}
		if in.Request.Operations, err = c.operations(ctx, id, v); err != nil {
			return nil, err
		}
		in.Request.Vims, err = c.vims(ctx, in)
		return in, err
	}
	return nil, fmt.Errorf("the Tacker at %s has neither version 1 nor 2 of the VNF lifecycle interface", c.base)
}

// explain adds to the error of an absent instance where else it can be. version is the chosen one; 0 for none.
func explain(err error, version int) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Status != http.StatusNotFound {
		return err
	}
	e.Hint = "openstack vnflcm list shows the instances, with --os-tacker-api-version 2 those of version 2"
	if other := map[int]int{1: 2, 2: 1}[version]; other != 0 {
		e.Hint = fmt.Sprintf("an instance belongs to the API version that it was created with: try version %d", other)
	}
	return e
}

// versions are the major versions of the lifecycle interface that Tacker has, the newest first.
func (c *Client) versions(ctx context.Context) ([]int, error) {
	const path = "/vnflcm/api_versions"
	var doc struct {
		APIVersions []struct {
			Version string `json:"version"`
		} `json:"apiVersions"`
	}
	_, err := c.get(ctx, path, &doc)
	if isStatus(err, http.StatusNotFound) { // releases before 2022 have no version 2, and not this resource
		return []int{1}, nil
	}
	if err != nil {
		return nil, err
	}
	var found []int
	for _, v := range doc.APIVersions {
		major, _, _ := strings.Cut(v.Version, ".")
		if n := map[string]int{"1": 1, "2": 2}[major]; n != 0 && !slices.Contains(found, n) {
			found = append(found, n)
		}
	}
	slices.Sort(found)
	slices.Reverse(found)
	return found, nil
}

// instance reads the instance alone.
func (c *Client) instance(ctx context.Context, id string, version int) (*Instance, error) {
	path := fmt.Sprintf("/vnflcm/v%d/vnf_instances/%s", version, id)
	var raw json.RawMessage
	if _, err := c.get(ctx, path, &raw); err != nil {
		return nil, err
	}
	var doc struct {
		ID          string          `json:"id"`
		Name        string          `json:"vnfInstanceName"`
		VnfdID      string          `json:"vnfdId"`
		VnfPkgID    string          `json:"vnfPkgId"`
		State       string          `json:"instantiationState"`
		Connections json.RawMessage `json:"vimConnectionInfo"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, c.unusable(path, "the response is not a VNF instance: "+jsonError(err))
	}
	if !strings.EqualFold(doc.ID, id) || doc.VnfdID == "" {
		return nil, c.unusable(path, "the response is not this VNF instance")
	}
	connections, err := connectionsOf(doc.Connections)
	if err != nil {
		return nil, c.unusable(path, "vimConnectionInfo: "+jsonError(err))
	}
	return &Instance{
		ID: doc.ID, Name: doc.Name, VnfdID: doc.VnfdID, VnfPkgID: doc.VnfPkgID, State: doc.State,
		Connections: connections,
		Request: gybeapi.AdoptionRequest{
			Source:      gybeapi.AdoptionSource{System: gybeapi.SystemTacker, Address: c.base, APIVersion: version},
			VnfInstance: raw,
		},
	}, nil
}

// connectionsOf reads vimConnectionInfo, a list in version 1 and a map in version 2; either can be null or absent. The
// connections of a map are sorted by key.
func connectionsOf(raw json.RawMessage) ([]Connection, error) {
	type entry struct {
		ID      string `json:"id"`
		VimID   string `json:"vimId"`
		VimType string `json:"vimType"`
	}
	var out []Connection
	switch {
	case len(raw) == 0:
		return nil, nil
	case raw[0] == '[':
		var list []entry
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, err
		}
		for _, e := range list {
			out = append(out, Connection{Key: e.ID, VimID: e.VimID, VimType: e.VimType})
		}
	default:
		var named map[string]entry
		if err := json.Unmarshal(raw, &named); err != nil {
			return nil, err
		}
		for _, key := range slices.Sorted(maps.Keys(named)) {
			out = append(out, Connection{Key: key, VimID: named[key].VimID, VimType: named[key].VimType})
		}
	}
	return out, nil
}
