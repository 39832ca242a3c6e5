package openstack

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// call is one request to a service.
type call struct {
	what    string // for errors: "create stack vnf-…"
	service service
	method  string
	path    string // below the service's base, with the query
	in      any    // JSON body, nil for none
	out     any    // decodes the JSON answer, nil to ignore it
}

// do makes a call with the session's token, and once more after a new login when the token was refused. It does not
// retry anything else: the engine does, by the error's class.
func (s *session) do(ctx context.Context, c call) error {
	base, err := s.base(c.service)
	if err != nil {
		return err
	}
	return s.exchange(ctx, c, base+c.path, s.header(ctx, c.service))
}

func (s *session) exchange(ctx context.Context, c call, target string, header map[string]string) error {
	if err := s.renew(ctx); err != nil {
		return err
	}
	res, err := s.provider.Request(calling(ctx, c.service), c.method, target, &gophercloud.RequestOpts{
		JSONBody: c.in, JSONResponse: c.out, MoreHeaders: header, OkCodes: []int{200, 201, 202, 204},
	})
	if res != nil {
		_ = res.Body.Close()
	}
	return fault(ctx, callInfo{c.what, c.service, target}, err)
}

// base is the URL of a service; the error says which region lacks it.
func (s *session) base(svc service) (string, error) {
	if b := s.services[svc]; b != "" {
		return b, nil
	}
	where := "any region"
	if s.conn.region != "" {
		where = "region " + s.conn.region
	}
	return "", (&lcm.Error{
		Code: lcm.CodeUpstream, Title: "VIM lacks a service",
		Detail: fmt.Sprintf("the service catalogue of the VIM %s has no public endpoint of %s in %s", s.conn.base, svc, where),
	}).WithHint("check region in accessInfo of the VIM connection, and the VIM's catalogue")
}

// idsPerCall bounds the length of a URL that lists ids.
const idsPerCall = 80

// byIDs makes calls that filter a list by id, as few as the length of a URL allows. fetch is called for each query.
func byIDs(ids []string, extra url.Values, fetch func(query string) error) error {
	for chunk := range slices.Chunk(ids, idsPerCall) {
		q := url.Values{"id": chunk}
		maps.Copy(q, extra)
		if err := fetch("?" + q.Encode()); err != nil {
			return err
		}
	}
	return nil
}

// segment makes a name fit for a path.
func segment(s string) string { return strings.ReplaceAll(url.PathEscape(s), "+", "%2B") }
