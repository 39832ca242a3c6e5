package cinder

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

// Register adds the service's routes.
func (s *Service) Register(a *rest.API) {
	a.WriteError, a.Before, a.Header = writeError, checkVersion, writeVersion
	version := rest.Obj{
		"id": "v3.0", "status": "CURRENT", "version": "3." + strconv.Itoa(maxMinor), "min_version": "3.0",
		"updated": "2022-03-30T00:00:00Z",
		"links":   []rest.Obj{{"rel": "self", "href": s.world.BaseURL + a.Prefix + "/v3/"}},
	}
	a.HandlePublic("GET /{$}", func(*rest.Call) (int, any, error) {
		return http.StatusMultipleChoices, rest.Obj{"versions": []rest.Obj{version}}, nil
	})
	a.HandlePublic("GET /v3/{$}", func(*rest.Call) (int, any, error) {
		return http.StatusOK, rest.Obj{"versions": []rest.Obj{version}}, nil
	})
	handle := func(pattern string, h rest.Handler) {
		a.Handle(pattern, func(c *rest.Call) (int, any, error) {
			if c.Path("project") != c.ProjectID && !c.Admin {
				return 0, nil, badRequest("Malformed request url")
			}
			return h(c)
		})
	}
	handle("GET /v3/{project}/volumes", func(c *rest.Call) (int, any, error) { return s.list(c, false) })
	handle("GET /v3/{project}/volumes/detail", func(c *rest.Call) (int, any, error) { return s.list(c, true) })
	handle("POST /v3/{project}/volumes", s.create)
	handle("GET /v3/{project}/volumes/{id}", func(c *rest.Call) (int, any, error) {
		v, err := s.Volume(c.Caller, c.Path("id"))
		if err != nil {
			return 0, nil, err
		}
		return http.StatusOK, rest.Obj{"volume": s.view(v)}, nil
	})
	handle("PUT /v3/{project}/volumes/{id}", s.update)
	handle("DELETE /v3/{project}/volumes/{id}", func(c *rest.Call) (int, any, error) {
		return http.StatusAccepted, nil, s.Delete(c.Caller, c.Path("id"))
	})
	handle("POST /v3/{project}/volumes/{id}/action", s.action)
	handle("GET /v3/{project}/types", func(*rest.Call) (int, any, error) {
		out := []rest.Obj{}
		for _, t := range s.Types {
			out = append(out, typeView(t))
		}
		return http.StatusOK, rest.Obj{"volume_types": out}, nil
	})
	handle("GET /v3/{project}/limits", s.limits)
	handle("GET /v3/{project}/os-quota-sets/{target}", s.getQuota)
	handle("PUT /v3/{project}/os-quota-sets/{target}", s.putQuota)
	handle("GET /v3/{project}/os-availability-zone", func(*rest.Call) (int, any, error) {
		return http.StatusOK, rest.Obj{
			"availabilityZoneInfo": []rest.Obj{{"zoneName": "nova", "zoneState": rest.Obj{"available": true}}},
		}, nil
	})
	for _, none := range []string{"snapshots", "backups"} {
		handle("GET /v3/{project}/"+none, func(*rest.Call) (int, any, error) {
			return http.StatusOK, rest.Obj{none: []string{}}, nil
		})
		handle("GET /v3/{project}/"+none+"/detail", func(*rest.Call) (int, any, error) {
			return http.StatusOK, rest.Obj{none: []string{}}, nil
		})
	}
	a.HandleNotFound("The resource could not be found.")
}

func (s *Service) list(c *rest.Call, detail bool) (int, any, error) {
	q := c.Query
	all := c.Admin && rest.Bool(q.Get("all_tenants"))
	for key := range q {
		if !slices.Contains(filters, key) { // nothing has it
			return http.StatusOK, rest.Obj{"volumes": []rest.Obj{}}, nil
		}
	}
	found := s.Volumes.Filter(func(v *Volume) bool {
		return (all || v.Project == c.ProjectID) && rest.OneOf(q, "name", v.Name) &&
			rest.OneOf(q, "status", v.Status) &&
			rest.OneOf(q, "project_id", v.Project) && rest.OneOf(q, "bootable", strconv.FormatBool(v.Bootable))
	})
	slices.Reverse(found) // created_at:desc is the default
	page, more, err := rest.Page(found, q, func(v *Volume) string { return v.ID })
	if err != nil {
		return 0, nil, err
	}
	views := make([]rest.Obj, 0, len(page))
	for _, v := range page {
		if detail {
			views = append(views, s.view(v))
		} else {
			views = append(views, rest.Obj{"id": v.ID, "name": v.Name, "links": s.links(v)})
		}
	}
	out := rest.Obj{"volumes": views}
	if more {
		out["volumes_links"] = []rest.Obj{
			{"rel": "next", "href": rest.NextURL(s.world.BaseURL, c.R, page[len(page)-1].ID)},
		}
	}
	return http.StatusOK, out, nil
}

// filters are what a list of volumes can be asked for.
var filters = []string{
	"all_tenants", "project_id", "name", "status", "bootable", "metadata", "migration_status", "availability_zone",
	"group_id", "size", "id", "created_at", "updated_at", "limit", "marker", "offset", "sort", "sort_key", "sort_dir",
	"with_count",
}

const (
	maxMinor      = 70
	versionHeader = "OpenStack-API-Version"
)

// checkVersion refuses a microversion that the service does not have.
func checkVersion(r *http.Request) error {
	v, ok := strings.CutPrefix(r.Header.Get(versionHeader), "volume ")
	if !ok || v == "latest" {
		return nil
	}
	major, minor, _ := strings.Cut(v, ".")
	if n, err := strconv.Atoi(minor); err == nil && major == "3" && n <= maxMinor {
		return nil
	}
	return rest.Errorf(http.StatusNotAcceptable, "computeFault",
		"Version %s is not supported by the API. Minimum is 3.0 and maximum is 3.%d.", v, maxMinor)
}

func writeVersion(w http.ResponseWriter, r *http.Request) {
	v, ok := strings.CutPrefix(r.Header.Get(versionHeader), "volume ")
	if !ok {
		v = "3.0"
	}
	if v == "latest" {
		v = "3." + strconv.Itoa(maxMinor)
	}
	w.Header().Set(versionHeader, "volume "+v)
	w.Header().Set("Vary", versionHeader)
}

func (s *Service) create(c *rest.Call) (int, any, error) {
	var req struct {
		Volume *Spec `json:"volume"`
	}
	if err := c.Decode(&req); err != nil {
		return 0, nil, err
	}
	if req.Volume == nil {
		return 0, nil, badRequest(
			"Invalid input for field/attribute volume. Value: None. 'volume' is a required property",
		)
	}
	v, err := s.Create(c.Caller, *req.Volume)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusAccepted, rest.Obj{"volume": s.view(v)}, nil
}

func (s *Service) update(c *rest.Call) (int, any, error) {
	v, err := s.Volume(c.Caller, c.Path("id"))
	if err != nil {
		return 0, nil, err
	}
	var req struct {
		Volume struct {
			Name        *string           `json:"name"`
			Description *string           `json:"description"`
			Metadata    map[string]string `json:"metadata"`
		} `json:"volume"`
	}
	if err := c.Decode(&req); err != nil {
		return 0, nil, err
	}
	if req.Volume.Name != nil {
		v.Name = *req.Volume.Name
	}
	if req.Volume.Description != nil {
		v.Description = *req.Volume.Description
	}
	if req.Volume.Metadata != nil {
		v.Metadata = req.Volume.Metadata
	}
	v.Updated = s.world.Now()
	return http.StatusOK, rest.Obj{"volume": s.view(v)}, nil
}

func (s *Service) action(c *rest.Call) (int, any, error) {
	v, err := s.Volume(c.Caller, c.Path("id"))
	if err != nil {
		return 0, nil, err
	}
	var req struct {
		Extend *struct {
			Size int `json:"new_size"`
		} `json:"os-extend"`
		Reset *struct {
			Status string `json:"status"`
		} `json:"os-reset_status"`
		Bootable *struct {
			Bootable bool `json:"bootable"`
		} `json:"os-set_bootable"`
	}
	if err := c.Decode(&req); err != nil {
		return 0, nil, err
	}
	switch {
	case req.Extend != nil:
		return http.StatusAccepted, nil, s.Extend(v, req.Extend.Size)
	case req.Reset != nil:
		if !c.Admin {
			return 0, nil, rest.Errorf(http.StatusForbidden, "forbidden",
				"Policy doesn't allow volume_extension:volume_admin_actions:reset_status to be performed.")
		}
		v.Status = req.Reset.Status
		return http.StatusAccepted, nil, nil
	case req.Bootable != nil:
		v.Bootable = req.Bootable.Bootable
		return http.StatusOK, nil, nil
	}
	return 0, nil, badRequest("There is no such action")
}

func (s *Service) limits(c *rest.Call) (int, any, error) {
	q, use := s.Quota(c.ProjectID), s.Usage(c.ProjectID)
	return http.StatusOK, rest.Obj{"limits": rest.Obj{"rate": []string{}, "absolute": rest.Obj{
		"maxTotalVolumes": q["volumes"], "totalVolumesUsed": use["volumes"],
		"maxTotalVolumeGigabytes": q["gigabytes"], "totalGigabytesUsed": use["gigabytes"],
		"maxTotalSnapshots": q["snapshots"], "totalSnapshotsUsed": 0, "maxTotalBackups": q["backups"],
		"totalBackupsUsed": 0, "maxTotalBackupGigabytes": q["backup_gigabytes"], "totalBackupGigabytesUsed": 0,
	}}}, nil
}

func (s *Service) getQuota(c *rest.Call) (int, any, error) {
	target := c.Path("target")
	out, use := rest.Obj{"id": target}, s.Usage(target)
	for name, limit := range s.Quota(target) {
		if rest.Bool(c.Query.Get("usage")) {
			out[name] = rest.Obj{"limit": limit, "in_use": use[name], "reserved": 0}
		} else {
			out[name] = limit
		}
	}
	return http.StatusOK, rest.Obj{"quota_set": out}, nil
}

func (s *Service) putQuota(c *rest.Call) (int, any, error) {
	if !c.Admin {
		return 0, nil, rest.Errorf(
			http.StatusForbidden, "forbidden", "Policy doesn't allow volume_extension:quotas:update to be performed.",
		)
	}
	var req struct {
		Set map[string]int `json:"quota_set"`
	}
	if err := c.Decode(&req); err != nil {
		return 0, nil, err
	}
	if err := s.SetQuota(c.Path("target"), req.Set); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, rest.Obj{"quota_set": s.Quota(c.Path("target"))}, nil
}

func (s *Service) links(v *Volume) []rest.Obj {
	path := "/volume/v3/" + v.Project + "/volumes/" + v.ID
	return []rest.Obj{
		{"rel": "self", "href": s.world.BaseURL + path}, {"rel": "bookmark", "href": s.world.BaseURL + path},
	}
}

func (s *Service) view(v *Volume) rest.Obj {
	const form = "2006-01-02T15:04:05.000000"
	attachments := []rest.Obj{}
	for _, a := range v.Attachments {
		attachments = append(attachments, rest.Obj{
			"id": v.ID, "volume_id": v.ID, "attachment_id": a.ID, "server_id": a.ServerID, "device": a.Device,
			"host_name": a.Host, "attached_at": a.At.Format(form),
		})
	}
	meta := rest.Obj{}
	for k, m := range v.Metadata {
		meta[k] = m
	}
	out := rest.Obj{
		"id": v.ID, "name": v.Name, "description": rest.OrNil(v.Description), "status": v.Status, "size": v.Size,
		"volume_type": v.Type, "availability_zone": v.Zone, "bootable": strconv.FormatBool(v.Bootable),
		"metadata": meta, "attachments": attachments, "created_at": v.Created.Format(form),
		"updated_at": v.Updated.Format(form), "links": s.links(v), "user_id": v.UserID, "encrypted": false,
		"multiattach": false, "snapshot_id": nil, "source_volid": rest.OrNil(v.SourceID), "consistencygroup_id": nil,
		"replication_status": nil, "os-vol-tenant-attr:tenant_id": v.Project, "os-vol-host-attr:host": "vol1@null#null",
		"os-vol-mig-status-attr:migstat": nil, "os-vol-mig-status-attr:name_id": nil, "migration_status": nil,
	}
	if v.ImageID != "" {
		out["volume_image_metadata"] = rest.Obj{"image_id": v.ImageID, "image_name": v.ImageName}
	}
	return out
}

func typeView(name string) rest.Obj {
	return rest.Obj{
		"id": name, "name": name, "is_public": true, "description": nil, "extra_specs": rest.Obj{},
		"os-volume-type-access:is_public": true,
	}
}

func writeError(w http.ResponseWriter, _ *http.Request, e *rest.Error) {
	kind := e.Kind
	switch {
	case e.Status == http.StatusRequestEntityTooLarge:
		w.Header().Set("Retry-After", "0")
		kind = "overLimit"
	case e.Status == http.StatusNotFound:
		kind = "itemNotFound"
	case e.Status == http.StatusBadRequest:
		kind = "badRequest"
	case e.Status == http.StatusForbidden:
		kind = "forbidden"
	case e.Status == http.StatusConflict:
		kind = "conflictingRequest"
	case e.Status >= http.StatusInternalServerError:
		kind = "computeFault"
	}
	details := rest.Obj{"code": e.Status, "message": e.Message}
	if kind == "overLimit" {
		details["retryAfter"] = "0"
	}
	rest.WriteJSON(w, e.Status, rest.Obj{kind: details})
}
