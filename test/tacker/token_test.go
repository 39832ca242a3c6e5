package tacker_test

import (
	"context"
	"net/http"
)

// token is a login with a token of Keystone.
type token string

func (k token) Apply(_ context.Context, h http.Header) error {
	h.Set("X-Auth-Token", string(k))
	return nil
}

func (token) Renew(context.Context, []string) (bool, error) { return false, nil }
