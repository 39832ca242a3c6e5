package k8scluster

import (
	"context"
	_ "embed"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

// storageScript is the work on the storage server and on those who mount from it. Packages do not have it: older ones could not.
//
//go:embed nodescripts/storage.sh
var storageScript []byte

const (
	titleStorage = "set up storage server"
	titleClient  = "install NFS client"

	phaseServer = "server"
	phaseClient = "client"
)

// serveStorage makes file systems on the volumes that are blank, mounts and exports them.
func (in *installer) serveStorage(ctx context.Context) error {
	if in.p.storage == nil {
		return nil
	}
	disks, err := inventory(in.w.Instance.Inventory).disks(in.p.storage, in.c.storage)
	if err != nil {
		return err
	}
	return in.storageStep(ctx, titleStorage, phaseServer, in.c.storage, map[string]string{"GYBE_VOLUMES": disks, "GYBE_EXPORTS": in.p.storage.lines()})
}

// client makes a node able to mount from the storage server.
func (in *installer) client(ctx context.Context, n node) error {
	if in.p.storage == nil {
		return nil
	}
	return in.storageStep(ctx, titleClient, phaseClient, n, nil)
}

// storageStep runs the storage script on a machine as a durable step.
func (in *installer) storageStep(ctx context.Context, title, phase string, n node, more map[string]string) error {
	return in.w.Step(ctx, title, n.vnfc, func(ctx context.Context, s *lcm.Step) error {
		r := &scriptRun{
			d: in.d, s: s, n: n, doing: title, clock: in.w.Clock, round: in.w.Op.StateEntered,
			id:      func(try int) string { return in.runID(n, phase, try) },
			secrets: in.hidden(n),
		}
		r.job = func(_ context.Context, id string) (remote.Job, error) {
			vars := env(in.proxies(), map[string]string{"GYBE_PHASE": phase})
			return remote.Job{
				RunID: id, Env: env(vars, more), Command: "bash ./storage.sh",
				Files: []remote.File{{Name: "storage.sh", Mode: 0o700, Content: storageScript}},
			}, nil
		}
		return r.follow(ctx)
	})
}

// hidden are the words that must not be in the log of a run on a node.
func (in *installer) hidden(n node) []string {
	secrets := []string{in.p.proxy.http, in.p.proxy.https}
	if n.target.Password != n.target.User { // a password that everybody knows would only hide the user's name
		secrets = append(secrets, n.target.Password)
	}
	for _, r := range in.p.registries {
		secrets = append(secrets, r.password)
	}
	return secrets
}

// storageAmong says whether the storage server is one of the VNFCs.
func (in *installer) storageAmong(vnfcs []string) bool {
	return in.p.storage != nil && slices.Contains(vnfcs, in.c.storage.vnfc)
}
