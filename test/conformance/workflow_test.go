package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// workflow subscribes, does something, and wants the notifications about it in order.
func (n *node) workflow(ctx context.Context, name, want string, v values) error {
	words := strings.Fields(want)
	if of, ok := strings.CutPrefix(name, "package "); ok {
		return n.packageWorkflow(ctx, of, words, v)
	}
	if name == "create" || name == "delete" {
		return n.identifierWorkflow(ctx, name, words, v)
	}
	if of, ok := strings.CutPrefix(name, "notification "); ok {
		return n.notificationWorkflow(ctx, of, words[1], v)
	}
	status, states := words[0], words[1:]
	if err := n.subscribeInstance(ctx, v); err != nil {
		return err
	}
	x, err := n.step(name, v)
	if err != nil {
		return err
	}
	a, err := n.exchange(ctx, x)
	if err != nil {
		return err
	}
	if strconv.Itoa(a.status) != status {
		return fmt.Errorf("%s is answered with %d: %s", name, a.status, a.body)
	}
	if location := a.header.Get("Location"); location != "" {
		v["operation"] = location[strings.LastIndex(location, "/")+1:]
	}
	n.release(v)
	end := states[len(states)-1]
	if err := n.reaches(ctx, v["operation"], sol.LcmOperationStateType(end)); err != nil {
		return err
	}
	return n.notified(ctx, v, states)
}

// step is the request of a workflow.
func (n *node) step(name string, v values) (exchange, error) {
	x := exchange{method: http.MethodPost, header: map[string]string{}, values: v}
	name, fails := strings.CutSuffix(name, " that fails")
	name, _, _ = strings.Cut(name, " ") // the state is in the name of a cancel
	of, id := "vnf_instances", "instance"
	switch name {
	case "cancel", "retry", "rollback", "fail":
		of, id = "vnf_lcm_op_occs", "operation"
	case "modify":
		x.method = http.MethodPatch
	}
	if v[id] == "" {
		return x, fmt.Errorf("there is no %s", id)
	}
	x.path = "/vnflcm/v2/" + of + "/" + v[id]
	if name != "modify" {
		x.path += "/" + name
	}
	if !slices.Contains([]string{"retry", "rollback", "fail"}, name) {
		x.body = name
	}
	switch {
	case fails && name == "retry":
		n.fails(v, "create", 1)
	case fails:
		n.fails(v, "delete", 0)
	}
	return x, nil
}

// subscribeInstance subscribes to everything about the instance of a case.
func (n *node) subscribeInstance(ctx context.Context, v values) error {
	of := sol.VnfInstanceSubscriptionFilter{VnfInstanceIds: []string{v["instance"]}}
	a, err := n.sendJSON(ctx, lcmSubscriptions, sol.LccnSubscriptionRequest{
		CallbackURI: n.callback(v), Filter: &sol.LifecycleChangeNotificationsFilter{VnfInstanceSubscriptionFilter: &of},
	})
	if err == nil && a.status != http.StatusCreated {
		err = fmt.Errorf("the subscription is answered with %d: %s", a.status, a.body)
	}
	return err
}

// notified wants the notifications about the operation of a case: its states in order, each of them once.
func (n *node) notified(ctx context.Context, v values, states []string) error {
	end := states[len(states)-1]
	got, err := n.receiver.await(ctx, "/"+v["name"], func(one notification) bool {
		return one.Operation == v["operation"] && one.State == end
	})
	if err != nil {
		return err
	}
	var of []string
	for _, one := range got {
		if one.Operation != v["operation"] {
			continue
		}
		of = append(of, one.State)
		status := "START"
		if final(sol.LcmOperationStateType(one.State)) {
			status = "RESULT"
		}
		if one.Status != status || one.Instance != v["instance"] ||
			one.Type != "VnfLcmOperationOccurrenceNotification" {
			return fmt.Errorf("a notification about %s is %+v", one.State, one)
		}
	}
	if !slices.Equal(of, states) {
		return fmt.Errorf("the notifications are %v instead of %v", of, states)
	}
	return nil
}

// notificationWorkflow instantiates, and wants the notification of the start or of the result.
func (n *node) notificationWorkflow(ctx context.Context, status, state string, v values) error {
	if err := n.subscribeInstance(ctx, v); err != nil {
		return err
	}
	op, err := n.start(ctx, v, "smallest")
	if err != nil {
		return err
	}
	got, err := n.receiver.await(ctx, "/"+v["name"], func(one notification) bool {
		return one.Operation == op && one.State == state
	})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(got, func(one notification) bool { return one.Operation == op && one.State == state })
	if got[i].Status != status {
		return fmt.Errorf("the notificationStatus is %q instead of %q", got[i].Status, status)
	}
	return n.reaches(ctx, op, sol.LcmOperationStateCompleted)
}

// identifierWorkflow creates or deletes an instance, and wants one notification about it.
func (n *node) identifierWorkflow(ctx context.Context, name string, words []string, v values) error {
	if name == "create" {
		if err := n.subscribe(ctx, lcmSubscriptions, "subscription", v); err != nil { // by the name of the instance
			return err
		}
	} else if err := n.subscribeInstance(ctx, v); err != nil {
		return err
	}
	x := exchange{method: http.MethodPost, path: "/vnflcm/v2/vnf_instances", body: "create", values: v}
	if name == "delete" {
		x = exchange{method: http.MethodDelete, path: x.path + "/" + v["instance"], values: v}
	}
	x.header = map[string]string{}
	a, err := n.exchange(ctx, x)
	if err != nil {
		return err
	}
	if strconv.Itoa(a.status) != words[0] {
		return fmt.Errorf("%s is answered with %d: %s", name, a.status, a.body)
	}
	if name == "create" {
		i, err := decode[sol.VnfInstance](a)
		if err != nil {
			return err
		}
		v["instance"] = i.ID
	}
	got, err := n.receiver.await(ctx, "/"+v["name"], func(one notification) bool { return one.Type == words[1] })
	if err != nil {
		return err
	}
	if len(got) != 1 || got[0].Instance != v["instance"] {
		return fmt.Errorf("the notifications are %+v", got)
	}
	return nil
}

// packageWorkflow changes a package, and wants one notification about it.
func (n *node) packageWorkflow(ctx context.Context, name string, words []string, v values) error {
	p, err := n.packageCreated(ctx)
	if err != nil {
		return err
	}
	if name != "onboarding" {
		if p, err = n.packageEnabled(ctx); err != nil {
			return err
		}
	}
	p["name"] = uuid.NewString()
	if err := n.subscribe(ctx, packageSubscriptions, "package_subscription", p); err != nil {
		return err
	}
	disable := exchange{
		method: http.MethodPatch, path: "/vnfpkgm/v1/vnf_packages/" + p["package"], body: "disable", values: p,
		header: map[string]string{},
	}
	var change []exchange
	switch name {
	case "onboarding":
		change = []exchange{{
			method: http.MethodPut, path: disable.path + "/package_content", body: "small_archive", values: p,
			header: map[string]string{},
		}}
	case "operational state":
		change = []exchange{disable}
	case "deletion":
		change = []exchange{disable, {method: http.MethodDelete, path: disable.path, values: p}}
	default:
		return fmt.Errorf("unknown workflow %q", name)
	}
	for _, x := range change {
		if a, err := n.exchange(ctx, x); err != nil || a.status >= http.StatusBadRequest {
			return errors.Join(err, fmt.Errorf("%s is answered with %d: %s", x.method, a.status, a.body))
		}
	}
	_, err = n.receiver.await(ctx, "/"+p["name"], func(one notification) bool {
		return one.Type == words[0] && one.Package == p["package"] && (len(words) == 1 || one.ChangeType == words[1])
	})
	return err
}
