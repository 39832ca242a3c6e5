package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
)

// Audit reads a page of the audit trail, newest first. q has the query parameters of the resource; for the next page,
// before is Next of this one.
func (c *Client) Audit(ctx context.Context, q url.Values) (*gybeapi.AuditPage, error) {
	var out gybeapi.AuditPage
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/gybe/v1/audit", query: q}, &out)
	return &out, err
}
