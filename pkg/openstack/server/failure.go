package server

import (
	"errors"
	"fmt"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// nameVNFC says in a failure which VNFC it is about.
func nameVNFC(vnfc string, err error) error {
	e, ok := errors.AsType[*lcm.Error](err)
	if !ok {
		return err
	}
	named := *e
	named.Detail = "VNFC " + vnfc + ": " + e.Detail
	return &named
}

// stuck is the failure of a server that does not change as it should.
func stuck(vnfc string, sv *cloud.ServerState, problem string, elapsed time.Duration) *lcm.Error {
	on := ""
	if sv.Host != "" {
		on = " on " + sv.Host
	}
	e := &lcm.Error{
		Code: lcm.CodeUpstream, Title: "Server did not change its state",
		Detail: fmt.Sprintf("VNFC %s: server %s; it %s, after %s", vnfc, sv, problem, elapsed.Round(time.Second)),
		Hint: "look at the compute service" + on + " and at the server's actions in Nova; a hard reboot may help, or " +
			"a heal of the VNFC once the operation is at its end; then retry it",
	}
	if h := cloud.Hint(sv.Fault.Message); h != "" {
		e.Hint = h
	}
	return e
}
