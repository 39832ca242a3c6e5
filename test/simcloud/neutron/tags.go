package neutron

import (
	"net/http"
	"slices"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

func registerTags[T, S any, P object[T]](s *Service, a *rest.API, k kind[T, S]) {
	path := "/v2.0/" + k.plural + "/{id}/tags"
	handle := func(method, path string, do func(c *rest.Call, b *base) (int, any, error)) {
		a.Handle(method+" "+path, func(c *rest.Call) (int, any, error) {
			v, err := k.get(c.Caller, c.Path("id"))
			if err != nil {
				return 0, nil, err
			}
			return do(c, P(v).common())
		})
	}
	handle("GET", path, func(_ *rest.Call, b *base) (int, any, error) {
		return http.StatusOK, rest.Obj{"tags": rest.Strings(b.Tags)}, nil
	})
	handle("PUT", path, s.replaceTags)
	handle("DELETE", path, func(_ *rest.Call, b *base) (int, any, error) {
		b.Tags = nil
		s.touch(b)
		return http.StatusNoContent, nil, nil
	})
	handle("PUT", path+"/{tag}", func(c *rest.Call, b *base) (int, any, error) {
		if t := c.Path("tag"); !slices.Contains(b.Tags, t) {
			b.Tags = append(b.Tags, t)
			s.touch(b)
		}
		return http.StatusCreated, nil, nil
	})
	handle("DELETE", path+"/{tag}", func(c *rest.Call, b *base) (int, any, error) {
		i := slices.Index(b.Tags, c.Path("tag"))
		if i < 0 {
			return 0, nil, notFound("TagNotFound", "Tag %s could not be found.", c.Path("tag"))
		}
		b.Tags = slices.Delete(b.Tags, i, i+1)
		s.touch(b)
		return http.StatusNoContent, nil, nil
	})
}

func (s *Service) replaceTags(c *rest.Call, b *base) (int, any, error) {
	var req struct {
		Tags []string `json:"tags"`
	}
	if err := c.Decode(&req); err != nil {
		return 0, nil, err
	}
	b.Tags = req.Tags
	s.touch(b)
	return http.StatusOK, rest.Obj{"tags": rest.Strings(b.Tags)}, nil
}

// SetTags replaces the tags of a port or network, as the orchestration service does.
func (s *Service) SetTags(id string, tags []string) {
	var b *base
	if p := s.Ports.Get(id); p != nil {
		b = &p.base
	} else if n := s.Networks.Get(id); n != nil {
		b = &n.base
	} else if n := s.Subnets.Get(id); n != nil {
		b = &n.base
	}
	if b != nil {
		b.Tags = slices.Clone(tags)
		s.touch(b)
	}
}
