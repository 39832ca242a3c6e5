package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
	"github.com/gybe-nfv/gybe/test/stack"
)

// values are the variables of a case's path and body.
type values map[string]string

// stateMakers bring the node to what a case begins with.
var stateMakers = map[string]func(*node, context.Context) (values, error){
	"none":         func(*node, context.Context) (values, error) { return values{"unknown": uuid.NewString()}, nil },
	"onboarded":    (*node).onboarded,
	"instances":    (*node).instances,
	"operations":   (*node).instances,
	"instance":     (*node).instance,
	"instantiated": (*node).instantiated,

	"unknown instance": func(*node, context.Context) (values, error) {
		return values{"instance": uuid.NewString()}, nil
	},
	"unknown operation": func(*node, context.Context) (values, error) {
		return values{"operation": uuid.NewString()}, nil
	},
	"instantiated with volumes":  (*node).instantiatedWithVolumes,
	"instance with an operation": (*node).operationProcessing,
	"operation COMPLETED":        (*node).operationCompleted,
	"operation FAILED_TEMP":      (*node).operationFailedTemp,
	"operation PROCESSING":       (*node).operationProcessing,
	"operation ROLLING_BACK":     (*node).operationRollingBack,
	"operation STARTING":         (*node).operationStarting,

	"receiver":             (*node).onboarded,
	"subscription":         (*node).subscription,
	"subscriptions":        (*node).subscriptions,
	"duplicate":            (*node).subscription,
	redirected:             (*node).subscription,
	"packages":             (*node).packages,
	"package":              (*node).onboarded,
	"package CREATED":      (*node).packageCreated,
	"package ENABLED":      (*node).packageEnabled,
	"package DISABLED":     (*node).packageDisabled,
	"package IN_USE":       (*node).packageInUse,
	"package subscription": (*node).packageSubscription,

	"package with one VNFD file": (*node).packageWithArtifacts,
	"package with artifacts":     (*node).packageWithArtifacts,
	"package subscriptions":      (*node).packageSubscriptions,
	"package duplicate":          (*node).packageSubscription,
	"package " + redirected:      (*node).packageSubscription,
}

// state makes what a case begins with.
func (n *node) state(ctx context.Context, name string) (values, error) {
	enter, ok := stateMakers[name]
	if !ok {
		return nil, fmt.Errorf("unknown state %q", name)
	}
	v, err := enter(n, ctx)
	if err != nil {
		return nil, fmt.Errorf("state %q: %w", name, err)
	}
	if v["unknown"] == "" {
		v["unknown"] = uuid.NewString()
	}
	return v, nil
}

// once makes a state that cases share and do not change.
func (n *node) once(name string, enter func() (values, error)) (values, error) {
	n.mu.Lock()
	f, ok := n.states[name]
	if !ok {
		f = sync.OnceValues(enter)
		n.states[name] = f
	}
	n.mu.Unlock()
	v, err := f()
	return maps.Clone(v), err
}

// onboarded is a package from which instances are created.
func (n *node) onboarded(ctx context.Context) (values, error) {
	return n.once("onboarded", func() (values, error) {
		ctx := context.WithoutCancel(ctx)
		vnfd, err := stack.Onboard(ctx, n.api, n.archive("standard"))
		if err != nil {
			return nil, err
		}
		list, err := n.api.Packages(ctx, "(eq,vnfdId,"+vnfd+")", false)
		if err != nil || len(list) != 1 {
			return nil, fmt.Errorf("find the package: %v, %w", list, err)
		}
		return values{"vnfd": vnfd, "package": list[0].ID}, nil
	})
}

// instance is not instantiated.
func (n *node) instance(ctx context.Context) (values, error) {
	v, err := n.onboarded(ctx)
	if err != nil {
		return nil, err
	}
	i, err := n.api.CreateInstance(ctx, sol.CreateVnfRequest{
		VnfdID: v["vnfd"], VnfInstanceName: "conformance", Metadata: sol.KeyValuePairs{"key": "value"},
	})
	if err != nil {
		return nil, err
	}
	v["instance"] = i.ID
	return v, nil
}

// start instantiates an instance at a level and returns the operation.
func (n *node) start(ctx context.Context, v values, level string) (string, error) {
	raw, err := json.Marshal(n.standard(level))
	if err != nil {
		return "", err
	}
	return n.api.Instantiate(ctx, v["instance"], raw)
}

// standard is the request that instantiates the package, with an address of its own for VDU2.
func (n *node) standard(level string) sol.InstantiateVnfRequest {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.made++
	r := n.requests.Standard(level)
	for _, link := range r.ExtVirtualLinks {
		for _, cp := range link.ExtCps {
			for _, c := range cp.CpConfig {
				for i, a := range c.CpProtocolData[0].IpOverEthernet.IpAddresses {
					if len(a.FixedAddresses) > 0 {
						address := fmt.Sprintf("10.10.1.%d", 50+n.made)
						c.CpProtocolData[0].IpOverEthernet.IpAddresses[i].FixedAddresses = []string{address}
					}
				}
			}
		}
	}
	return r
}

func (n *node) instantiated(ctx context.Context) (values, error) {
	return n.instantiatedAt(ctx, "smallest")
}

func (n *node) instantiatedWithVolumes(ctx context.Context) (values, error) {
	return n.instantiatedAt(ctx, "volumes")
}

func (n *node) instantiatedAt(ctx context.Context, level string) (values, error) {
	v, err := n.instance(ctx)
	if err != nil {
		return nil, err
	}
	op, err := n.start(ctx, v, level)
	if err != nil {
		return nil, err
	}
	v["operation"] = op
	return v, n.reaches(ctx, op, sol.LcmOperationStateCompleted)
}

// instances are more than a page of instances, of which one is instantiated, and more than a page of operations.
func (n *node) instances(ctx context.Context) (values, error) {
	return n.once("instances", func() (values, error) {
		ctx := context.WithoutCancel(ctx)
		v, err := n.instantiated(ctx)
		if err != nil {
			return nil, err
		}
		for range pageSize {
			i, err := n.instance(ctx)
			if err != nil {
				return nil, err
			}
			op, err := n.api.Modify(ctx, i["instance"], map[string]any{"vnfInstanceDescription": "one of several"}, "")
			if err != nil {
				return nil, err
			}
			if err := n.reaches(ctx, op, sol.LcmOperationStateCompleted); err != nil {
				return nil, err
			}
		}
		return v, nil
	})
}

func (n *node) operationCompleted(ctx context.Context) (values, error) {
	return n.once("operation COMPLETED", func() (values, error) { return n.instantiated(context.WithoutCancel(ctx)) })
}

// stackOf matches the stacks of an instance.
func stackOf(v values) string { return "vnf-" + v["instance"] + "*" }

// fails lets the next server of an instance fail, or with times 0 every one.
func (n *node) fails(v values, action string, times int) {
	n.cloud.AddFault(simcloud.Fault{
		Kind: fault.FailResource, ResourceType: "OS::Nova::Server", Action: action, Stack: stackOf(v),
		Reason: "no valid host was found", Count: times,
	})
}

// hangs lets the servers of an instance hang, and waits after begin until one does.
func (n *node) hangs(ctx context.Context, v values, action string, begin func() error) error {
	rule := n.cloud.AddFault(simcloud.Fault{
		Kind: fault.HangResource, ResourceType: "OS::Nova::Server", Action: action, Stack: stackOf(v),
	})
	n.hold(v, func() { n.cloud.Faults().Remove(rule) })
	if err := begin(); err != nil {
		return err
	}
	return await(ctx, "the server hangs", func() (bool, error) {
		r, _ := n.cloud.Faults().Get(rule)
		return r.Fired > 0, nil
	})
}

// hold keeps the function that lets an instance of a state go on.
func (n *node) hold(v values, release func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held[v["instance"]] = release
}

// release lets the instance of a state go on, if it was held.
func (n *node) release(v values) {
	n.mu.Lock()
	release := n.held[v["instance"]]
	n.mu.Unlock()
	if release != nil {
		release()
	}
}

func (n *node) operationFailedTemp(ctx context.Context) (values, error) {
	v, err := n.instance(ctx)
	if err != nil {
		return nil, err
	}
	n.fails(v, "create", 1)
	if v["operation"], err = n.start(ctx, v, "smallest"); err != nil {
		return nil, err
	}
	return v, n.reaches(ctx, v["operation"], sol.LcmOperationStateFailedTemp)
}

func (n *node) operationProcessing(ctx context.Context) (values, error) {
	v, err := n.instance(ctx)
	if err != nil {
		return nil, err
	}
	err = n.hangs(ctx, v, "create", func() error {
		v["operation"], err = n.start(ctx, v, "smallest")
		return err
	})
	if err != nil {
		return nil, err
	}
	return v, n.reaches(ctx, v["operation"], sol.LcmOperationStateProcessing)
}

// operationRollingBack is the rollback of an instantiation whose second server failed: the first one hangs when it is
// deleted.
func (n *node) operationRollingBack(ctx context.Context) (values, error) {
	v, err := n.instance(ctx)
	if err != nil {
		return nil, err
	}
	n.cloud.AddFault(simcloud.Fault{
		Kind: fault.FailResource, ResourceType: "OS::Nova::Server", Action: "create", Stack: stackOf(v),
		Reason: "no valid host was found", Nth: 2, Count: 1,
	})
	if v["operation"], err = n.start(ctx, v, "volumes"); err != nil {
		return nil, err
	}
	if err := n.reaches(ctx, v["operation"], sol.LcmOperationStateFailedTemp); err != nil {
		return nil, err
	}
	err = n.hangs(ctx, v, "delete", func() error { return n.api.Rollback(ctx, v["operation"]) })
	if err != nil {
		return nil, err
	}
	return v, n.reaches(ctx, v["operation"], sol.LcmOperationStateRollingBack)
}

// operationStarting is an operation that waits, because other operations use all places that its VIM has on the node.
// Its cloud is one of its own.
func (n *node) operationStarting(ctx context.Context) (values, error) {
	full, err := simcloud.Start(context.WithoutCancel(ctx), simcloud.Options{})
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.clouds = append(n.clouds, full)
	n.mu.Unlock()
	rule := full.AddFault(simcloud.Fault{Kind: fault.Hang, Service: "heat"})
	begin := func() (values, error) {
		v, err := n.instance(ctx)
		if err != nil {
			return nil, err
		}
		request := n.standard("smallest")
		request.VimConnectionInfo = map[string]sol.VimConnectionInfo{"vim1": stack.VimConnection(full.Info())}
		raw, err := json.Marshal(request)
		if err != nil {
			return nil, err
		}
		v["operation"], err = n.api.Instantiate(ctx, v["instance"], raw)
		return v, err
	}
	for range perVim {
		if _, err := begin(); err != nil {
			return nil, err
		}
	}
	err = await(ctx, "the VIM has no place", func() (bool, error) {
		r, _ := full.Faults().Get(rule)
		return r.Fired >= perVim, nil
	})
	if err != nil {
		return nil, err
	}
	v, err := begin()
	if err != nil {
		return nil, err
	}
	n.hold(v, func() { full.Faults().Remove(rule) })
	return v, n.reaches(ctx, v["operation"], sol.LcmOperationStateStarting)
}
