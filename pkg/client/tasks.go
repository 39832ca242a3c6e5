package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Start starts an operation on a VNF instance and returns the id of the operation occurrence. body is the request's:
// one of the types of package sol, or a json.RawMessage, which is sent as it is.
func (c *Client) Start(ctx context.Context, id string, t sol.LcmOperationType, body any) (string, error) {
	kind, err := lcm.OperationKindOf(t)
	if err != nil {
		return "", fmt.Errorf("no request starts %s: %w", t, err)
	}
	if kind.Path == "" {
		return c.Modify(ctx, id, body, "")
	}
	h, err := c.call(
		ctx, request{method: http.MethodPost, path: instances + "/" + url.PathEscape(id) + "/" + kind.Path, body: body},
		nil,
	)
	if err != nil {
		return "", err
	}
	return locationID(h)
}

// Scale starts scaling by steps and returns the id of the operation.
func (c *Client) Scale(ctx context.Context, id string, req sol.ScaleVnfRequest) (string, error) {
	return c.Start(ctx, id, sol.LcmOperationScale, req)
}

// ScaleToLevel starts scaling to levels and returns the id of the operation.
func (c *Client) ScaleToLevel(ctx context.Context, id string, req sol.ScaleVnfToLevelRequest) (string, error) {
	return c.Start(ctx, id, sol.LcmOperationScaleToLevel, req)
}

// ChangeFlavour starts a change of the deployment flavour and returns the id of the operation.
func (c *Client) ChangeFlavour(ctx context.Context, id string, req sol.ChangeVnfFlavourRequest) (string, error) {
	return c.Start(ctx, id, sol.LcmOperationChangeFlavour, req)
}

// Heal starts a repair and returns the id of the operation.
func (c *Client) Heal(ctx context.Context, id string, req sol.HealVnfRequest) (string, error) {
	return c.Start(ctx, id, sol.LcmOperationHeal, req)
}

// Operate starts or stops a VNF and returns the id of the operation.
func (c *Client) Operate(ctx context.Context, id string, req sol.OperateVnfRequest) (string, error) {
	return c.Start(ctx, id, sol.LcmOperationOperate, req)
}

// ChangeExtConn starts a change of external connectivity and returns the id of the operation.
func (c *Client) ChangeExtConn(
	ctx context.Context, id string, req sol.ChangeExtVnfConnectivityRequest,
) (string, error) {
	return c.Start(ctx, id, sol.LcmOperationChangeExtConn, req)
}

// ChangePackage starts the move to another package and returns the id of the operation.
func (c *Client) ChangePackage(ctx context.Context, id string, req sol.ChangeCurrentVnfPkgRequest) (string, error) {
	return c.Start(ctx, id, sol.LcmOperationChangeVnfpkg, req)
}

// Modify starts a change of an instance's attributes by a merge patch (RFC 7396) and returns the id of the operation.
// With an etag, it is refused when the instance is at another version.
func (c *Client) Modify(ctx context.Context, id string, patch any, etag string) (string, error) {
	r := request{
		method: http.MethodPatch, path: instances + "/" + url.PathEscape(id), body: patch,
		media: "application/merge-patch+json",
	}
	if etag != "" {
		r.headers = map[string]string{"If-Match": etag}
	}
	h, err := c.call(ctx, r, nil)
	if err != nil {
		return "", err
	}
	return locationID(h)
}

// Cancel requests the cancellation of a running operation. It does not wait for its end.
func (c *Client) Cancel(ctx context.Context, id string, mode sol.CancelModeType) error {
	_, err := c.call(ctx, request{
		method: http.MethodPost, path: operations + "/" + url.PathEscape(id) + "/cancel",
		body: sol.CancelMode{CancelMode: mode},
	}, nil)
	return err
}
