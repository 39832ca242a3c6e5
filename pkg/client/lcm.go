package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

const (
	instances  = "/vnflcm/v2/vnf_instances"
	operations = "/vnflcm/v2/vnf_lcm_op_occs"
)

// CreateInstance creates a VNF instance resource.
func (c *Client) CreateInstance(ctx context.Context, req sol.CreateVnfRequest) (*sol.VnfInstance, error) {
	var out sol.VnfInstance
	_, err := c.call(ctx, request{method: http.MethodPost, path: instances, body: req}, &out)
	return &out, err
}

// Instances lists all VNF instances that match a filter of SOL013, which may be "". full asks for every attribute.
func (c *Client) Instances(ctx context.Context, filter string, full bool) ([]sol.VnfInstance, error) {
	return list[sol.VnfInstance](ctx, c, instances, listQuery(filter, full))
}

// Instance reads one VNF instance.
func (c *Client) Instance(ctx context.Context, id string) (*sol.VnfInstance, error) {
	var out sol.VnfInstance
	_, err := c.call(ctx, request{method: http.MethodGet, path: instances + "/" + url.PathEscape(id)}, &out)
	return &out, err
}

// DeleteInstance deletes a VNF instance resource.
func (c *Client) DeleteInstance(ctx context.Context, id string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: instances + "/" + url.PathEscape(id)}, nil)
	return err
}

// Instantiate starts an instantiation and returns the id of the operation. params is the request body,
// sent as it is.
func (c *Client) Instantiate(ctx context.Context, id string, params json.RawMessage) (string, error) {
	return c.Start(ctx, id, sol.LcmOperationInstantiate, params)
}

// Terminate starts a termination and returns the id of the operation.
func (c *Client) Terminate(ctx context.Context, id string, req sol.TerminateVnfRequest) (string, error) {
	return c.Start(ctx, id, sol.LcmOperationTerminate, req)
}

// Operations lists all operation occurrences that match a filter, which may be "", oldest first.
func (c *Client) Operations(ctx context.Context, filter string, full bool) ([]sol.VnfLcmOpOcc, error) {
	return list[sol.VnfLcmOpOcc](ctx, c, operations, listQuery(filter, full))
}

// Operation reads one operation occurrence.
func (c *Client) Operation(ctx context.Context, id string) (*sol.VnfLcmOpOcc, error) {
	var out sol.VnfLcmOpOcc
	_, err := c.call(ctx, request{method: http.MethodGet, path: operations + "/" + url.PathEscape(id)}, &out)
	return &out, err
}

// Retry continues an operation in FAILED_TEMP.
func (c *Client) Retry(ctx context.Context, id string) error { return c.control(ctx, id, "retry") }

// Rollback undoes an operation in FAILED_TEMP.
func (c *Client) Rollback(ctx context.Context, id string) error {
	return c.control(ctx, id, "rollback")
}

// Fail marks an operation in FAILED_TEMP as failed.
func (c *Client) Fail(ctx context.Context, id string) error { return c.control(ctx, id, "fail") }

func (c *Client) control(ctx context.Context, id, task string) error {
	_, err := c.call(
		ctx, request{method: http.MethodPost, path: operations + "/" + url.PathEscape(id) + "/" + task}, nil,
	)
	return err
}

func listQuery(filter string, full bool) url.Values {
	q := url.Values{}
	if filter != "" {
		q.Set("filter", filter)
	}
	if full {
		q.Set("all_fields", "")
	}
	return q
}
