package gybe

import (
	"net/http"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

func (a *API) protection(w http.ResponseWriter, r *frame.Request) error {
	id, err := instanceID(r)
	if err != nil {
		return err
	}
	i, err := a.Services.In(r.Principal).Instance(r.Context(), id)
	if err != nil {
		return err
	}
	return frame.WriteJSON(w, http.StatusOK, protectionOf(i.Protection))
}

func (a *API) protect(w http.ResponseWriter, r *frame.Request) error {
	id, err := instanceID(r)
	if err != nil {
		return err
	}
	req, err := frame.Decode[gybeapi.ProtectionRequest](r)
	if err != nil {
		return err
	}
	p, err := a.Services.In(r.Principal).Protect(r.Context(), id, req.Reason)
	if err != nil {
		return err
	}
	return frame.WriteJSON(w, http.StatusOK, protectionOf(p))
}

func (a *API) unprotect(w http.ResponseWriter, r *frame.Request) error {
	id, err := instanceID(r)
	if err != nil {
		return err
	}
	if err := a.Services.In(r.Principal).Unprotect(r.Context(), id); err != nil {
		return err
	}
	return frame.NoContent(w)
}

func protectionOf(p *lcm.Protection) gybeapi.Protection {
	if p == nil {
		return gybeapi.Protection{}
	}
	return gybeapi.Protection{Protected: true, Reason: p.Reason, By: p.By, Since: p.Since.UTC()}
}
