package client

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
)

// OperationActions returns who did what with operations, at most 100, by id.
func (c *Client) OperationActions(ctx context.Context, ids ...string) (map[string][]gybeapi.Action, error) {
	var out map[string][]gybeapi.Action
	_, err := c.call(ctx, request{
		method: http.MethodGet, path: "/gybe/v1/operation_actions",
		query: url.Values{"vnfLcmOpOccId": {strings.Join(ids, ",")}},
	}, &out)
	return out, err
}

// Audit reads a page of the audit trail, newest first. q has the query parameters of the resource; for the next page,
// before is Next of this one.
func (c *Client) Audit(ctx context.Context, q url.Values) (*gybeapi.AuditPage, error) {
	var out gybeapi.AuditPage
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/gybe/v1/audit", query: q}, &out)
	return &out, err
}
