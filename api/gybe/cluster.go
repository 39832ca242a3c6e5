package gybe

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Clusters knows the VNF instances that are Kubernetes clusters. Its methods return CodeNotFound for an instance that
// is none.
type Clusters interface {
	// Cluster lists machines and nodes; if the cluster does not answer, Problem has the reason and the call succeeds.
	Cluster(ctx context.Context, i *lcm.Instance) (*gybeapi.Cluster, error)
	// SSHHosts lists the machines with their pinned host keys.
	SSHHosts(ctx context.Context, i *lcm.Instance) ([]gybeapi.SSHHost, error)
	// ForgetHostKey lets the next login pin a new key of a VNFC's machine.
	ForgetHostKey(ctx context.Context, i *lcm.Instance, vnfc string) error
}

// clusterPatience bounds how long a cluster is asked for its nodes.
const clusterPatience = 30 * time.Second

func (a *API) clusterNodes(w http.ResponseWriter, r *frame.Request) error {
	i, err := a.withMachines(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), clusterPatience)
	defer cancel()
	c, err := a.Clusters.Cluster(ctx, i)
	if err != nil {
		return err
	}
	c.Nodes = list(c.Nodes)
	return frame.WriteJSON(w, http.StatusOK, c)
}

func (a *API) sshHosts(w http.ResponseWriter, r *frame.Request) error {
	i, err := a.withMachines(r)
	if err != nil {
		return err
	}
	hosts, err := a.Clusters.SSHHosts(r.Context(), i)
	if err != nil {
		return err
	}
	return frame.WriteJSON(w, http.StatusOK, list(hosts))
}

func (a *API) forgetHostKey(w http.ResponseWriter, r *frame.Request) error {
	vnfc := r.Param("vnfcInstanceId")
	find := a.withMachines
	if lcm.IsOutsideMachine(vnfc) { // it is there before the VNF has machines
		find = a.instance
	}
	i, err := find(r)
	if err != nil {
		return err
	}
	r.Note(slog.String("vnfc", vnfc))
	if _, _, ok := i.VNFC(vnfc); !ok && !lcm.IsOutsideMachine(vnfc) {
		return lcm.Errorf(lcm.CodeNotFound, "VNF instance %s has no VNFC %.80q", i.ID, vnfc)
	}
	if err := a.Clusters.ForgetHostKey(r.Context(), i, vnfc); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// withMachines reads the instance of the path; CodeConflict when it has no machines.
func (a *API) withMachines(r *frame.Request) (*lcm.Instance, error) {
	i, err := a.instance(r)
	if err == nil && i.Instantiated == nil {
		err = lcm.Errorf(lcm.CodeConflict, "VNF instance %s is %s; it has no machines yet", i.ID, i.State).
			WithHint("instantiate it, or wait until its machines have been made")
	}
	return i, err
}

// instance reads the instance of the path.
func (a *API) instance(r *frame.Request) (*lcm.Instance, error) {
	id, err := instanceID(r)
	if err != nil {
		return nil, err
	}
	return a.Services.In(r.Principal).Instance(r.Context(), id)
}
