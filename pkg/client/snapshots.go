package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

const snapshots = "/vnflcm/v2/vnf_snapshots"

// CreateSnapshot creates an empty VNF snapshot resource, which a CREATE_SNAPSHOT operation fills.
func (c *Client) CreateSnapshot(ctx context.Context) (*sol.VnfSnapshotInfo, error) {
	var out sol.VnfSnapshotInfo
	_, err := c.call(ctx, request{
		method: http.MethodPost, path: snapshots, body: sol.CreateVnfSnapshotInfoRequest{},
	}, &out)
	return &out, err
}

// Snapshots lists all VNF snapshots that match a filter of SOL013, which may be "". full asks for every attribute.
func (c *Client) Snapshots(ctx context.Context, filter string, full bool) ([]sol.VnfSnapshotInfo, error) {
	return list[sol.VnfSnapshotInfo](ctx, c, snapshots, listQuery(filter, full))
}

// Snapshot reads one VNF snapshot.
func (c *Client) Snapshot(ctx context.Context, id string) (*sol.VnfSnapshotInfo, error) {
	var out sol.VnfSnapshotInfo
	_, err := c.call(ctx, request{method: http.MethodGet, path: snapshots + "/" + url.PathEscape(id)}, &out)
	return &out, err
}

// DeleteSnapshot deletes a VNF snapshot with its resources in the VIM.
func (c *Client) DeleteSnapshot(ctx context.Context, id string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: snapshots + "/" + url.PathEscape(id)}, nil)
	return err
}
