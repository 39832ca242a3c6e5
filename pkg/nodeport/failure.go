package nodeport

import (
	"errors"
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

const title = "Load balancer failed"

const doingConnect = "connect"

// unreachable reports whether an error of failure says that the machine could not be reached or not be logged in
// to: then nothing was done there.
func unreachable(err error) bool {
	switch remote.KindOf(err) {
	case remote.KindAuth, remote.KindHostKey, remote.KindTimeout, remote.KindUnreachable, remote.KindRefused:
		return true
	default:
		return false
	}
}

// refused is a state of the load balancer that does not allow the change. Nothing was changed.
func (m *machine) refused(why, hint string) error {
	return &lcm.Error{
		Code: lcm.CodeUpstream, Title: title, Detail: fmt.Sprintf("load balancer %s: %s", m.balancer.address, why),
		Hint: hint,
	}
}

// failure turns a failure of package remote into the product's error; nil stays nil.
func (m *machine) failure(doing string, err error) error {
	if err == nil {
		return nil
	}
	why := err
	if e, ok := errors.AsType[*remote.Error](err); ok {
		why = e.Err
	}
	e := &lcm.Error{
		Code: lcm.CodeUpstream, Title: title, Cause: err,
		Detail: fmt.Sprintf("%s at load balancer %s: %v", doing, m.target(), why),
	}
	switch remote.KindOf(err) {
	case remote.KindAuth:
		e.Class = lcm.Auth
		e.Hint = "check ssh_username and ssh_password, or private_key, in " + ParamKey + "/external_lb_param"
	case remote.KindHostKey:
		e.Hint = "if the load balancer was rebuilt on purpose, let its key be forgotten: gybe vnf ssh-hosts INSTANCE " +
			"--forget " + m.balancer.machineName() + "; if not, find out what answers at this address"
	case remote.KindTimeout, remote.KindUnreachable, remote.KindRefused:
		e.Code, e.Class = lcm.CodeUnavailable, lcm.Transient
		e.Hint = "check that the load balancer runs and that the VNFM reaches its SSH port; if it does not exist any " +
			"more, give null as " + ParamKey + " in the additionalParams of the operation"
	case remote.KindClosed:
		e.Code, e.Class = lcm.CodeUnavailable, lcm.Transient
	case remote.KindExit:
		e.Hint = "the machine needs HAProxy as a service of systemd, and the user sudo without a password"
	case remote.KindFile, remote.KindProtocol:
	default: // the context ended, the store failed: not the machine's
		return err
	}
	return e
}
