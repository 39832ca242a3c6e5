package openstack

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// server is what Nova says about a server.
type server struct {
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
	Image   imageRef `json:"image"`
	Volumes []struct {
		ID string `json:"id"`
	} `json:"os-extended-volumes:volumes_attached"`
}

// imageRef is the image of a server: "" for one that boots from a volume.
type imageRef struct{ ID string }

// UnmarshalJSON implements json.Unmarshaler.
func (r *imageRef) UnmarshalJSON(b []byte) error {
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

// flavour is the flavour's name; a Nova that only gives its id is taken at its word.
func (s server) flavour() string { return first(s.Flavour.Name, s.Flavour.ID) }

// deleted says that Nova only remembers the server.
func (s server) deleted() bool { return s.Status == "DELETED" || s.Status == "SOFT_DELETED" }

// state is what a server means for its VNFC: only one that does its work, or is about to, is started.
func (s server) state() sol.VnfOperationalState {
	switch s.Status {
	case "SHUTOFF", "ERROR", "SUSPENDED", "PAUSED", "SHELVED", "SHELVED_OFFLOADED", "DELETED", "SOFT_DELETED":
		return sol.VnfOperationalStateStopped
	}
	return sol.VnfOperationalStateStarted
}

// perPage and maxPages bound the lists of a project; who is not on them is read alone.
const (
	perPage  = 500
	maxPages = 4
)

// since is a time for a filter: the clocks of a VIM's services may differ a little.
func since(t time.Time) string { return t.Add(-10 * time.Minute).UTC().Format("2006-01-02T15:04:05Z") }

// readServers reads servers by id. Nova has no filter for several ids, so the servers that changed since the stack began are listed. One that
// is gone is not in the result.
func (j *job) readServers(ctx context.Context, ids []string, began time.Time) (map[string]server, error) {
	found := map[string]server{}
	if len(ids) > 1 {
		q := url.Values{}
		if !began.IsZero() {
			q.Set("changes-since", since(began))
		}
		if err := j.listServers(ctx, ids, q, found); err != nil {
			return nil, err
		}
	}
	err := readMissing(ctx, ids, found, func(ctx context.Context, id string) (server, error) {
		var out struct {
			Server server `json:"server"`
		}
		err := j.do(ctx, call{what: "read server " + id, service: nova, method: http.MethodGet, path: "/servers/" + segment(id), out: &out})
		return out.Server, err
	})
	for id, s := range found {
		if s.deleted() {
			delete(found, id)
		}
	}
	return found, err
}

// readMissing reads the objects one by one that a list did not have. A 404 means that it is gone.
func readMissing[T any](ctx context.Context, ids []string, found map[string]T, read func(context.Context, string) (T, error)) error {
	missing := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, ok := found[id]; return ok })
	single := make([]*T, len(missing))
	err := lcm.Each(ctx, 8, missing, func(ctx context.Context, id string) error {
		v, err := read(ctx, id)
		if err == nil {
			single[slices.Index(missing, id)] = &v
		} else if notFound(err) {
			err = nil // Heat still names it, but it is gone
		}
		return err
	})
	for i, v := range single {
		if v != nil {
			found[missing[i]] = *v
		}
	}
	return err
}

func (j *job) listServers(ctx context.Context, ids []string, q url.Values, found map[string]server) error {
	return eachPage(ctx, j.session, nova, "servers", "/servers/detail", q, maxPages, func(s server) (string, bool) {
		if slices.Contains(ids, s.ID) {
			found[s.ID] = s
		}
		return s.ID, len(found) < len(ids)
	})
}

// eachPage calls visit for the objects of a paged list whose member is kind, on at most pages pages; visit returns the object's id and
// whether more are wanted.
func eachPage[T any](
	ctx context.Context, s *session, svc service, kind, path string, q url.Values, pages int, visit func(T) (id string, more bool),
) error {
	q.Set("limit", strconv.Itoa(perPage))
	for range pages {
		var page map[string]json.RawMessage
		err := s.do(ctx, call{what: "list " + kind, service: svc, method: http.MethodGet, path: path + "?" + q.Encode(), out: &page})
		if err != nil {
			return err
		}
		var objects []T
		if raw := page[kind]; raw != nil {
			err = json.Unmarshal(raw, &objects)
		}
		if err != nil {
			return fault(ctx, callInfo{"list " + kind, svc, path}, err)
		}
		last := ""
		for _, o := range objects {
			id, more := visit(o)
			if !more {
				return nil
			}
			last = id
		}
		if last == "" || len(objects) < perPage && !hasNext(page[kind+"_links"]) { // a service may give less than it was asked for
			return nil
		}
		q.Set("marker", last)
	}
	return nil
}

// hasNext says whether the links of a list lead to another page.
func hasNext(links json.RawMessage) bool {
	var list []link
	return json.Unmarshal(links, &list) == nil && slices.ContainsFunc(list, func(l link) bool { return l.Rel == "next" })
}
