package gybe

import (
	"cmp"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// ServeKubeconfig answers with the kubeconfig of the cluster that the VNF instance in the path is.
func (a *API) ServeKubeconfig(w http.ResponseWriter, r *frame.Request) error {
	id, err := instanceID(r)
	if err != nil {
		return err
	}
	i, err := a.Services.In(r.Principal).Instance(r.Context(), id)
	if err != nil {
		return err
	}
	conn, ok := i.OwnVim(a.KubernetesType)
	if !ok {
		return a.noCluster(i)
	}
	raw, err := a.Kubeconfig(conn, cmp.Or(i.Name, "vnf-"+i.ID))
	if err != nil {
		return err
	}
	// the log is where it can be seen who had it
	r.Note(slog.String("handed_out", "administrator's token of the cluster"))
	h := w.Header()
	h.Set("Content-Type", "application/yaml")
	h.Set("Content-Length", strconv.Itoa(len(raw)))
	h.Set("Cache-Control", "no-store") // it gives full access to the cluster
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(raw)
	return nil
}

// noCluster says why there is no kubeconfig: not yet, or never.
func (a *API) noCluster(i *lcm.Instance) error {
	if i.State != sol.InstantiationStateInstantiated {
		return lcm.Errorf(lcm.CodeConflict, "VNF instance %s is %s; there is a kubeconfig when a cluster has been made",
			i.ID, i.State).
			WithHint("instantiate it, or wait until its instantiation is COMPLETED")
	}
	return lcm.Errorf(lcm.CodeNotFound, "VNF instance %s is not a Kubernetes cluster that was made here", i.ID)
}
