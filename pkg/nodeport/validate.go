package nodeport

import (
	"context"
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// vimTypes are the vimTypes of clusters: an infra driver for each makes CNFs.
var vimTypes = map[string]bool{kubernetes.VimType: true, "ETSINFV.HELM.V_3": true}

// Validate checks the load balancer of the request or, where that has none, of the instance. A request for an
// instantiation has to name one. For other operations null in the request's place of it leaves the load balancer alone.
func (d *Driver) Validate(_ context.Context, r lcm.Request) error {
	b, bad := parse(r.AdditionalParams)
	if b == nil && len(bad) == 0 && r.Type == sol.LcmOperationInstantiate {
		bad = append(bad, lcm.InvalidParam{
			Pointer: "/additionalParams/" + ParamKey,
			Detail: "is required: the VNFD names the mgmt driver " + Name + ", which configures a load balancer; " +
				"give external_lb_param with ssh_ip, ssh_username and ssh_password",
		})
	}
	if b != nil {
		bad = append(bad, badConnections(r.Instance.VimConnections)...)
		bad = append(bad, moved(r, b)...)
	}
	return lcm.Unprocessable(bad...)
}

// moved rejects another load balancer for an operation whose parameters the instance does not remember: the next
// operation would not find the ports.
func moved(r lcm.Request, b *balancer) []lcm.InvalidParam {
	if lasts(r.Type) || r.Type == sol.LcmOperationTerminate || !b.address.IsValid() {
		return nil
	}
	has := "none"
	if params, err := r.Instance.Params.Decode(); err == nil {
		if own, _ := parse(params); own != nil {
			if own.address == b.address {
				return nil
			}
			has = own.address.String()
		}
	}
	return []lcm.InvalidParam{{
		Pointer: "/additionalParams/" + ParamKey + "/external_lb_param/ssh_ip",
		Detail: "the VNF instance has another load balancer (" + has + "), and keeps it in this operation; a change " +
			"of the package can give it another one",
	}}
}

// badConnections rejects VIMs that have no NodePorts, and several clusters: a load balancer is in front of one.
func badConnections(conns map[string]sol.VimConnectionInfo) []lcm.InvalidParam {
	used := lcm.VimsOf(conns)
	if len(used) > 1 {
		return []lcm.InvalidParam{{
			Pointer: "/vimConnectionInfo/" + lcm.Escape(used[1]),
			Detail:  "the CNF would be in several clusters, and a load balancer is in front of one",
		}}
	}
	if key, vim, ok := lcm.PrimaryVim(conns); ok && !vimTypes[vim.VimType] {
		return []lcm.InvalidParam{{
			Pointer: "/vimConnectionInfo/" + lcm.Escape(key) + "/vimType",
			Detail: fmt.Sprintf("the VIM of the type %s has no NodePorts; the mgmt driver %s is for CNFs", vim.VimType,
				Name),
		}}
	}
	return nil
}

// previewConfigure describes configure.
func previewConfigure(r lcm.Request) []string {
	b, bad := parse(r.AdditionalParams)
	if b == nil || len(bad) > 0 {
		return nil
	}
	lines := []string{fmt.Sprintf("the load balancer %s passes the NodePorts of the CNF's Services on to the nodes of "+
		"the cluster; ports that the CNF has no more are closed there", b.address)}
	if b.script != "" {
		lines = append(lines, b.script+" of the package is not run: Gybe writes the configuration of HAProxy itself")
	}
	return lines
}

// previewRemove describes remove.
func previewRemove(r lcm.Request) []string {
	b, bad := parse(r.AdditionalParams)
	if b == nil || len(bad) > 0 {
		return nil
	}
	return []string{fmt.Sprintf("the load balancer %s closes the NodePorts of the CNF", b.address)}
}
