package vims

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/openapi"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/admission"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Prefix of the interface's paths.
const Prefix = "/v1.0"

// API serves the registry.
type API struct {
	Services *admission.Services
	Clock    lcm.Clock
	// Check logs in to a VIM that is to be registered, and returns its regions; nil leaves that out.
	Check func(context.Context, lcm.Vim) (regions []string, err error)
	// Unavailable returns the VIMs that do not answer, by lcm.VimKey; nil leaves that out.
	Unavailable func(context.Context) (map[string]lcm.VimFault, error)
}

// Mount adds the registry to a frame.
func (a *API) Mount(f *frame.Frame) {
	api := frame.API{Prefix: Prefix, Document: frame.Served(openapi.VimsV1)}
	for _, suffix := range []string{"", ".json"} { // some clients name the format
		api.Routes = append(api.Routes,
			frame.Route{
				Method: http.MethodGet, Path: "/vims" + suffix, Handle: a.list, Produces: frame.JSON, Query: listParams,
			},
			frame.Route{
				Method: http.MethodPost, Path: "/vims" + suffix, Handle: a.create, Consumes: frame.JSON,
				Produces: frame.JSON, Schema: "/vims",
			},
		)
	}
	api.Routes = append(api.Routes,
		frame.Route{Method: http.MethodGet, Path: "/vims/{vimId}", Handle: a.get, Produces: frame.JSON},
		frame.Route{
			Method: http.MethodPut, Path: "/vims/{vimId}", Handle: a.change, Consumes: frame.JSON, Produces: frame.JSON,
		},
		frame.Route{Method: http.MethodDelete, Path: "/vims/{vimId}", Handle: a.delete})
	f.Mount(api)
}

// vimID reads the id of the path, with or without .json.
func vimID(r *frame.Request) (string, error) {
	s := strings.TrimSuffix(r.Param("vimId"), ".json")
	id, err := uuid.Parse(s)
	if err != nil || len(s) != 36 {
		return "", lcm.Errorf(lcm.CodeNotFound, "there is no VIM %.80q", s)
	}
	r.Note(slog.String("vim_id", id.String()))
	return id.String(), nil
}

func (a *API) list(w http.ResponseWriter, r *frame.Request) error {
	vims, err := a.Services.In(r.Principal).Vims(r.Context())
	if err != nil {
		return err
	}
	away, err := a.unavailable(r.Context())
	if err != nil {
		return err
	}
	out := []any{}
	for i := range vims {
		v := present(&vims[i], projectOf(r), away)
		ok, err := matches(r, &v)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}

		selected, err := selectFields(r, v)
		if err != nil {
			return err
		}
		out = append(out, selected)
	}
	return frame.WriteJSON(w, http.StatusOK, map[string]any{"vims": out})
}

func (a *API) get(w http.ResponseWriter, r *frame.Request) error {
	id, err := vimID(r)
	if err != nil {
		return err
	}
	v, err := a.Services.In(r.Principal).Vim(r.Context(), id)
	if err != nil {
		return err
	}
	away, err := a.unavailable(r.Context())
	if err != nil {
		return err
	}
	return frame.WriteJSON(w, http.StatusOK, gybeapi.VimBody{Vim: present(v, projectOf(r), away)})
}

func (a *API) unavailable(ctx context.Context) (map[string]lcm.VimFault, error) {
	if a.Unavailable == nil {
		return nil, nil //nolint:nilnil // an empty map
	}
	return a.Unavailable(ctx)
}

func (a *API) create(w http.ResponseWriter, r *frame.Request) error {
	body, err := frame.Decode[gybeapi.VimBody](r)
	if err != nil {
		return err
	}
	v, err := read(body.Vim, projectOf(r))
	if err != nil {
		return err
	}
	now := a.Clock.Now()
	v.Created, v.Updated = now, now
	regions, err := a.check(r.Context(), &v, body.Vim.AuthCred)
	if err != nil {
		return err
	}
	if _, named := v.Connection.AccessInfo[regionMember]; !named && len(regions) == 1 {
		v.Connection.AccessInfo[regionMember] = regions[0] // clients show it as placement_attr
	}
	if err := a.Services.In(r.Principal).SaveVim(r.Context(), v); err != nil {
		return err
	}
	r.Note(slog.String("vim_id", v.ID))
	w.Header().Set("Location", r.Public(Prefix+"/vims/"+v.ID))
	return frame.WriteJSON(w, http.StatusCreated, gybeapi.VimBody{Vim: present(&v, projectOf(r), nil)})
}

// projectOf is the project of a request, to which all VIMs belong that it sees.
func projectOf(r *frame.Request) string { return cmp.Or(r.Principal.Project, lcm.DefaultProject) }

// check logs in to a VIM that a request with the credentials cred leads to, and returns its regions.
func (a *API) check(ctx context.Context, v *lcm.Vim, cred sol.KeyValuePairs) ([]string, error) {
	if a.Check == nil {
		return nil, nil
	}
	regions, err := a.Check(ctx, *v)
	return regions, located(err, v, cred)
}

func (a *API) change(w http.ResponseWriter, r *frame.Request) error {
	id, err := vimID(r)
	if err != nil {
		return err
	}
	body, err := frame.Decode[gybeapi.VimChangeBody](r)
	if err != nil {
		return err
	}
	service := a.Services.In(r.Principal)
	old, err := service.Vim(r.Context(), id)
	if err != nil {
		return err
	}
	v, connects, err := change(*old, body.Vim, projectOf(r))
	if err != nil {
		return err
	}
	if connects {
		if _, err := a.check(r.Context(), &v, given(body.Vim.AuthCred)); err != nil {
			return err
		}
	}
	v.Updated = a.Clock.Now()
	if err := service.ChangeVim(r.Context(), v); err != nil {
		return err
	}
	away, err := a.unavailable(r.Context())
	if err != nil {
		return err
	}
	return frame.WriteJSON(w, http.StatusOK, gybeapi.VimBody{Vim: present(&v, projectOf(r), away)})
}

func (a *API) delete(w http.ResponseWriter, r *frame.Request) error {
	id, err := vimID(r)
	if err != nil {
		return err
	}
	if err := a.Services.In(r.Principal).DeleteVim(r.Context(), id); err != nil {
		return err
	}
	return frame.NoContent(w)
}
