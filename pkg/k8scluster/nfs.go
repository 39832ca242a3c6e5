package k8scluster

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

// storageScript is the work on the storage server and on its clients. Packages do not contain it, so that older
// packages work, too.
//
//go:embed nodescripts/storage.sh
var storageScript []byte

const (
	titleStorage = "set up storage server"
	titleClient  = "install NFS client"

	phaseServer = "server"
	phaseClient = "client"
)

// nfs is the work for the storage server: its volumes and exports, its clients, and the PersistentVolumes in the
// cluster. A cluster without a storage server needs none of it.
type nfs struct{ *session }

// serve makes file systems on blank volumes, mounts and exports them.
func (x nfs) serve(ctx context.Context) error {
	if x.p.storage == nil {
		return nil
	}
	disks, err := inventory(x.w.Instance.Inventory).disks(x.p.storage, x.t.storage)
	if err != nil {
		return err
	}
	return x.run(ctx, titleStorage, phaseServer, x.t.storage, map[string]string{
		"GYBE_VOLUMES": disks, "GYBE_EXPORTS": x.p.storage.lines(),
	})
}

// client makes a node able to mount from the storage server.
func (x nfs) client(ctx context.Context, n node) error {
	if x.p.storage == nil {
		return nil
	}
	return x.run(ctx, titleClient, phaseClient, n, nil)
}

// run runs the storage script on a machine as a durable step.
func (x nfs) run(ctx context.Context, title, phase string, n node, vars map[string]string) error {
	env := x.proxyVars()
	maps.Copy(env, vars)
	env["GYBE_PHASE"] = phase
	return x.runScript(ctx, title, phase, n, remote.Job{
		Env: env, Command: "bash ./storage.sh",
		Files: append(
			library("base.sh", "packages.sh"), remote.File{Name: "storage.sh", Mode: 0o700, Content: storageScript},
		),
	})
}

// among says whether the storage server is one of the VNFCs.
func (x nfs) among(vnfcs []string) bool {
	return x.p.storage != nil && slices.Contains(vnfcs, x.t.storage.vnfc)
}

// server finds the storage server in the inventory.
func (inv inventory) server(s *storage, sshPort int) (node, error) {
	nodes, err := inv.nodes(roleStorage, s.login, sshPort)
	if err != nil {
		return node{}, err
	}
	if len(nodes) != 1 {
		return node{}, lcm.Errorf(lcm.CodeUnprocessable,
			"the instance has %d machines of the VDU %s; there must be one storage server", len(nodes), s.vdu)
	}
	return nodes[0], nil
}

// disks are the lines by which the script knows which volume to mount where.
func (inv inventory) disks(s *storage, server node) (string, error) {
	var lines strings.Builder
	for _, v := range s.volumes {
		r := inv.own(v.volume, server.vnfc)
		if r == nil || r.ID == "" {
			return "", lcm.Errorf(lcm.CodeUnprocessable, "the stack has no volume %s (volume_resource_id)", v.volume)
		}
		device := r.Device
		if device == "" {
			device = "-"
		} else if !strings.HasPrefix(device, "/") {
			device = "/dev/" + device
		}
		fmt.Fprintf(&lines, "%s %s %s\n", r.ID, device, v.dir)
	}
	return lines.String(), nil
}

// own finds a resource of a VNFC, or one of the whole VNF.
func (inv inventory) own(name, vnfc string) *lcm.Resource {
	if r := inv.find(name, vnfc); r != nil {
		return r
	}
	return inv.find(name, "")
}
