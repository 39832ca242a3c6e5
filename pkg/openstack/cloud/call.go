package cloud

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Call is one request that gophercloud has no function for, or none that is sufficient (ADR 022).
type Call struct {
	What    string // for errors: "create stack vnf-…"
	Service Service
	Method  string
	Path    string // below the service's base, with the query
	In      any    // JSON body, nil for none
	Out     any    // decodes the JSON answer, nil to ignore it
}

// doer sends a request.
type doer interface {
	Do(ctx context.Context, r Call) error
}

// Do makes a call with the client's token, and once more after a new login when the token was refused. It does not
// retry anything else: the engine does, by the error's class.
func (c *session) Do(ctx context.Context, r Call) error {
	base, err := c.base(r.Service)
	if err != nil {
		return err
	}
	return c.exchange(ctx, r, base+r.Path, c.header(ctx, r.Service))
}

func (c *session) exchange(ctx context.Context, r Call, target string, header map[string]string) error {
	c.renew()

	res, err := c.provider.Request(withService(ctx, r.Service), r.Method, target, &gophercloud.RequestOpts{
		JSONBody: r.In, JSONResponse: r.Out, MoreHeaders: header, OkCodes: []int{200, 201, 202, 204},
	})
	if res != nil {
		_ = res.Body.Close()
	}
	return fault(ctx, callInfo{r.What, r.Service, target}, err)
}

// typed makes a request by a function of gophercloud, with the same login, API version, metrics and errors as Do.
func (c *session) typed(
	ctx context.Context, what string, svc Service, request func(context.Context, *gophercloud.ServiceClient) error,
) error {
	base, err := c.base(svc)
	if err != nil {
		return err
	}

	header := c.header(ctx, svc)
	c.renew()

	sc := &gophercloud.ServiceClient{ProviderClient: c.provider, Endpoint: base + "/", MoreHeaders: header}
	return fault(ctx, callInfo{what, svc, base}, request(withService(ctx, svc), sc))
}

// base is the URL of a service; the error says which region lacks it.
func (c *session) base(svc Service) (string, error) {
	if b := c.services[svc]; b != "" {
		return b, nil
	}
	where := "any region"
	if c.conn.region != "" {
		where = "region " + c.conn.region
	}
	return "", (&lcm.Error{
		Code: lcm.CodeUpstream, Title: "VIM lacks a service",
		Detail: fmt.Sprintf(
			"the service catalogue of the VIM %s has no public endpoint of %s in %s", c.conn.base, svc, where,
		),
	}).WithHint("check region in accessInfo of the VIM connection, and the VIM's catalogue")
}

// idsPerCall bounds the length of a URL that lists ids.
const idsPerCall = 80

// byIDs makes calls that filter a list by id, as few as the length of a URL allows. fetch is called for each query.
func byIDs(ids []string, extra url.Values, fetch func(query url.Values) error) error {
	for chunk := range slices.Chunk(ids, idsPerCall) {
		q := url.Values{"id": chunk}
		maps.Copy(q, extra)
		if err := fetch(q); err != nil {
			return err
		}
	}
	return nil
}

// segment makes a name fit for a path.
func segment(s string) string { return strings.ReplaceAll(url.PathEscape(s), "+", "%2B") }

// perPage and maxPages bound the lists of a project; an object that is not on them is read alone.
const (
	perPage  = 500
	maxPages = 4
)

// SurveyPages bounds the list of all objects of one type in a project.
const SurveyPages = 100

// Exists asks a service for the object with this id below a path. One that is not there is an error.
func (c *session) Exists(ctx context.Context, what string, svc Service, path, id string) error {
	return c.Do(
		ctx, Call{What: "look for " + what, Service: svc, Method: http.MethodGet, Path: path + "/" + segment(id)},
	)
}

// Delete deletes the object with this id below a path of a service.
func (c *session) Delete(ctx context.Context, what string, svc Service, path, id string) error {
	return c.Do(
		ctx, Call{What: "delete " + what, Service: svc, Method: http.MethodDelete, Path: path + "/" + segment(id)},
	)
}

// List is a list of a service, whose member in the answer is Member. It ends after Pages pages.
type List struct {
	What         string // for errors; "" = "list " and the member
	Service      Service
	Path, Member string
	Query        url.Values
	Pages        int
}

// maxList bounds all pages of a list together, in bytes.
const maxList = 64 << 20

// EachPage calls visit for the objects of a paged list; visit returns the object's id and whether more are wanted.
func EachPage[T any](ctx context.Context, c doer, l List, visit func(T) (id string, more bool)) error {
	q := url.Values{}
	maps.Copy(q, l.Query)
	q.Set("limit", strconv.Itoa(perPage))
	what := cmp.Or(l.What, "list "+l.Member)
	size := 0
	for range l.Pages {
		var page map[string]json.RawMessage
		err := c.Do(ctx, Call{
			What: what, Service: l.Service, Method: http.MethodGet, Path: l.Path + "?" + q.Encode(), Out: &page,
		})
		if err != nil {
			return err
		}
		var objects []T
		if raw := page[l.Member]; raw != nil {
			err = json.Unmarshal(raw, &objects)
		}
		if size += len(page[l.Member]); size > maxList {
			err = errTooLarge(maxList)
		}
		if err != nil {
			return fault(ctx, callInfo{what, l.Service, l.Path}, err)
		}

		last := ""
		for _, o := range objects {
			id, more := visit(o)
			if !more {
				return nil
			}
			last = id
		}
		// a service may give less than it was asked for
		if last == "" || last == q.Get("marker") || len(objects) < perPage && !hasNext(page, l.Member) {
			return nil
		}
		q.Set("marker", last)
	}
	return nil
}

// hasNext says whether the links of a list lead to another page. Heat calls them "links", and Glance has one, "next".
func hasNext(page map[string]json.RawMessage, member string) bool {
	for _, name := range []string{member + "_links", "links"} {
		var list []Link
		if json.Unmarshal(page[name], &list) == nil &&
			slices.ContainsFunc(list, func(l Link) bool { return l.Rel == "next" }) {
			return true
		}
	}
	var next string
	return json.Unmarshal(page["next"], &next) == nil && next != ""
}

// readMissing reads the objects one by one that a list did not have. A 404 means that the object is gone.
func readMissing[T any](
	ctx context.Context, ids []string, found map[string]T, read func(context.Context, string) (T, error),
) error {
	missing := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, ok := found[id]; return ok })
	single := make([]*T, len(missing))
	err := lcm.Each(ctx, 8, missing, func(ctx context.Context, id string) error {
		v, err := read(ctx, id)
		if err == nil {
			single[slices.Index(missing, id)] = &v
		} else if NotFound(err) {
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
