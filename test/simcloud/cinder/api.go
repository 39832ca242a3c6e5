package cinder

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

// Register adds the service's routes.
func (s *Service) Register(a *rest.API) {
	a.WriteError, a.Before, a.Header = rest.WriteFault, checkVersion, writeVersion
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
	handle("GET /v3/{project}/volumes", s.list)
	handle("GET /v3/{project}/volumes/detail", s.list)
	handle("POST /v3/{project}/volumes", rest.WithBody(s.create))
	find := func(c *rest.Call) (*Volume, error) { return s.Volume(c.Caller, c.Path("id")) }
	handle("GET /v3/{project}/volumes/{id}", rest.On(find, func(_ *rest.Call, v *Volume) (int, any, error) {
		return http.StatusOK, rest.Obj{"volume": s.view(v)}, nil
	}))
	handle("DELETE /v3/{project}/volumes/{id}", func(c *rest.Call) (int, any, error) {
		return http.StatusAccepted, nil, s.Delete(c.Caller, c.Path("id"))
	})
	handle("GET /v3/{project}/types", func(*rest.Call) (int, any, error) {
		out := []rest.Obj{}
		for _, t := range s.Types {
			out = append(out, typeView(t))
		}
		return http.StatusOK, rest.Obj{"volume_types": out}, nil
	})
	handle("GET /v3/{project}/limits", s.limits)
	handle("GET /v3/{project}/os-quota-sets/{target}", s.getQuota)
	handle("PUT /v3/{project}/os-quota-sets/{target}", rest.WithBody(s.putQuota))
	handle("GET /v3/{project}/snapshots/detail", s.listSnapshots)
	handle("POST /v3/{project}/snapshots", rest.WithBody(s.createSnapshot))
	snapshot := func(c *rest.Call) (*Snapshot, error) { return s.Snapshot(c.Caller, c.Path("id")) }
	handle("GET /v3/{project}/snapshots/{id}", rest.On(snapshot, func(_ *rest.Call, n *Snapshot) (int, any, error) {
		return http.StatusOK, rest.Obj{"snapshot": snapshotView(n)}, nil
	}))
	handle("DELETE /v3/{project}/snapshots/{id}", rest.On(snapshot, s.deleteSnapshot))
	a.HandleNotFound("The resource could not be found.")
}

// marksOf reads the metadata of a query: an object of Python, which JSON with texts is.
func marksOf(raw string) (marks map[string]string, ok bool) {
	if raw == "" {
		return nil, true
	}
	err := json.Unmarshal([]byte(raw), &marks)
	return marks, err == nil
}

func (s *Service) list(c *rest.Call) (int, any, error) {
	q := c.Query
	all := c.Admin && rest.Bool(q.Get("all_tenants"))
	for key := range q {
		if !slices.Contains(filters, key) { // nothing has it
			return http.StatusOK, rest.Obj{"volumes": []rest.Obj{}}, nil
		}
	}
	marks, ok := marksOf(q.Get("metadata"))
	if !ok { // nothing has such metadata
		return http.StatusOK, rest.Obj{"volumes": []rest.Obj{}}, nil
	}
	found := s.Volumes.Filter(func(v *Volume) bool {
		for key, value := range marks {
			if v.Metadata[key] != value {
				return false
			}
		}
		return (all || v.Project == c.ProjectID) &&
			rest.OneOf(q, "name", v.Name) && rest.OneOf(q, "status", v.Status) &&
			rest.OneOf(q, "project_id", v.Project) && rest.OneOf(q, "bootable", strconv.FormatBool(v.Bootable))
	})
	slices.Reverse(found) // created_at:desc is the default
	return rest.List(c, "volumes", found, func(v *Volume) string { return v.ID }, s.view)
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

type createBody struct {
	Volume *Spec `json:"volume"`
}

func (s *Service) create(c *rest.Call, b createBody) (int, any, error) {
	if b.Volume == nil {
		const text = "Invalid input for field/attribute volume. Value: None. 'volume' is a required property"
		return 0, nil, badRequest(text)
	}
	v, err := s.Create(c.Caller, *b.Volume)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusAccepted, rest.Obj{"volume": s.view(v)}, nil
}

func (s *Service) limits(c *rest.Call) (int, any, error) {
	q, use := s.Quotas.Of(c.ProjectID), s.Usage(c.ProjectID)
	return http.StatusOK, rest.Obj{"limits": rest.Obj{"rate": []string{}, "absolute": rest.Obj{
		"maxTotalVolumes": q["volumes"], "totalVolumesUsed": use["volumes"],
		"maxTotalVolumeGigabytes": q["gigabytes"], "totalGigabytesUsed": use["gigabytes"],
		"maxTotalSnapshots": q["snapshots"], "totalSnapshotsUsed": use["snapshots"], "maxTotalBackups": q["backups"],
		"totalBackupsUsed": 0, "maxTotalBackupGigabytes": q["backup_gigabytes"], "totalBackupGigabytesUsed": 0,
	}}}, nil
}

func (s *Service) getQuota(c *rest.Call) (int, any, error) {
	var use map[string]int
	if rest.Bool(c.Query.Get("usage")) {
		use = s.Usage(c.Path("target"))
	}
	return http.StatusOK, s.Quotas.QuotaSet(c.Path("target"), use), nil
}

type quotaBody struct {
	Set map[string]int `json:"quota_set"`
}

func (s *Service) putQuota(c *rest.Call, b quotaBody) (int, any, error) {
	if !c.Admin {
		const text = "Policy doesn't allow volume_extension:quotas:update to be performed."
		return 0, nil, rest.Errorf(http.StatusForbidden, "forbidden", text)
	}
	return s.Quotas.Write(c.Path("target"), "quota_set", b.Set)
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
	out := rest.Obj{
		"id": v.ID, "name": v.Name, "description": rest.OrNil(v.Description), "status": v.Status, "size": v.Size,
		"volume_type": v.Type, "availability_zone": v.Zone, "bootable": strconv.FormatBool(v.Bootable),
		"metadata": rest.Map(v.Metadata), "attachments": attachments, "created_at": v.Created.Format(form),
		"updated_at": v.Updated.Format(form), "links": s.links(v), "user_id": v.UserID, "encrypted": false,
		"multiattach": false, "snapshot_id": rest.OrNil(v.SnapshotID), "source_volid": rest.OrNil(v.SourceID),
		"consistencygroup_id": nil,
		"replication_status":  nil, "os-vol-tenant-attr:tenant_id": v.Project,
		"os-vol-host-attr:host":          "vol1@null#null",
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
