package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
)

// Kubeconfig returns the kubeconfig of an instance's cluster.
func (c *Client) Kubeconfig(ctx context.Context, instanceID string) ([]byte, error) {
	resp, err := c.do(ctx, request{
		method: http.MethodGet, path: "/gybe/v1/vnf_instances/" + url.PathEscape(instanceID) + "/kubeconfig",
		accept: "application/yaml",
	})
	if err != nil {
		return nil, err
	}
	defer closeBody(resp.Body)
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return raw, nil
}

// Cluster lists the machines of an instance that is a Kubernetes cluster, with what the cluster says about its nodes.
func (c *Client) Cluster(ctx context.Context, instanceID string) (*gybeapi.Cluster, error) {
	var out gybeapi.Cluster
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/gybe/v1/vnf_instances/" + url.PathEscape(instanceID) +
		"/nodes"}, &out)
	return &out, err
}

// SSHHosts lists how the machines of an instance that is a Kubernetes cluster are reached over SSH.
func (c *Client) SSHHosts(ctx context.Context, instanceID string) ([]gybeapi.SSHHost, error) {
	var out []gybeapi.SSHHost
	_, err := c.call(ctx, request{method: http.MethodGet, path: sshHosts(instanceID)}, &out)
	return out, err
}

// ForgetHostKey deletes the pinned host key of a VNFC's machine; the next login pins the current one.
func (c *Client) ForgetHostKey(ctx context.Context, instanceID, vnfc string) error {
	_, err := c.call(
		ctx, request{method: http.MethodDelete, path: sshHosts(instanceID) + "/" + url.PathEscape(vnfc) + "/host_key"},
		nil,
	)
	return err
}

func sshHosts(instanceID string) string {
	return "/gybe/v1/vnf_instances/" + url.PathEscape(instanceID) + "/ssh_hosts"
}

// Progress reads how far an operation is, with at most lines lines of output after the cursor since; "" is
// the beginning.
func (c *Client) Progress(ctx context.Context, opID, since string, lines int) (*gybeapi.Progress, error) {
	q := url.Values{"limit": {strconv.Itoa(lines)}}
	if since != "" {
		q.Set("since", since)
	}
	var out gybeapi.Progress
	_, err := c.call(ctx, request{
		method: http.MethodGet, path: "/gybe/v1/vnf_lcm_op_occs/" + url.PathEscape(opID) + "/progress", query: q,
	}, &out)
	return &out, err
}

// Plan returns the effects of an operation on a VNF instance and whether its VIM can perform it; it changes nothing.
func (c *Client) Plan(ctx context.Context, req gybeapi.PlanRequest) (*gybeapi.Preview, error) {
	var out gybeapi.Preview
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/gybe/v1/plan", body: req}, &out)
	return &out, err
}

// Protection says whether requests that delete machines of an instance are rejected.
func (c *Client) Protection(ctx context.Context, instanceID string) (*gybeapi.Protection, error) {
	var out gybeapi.Protection
	_, err := c.call(ctx, request{method: http.MethodGet, path: protection(instanceID)}, &out)
	return &out, err
}

// Protect lets requests that delete machines of an instance be rejected; the reason may be empty.
func (c *Client) Protect(ctx context.Context, instanceID, reason string) (*gybeapi.Protection, error) {
	var out gybeapi.Protection
	_, err := c.call(ctx, request{
		method: http.MethodPut, path: protection(instanceID), body: gybeapi.ProtectionRequest{Reason: reason},
	}, &out)
	return &out, err
}

// Unprotect removes the protection of an instance.
func (c *Client) Unprotect(ctx context.Context, instanceID string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: protection(instanceID)}, nil)
	return err
}

func protection(instanceID string) string {
	return "/gybe/v1/vnf_instances/" + url.PathEscape(instanceID) + "/protection"
}

// Leftovers compares an instance's inventory with its VIM.
func (c *Client) Leftovers(ctx context.Context, instanceID string) (*gybeapi.Leftovers, error) {
	var out gybeapi.Leftovers
	_, err := c.call(ctx, request{method: http.MethodGet, path: leftovers(instanceID)}, &out)
	return &out, err
}

// RemoveLeftovers deletes resources from the VIM that belong to the instance and are not in its inventory.
func (c *Client) RemoveLeftovers(ctx context.Context, instanceID string) (*gybeapi.RemovedLeftovers, error) {
	var out gybeapi.RemovedLeftovers
	_, err := c.call(ctx, request{method: http.MethodDelete, path: leftovers(instanceID)}, &out)
	return &out, err
}

func leftovers(instanceID string) string {
	return "/gybe/v1/vnf_instances/" + url.PathEscape(instanceID) + "/leftovers"
}

// Nodes lists the gybe processes that share the database.
func (c *Client) Nodes(ctx context.Context) ([]gybeapi.Node, error) {
	var out []gybeapi.Node
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/gybe/v1/nodes"}, &out)
	return out, err
}

// Vims lists the registered VIMs.
func (c *Client) Vims(ctx context.Context) ([]gybeapi.Vim, error) {
	var out gybeapi.VimList
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/v1.0/vims"}, &out)
	return out.Vims, err
}

// Vim reads one registered VIM.
func (c *Client) Vim(ctx context.Context, id string) (*gybeapi.Vim, error) {
	var out gybeapi.VimBody
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/v1.0/vims/" + url.PathEscape(id)}, &out)
	return &out.Vim, err
}

// CreateVim registers a VIM.
func (c *Client) CreateVim(ctx context.Context, v gybeapi.Vim) (*gybeapi.Vim, error) {
	var out gybeapi.VimBody
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/v1.0/vims", body: gybeapi.VimBody{Vim: v}}, &out)
	return &out.Vim, err
}

// ChangeVim changes a registered VIM.
func (c *Client) ChangeVim(ctx context.Context, id string, v gybeapi.VimChange) (*gybeapi.Vim, error) {
	var out gybeapi.VimBody
	_, err := c.call(ctx, request{
		method: http.MethodPut, path: "/v1.0/vims/" + url.PathEscape(id), body: gybeapi.VimChangeBody{Vim: v},
	}, &out)
	return &out.Vim, err
}

// DeleteVim unregisters a VIM.
func (c *Client) DeleteVim(ctx context.Context, id string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: "/v1.0/vims/" + url.PathEscape(id)}, nil)
	return err
}

// CheckLogin asks for what every user of the server may read; the error says why the login is not accepted.
func (c *Client) CheckLogin(ctx context.Context) error {
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/vnflcm/v2/api_versions"}, nil)
	return err
}

// Ready asks whether the node can serve; the error says why not.
func (c *Client) Ready(ctx context.Context) error {
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/readyz"}, nil)
	return err
}

// Adopt takes over a VNF instance of another VNFM. With DryRun the plan says what would be adopted, and the reasons
// against it.
func (c *Client) Adopt(ctx context.Context, req gybeapi.AdoptionRequest) (*gybeapi.AdoptionPlan, error) {
	var out gybeapi.AdoptionPlan
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/gybe/v1/adoptions", body: req}, &out)
	return &out, err
}
