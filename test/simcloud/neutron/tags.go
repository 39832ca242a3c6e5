package neutron

import (
	"net/http"
	"slices"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

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
	}
	if b != nil {
		b.Tags = slices.Clone(tags)
		s.touch(b)
	}
}
