package client

import (
	"context"
	"net/http"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
)

// Quotas reads what the project can have, and what it has.
func (c *Client) Quotas(ctx context.Context) (*gybeapi.Quotas, error) {
	var out gybeapi.Quotas
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/gybe/v1/quotas"}, &out)
	return &out, err
}
