package neutron

import (
	"net/http"
	"slices"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

func registerTags[T any](s *Service, a *rest.API, k kind[T]) {
	path := "/v2.0/" + k.plural + "/{id}/tags"
	find := func(c *rest.Call) (*base, error) {
		v, err := k.get(c.Caller, c.Path("id"))
		if err != nil {
			return nil, err
		}
		return k.base(v), nil
	}
	a.Handle("GET "+path, func(c *rest.Call) (int, any, error) {
		b, err := find(c)
		if err != nil {
			return 0, nil, err
		}
		return http.StatusOK, rest.Obj{"tags": rest.Strings(b.Tags)}, nil
	})
	a.Handle("PUT "+path, func(c *rest.Call) (int, any, error) { return s.replaceTags(c, find) })
	a.Handle("DELETE "+path, func(c *rest.Call) (int, any, error) {
		b, err := find(c)
		if err != nil {
			return 0, nil, err
		}
		b.Tags = nil
		s.touch(b)
		return http.StatusNoContent, nil, nil
	})
	a.Handle("PUT "+path+"/{tag}", func(c *rest.Call) (int, any, error) {
		b, err := find(c)
		if err != nil {
			return 0, nil, err
		}
		if t := c.Path("tag"); !slices.Contains(b.Tags, t) {
			b.Tags = append(b.Tags, t)
			s.touch(b)
		}
		return http.StatusCreated, nil, nil
	})
	a.Handle("DELETE "+path+"/{tag}", func(c *rest.Call) (int, any, error) {
		b, err := find(c)
		if err != nil {
			return 0, nil, err
		}
		i := slices.Index(b.Tags, c.Path("tag"))
		if i < 0 {
			return 0, nil, notFound("TagNotFound", "Tag %s could not be found.", c.Path("tag"))
		}
		b.Tags = slices.Delete(b.Tags, i, i+1)
		s.touch(b)
		return http.StatusNoContent, nil, nil
	})
}

func (s *Service) replaceTags(c *rest.Call, find func(*rest.Call) (*base, error)) (int, any, error) {
	b, err := find(c)
	if err != nil {
		return 0, nil, err
	}
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
