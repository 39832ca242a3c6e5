package k8scluster

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

const titleUnclaim = "remove inventory"

// terminateEnd removes the VIM and the inventory of a cluster that is gone.
func (d *Kubespray) terminateEnd(ctx context.Context, w *lcm.Execution) error {
	w.RemoveVim(VimID(w.Instance.ID))
	return d.release(ctx, w)
}

// release removes the inventory, with its passwords, from the Ansible host. A forceful termination does not need that
// host.
func (d *Kubespray) release(ctx context.Context, w *lcm.Execution) error {
	k, err := sprayParamsOf(w)
	if err != nil {
		w.Log.WarnContext(ctx, "the inventory of the cluster is not known", "error", err)
		return nil
	}
	op := d.on(ctx, w, k, &topology{}, node{}, nil)
	if err := op.unclaim(ctx); err != nil {
		return err
	}
	w.ForgetVNFCs(op.host.target.VNFC) // the next life of the instance may have another host at this address
	return nil
}

// leave removes the inventory from an Ansible host that only this operation uses: a later one uses that of the
// instantiation, and the termination would not know this one.
func (d *Kubespray) leave(ctx context.Context, w *lcm.Execution) error {
	k, err := sprayParamsOf(w)
	if err != nil {
		return err
	}
	remembered, err := w.Instance.Params.Decode()
	if err != nil {
		return err
	}
	usual, _ := parseSpray(remembered, w.Flavour, w.Instance.SSHKey)
	if k.ansible.address == usual.ansible.address && k.ansible.inventory == usual.ansible.inventory {
		return nil
	}
	return d.on(ctx, w, k, &topology{}, node{}, nil).unclaim(ctx)
}

// unclaim removes the inventory of an instance from the Ansible host, as a step.
func (op *spray) unclaim(ctx context.Context) error {
	return op.w.Step(ctx, titleUnclaim, "", func(ctx context.Context, s *lcm.Step) error {
		inventory, id := op.k.ansible.inventory, op.w.Instance.ID
		dir := remote.Quote(inventory)
		command := `if [ "$(cat ` + dir + `/.gybe-vnf-instance 2>/dev/null)" = ` + remote.Quote(id) +
			` ]; then rm -rf ` + dir + `; fi; rm -rf ` + remote.Quote(inventory+"."+id)
		_, err := op.ask(ctx, op.host, titleUnclaim, command)
		if err != nil && forceful(op.w) {
			e := lcm.AsError(err)
			s.Detail("it stays: " + e.Detail)
			return nil
		}
		if e, ok := errors.AsType[*lcm.Error](err); ok {
			e.Hint += withoutHost(op.w)
			return e
		}
		if err != nil {
			return err
		}
		s.Detail(inventory + " on " + op.host.ip)
		op.tidyOn(ctx, []node{op.host})
		return nil
	})
}

// withoutHost is how an operation goes on when the Ansible host does not come back.
func withoutHost(w *lcm.Execution) string {
	switch w.Op.Type {
	case sol.LcmOperationTerminate:
		return "; a FORCEFUL termination goes on without the Ansible host"
	case sol.LcmOperationInstantiate:
		return "; without the Ansible host, fail the operation and remove its leftovers: gybe vnf leftovers " +
			w.Instance.ID + " --delete"
	default: // the others need the host for their playbooks, too
		return ""
	}
}

// forceful says that the operation is a forceful termination (SOL003 TerminateVnfRequest).
func forceful(w *lcm.Execution) bool {
	var req struct {
		Type string `json:"terminationType"`
	}
	return json.Unmarshal(w.Op.Params, &req) == nil && req.Type == "FORCEFUL"
}
