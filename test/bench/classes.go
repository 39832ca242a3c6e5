package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/stack"
)

const (
	// classRounds is how often the classes take turns, so that both meet the same load of the machine.
	classRounds = 5
	// classInstances is the number of instances of a round, one after the other.
	classInstances = 4
)

// classCost is the cost of one operation, by round: CPU of the node, that of the node and the programs that it has run,
// and the time until the operation has ended.
type classCost struct{ node, all, wall []time.Duration }

// accounting is where a control group (version 1) that counts CPU can be made. bubblewrap does not wait for the
// processes of a sandbox, so that getrusage does not count them.
const accounting = "/sys/fs/cgroup/cpuacct"

// scriptPython runs the class.
const scriptPython = "/usr/bin/python3"

// countCPU puts a process and its future child processes into a control group, and returns how much CPU they have used.
func countCPU(pid int) (used func() (time.Duration, error), end func() error, err error) {
	dir, err := os.MkdirTemp(accounting, "gybe-bench")
	if err != nil {
		return nil, nil, err
	}
	end = func() error { return os.Remove(dir) }
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o600); err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return func() (time.Duration, error) {
		raw, err := os.ReadFile(filepath.Join(dir, "cpuacct.usage"))
		if err != nil {
			return 0, err
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
		return time.Duration(n), err
	}, end, nil
}

// classes compares operations whose stack a user-data class of the package makes, in a sandbox, with the same ones of
// the class that is built in. Both classes of the package plain make the same resources.
func (b *bench) classes(ctx context.Context, dir string) error {
	for _, needed := range []string{accounting, scriptPython} {
		if _, err := os.Stat(needed); errors.Is(err, os.ErrNotExist) {
			b.row("a package's own user-data class", "", "NOT RUN", needed+" is not there")
			return nil
		}
	}
	vnfd, builtIn, err := b.plainPackage(ctx, dir)
	if err != nil {
		return err
	}
	var params map[string]any
	if err := json.Unmarshal(builtIn, &params); err != nil {
		return err
	}
	params["additionalParams"] = map[string]any{
		"lcm-operation-user-data": "./UserData/site.py", "lcm-operation-user-data-class": "SiteUserData",
	}
	own, err := json.Marshal(params)
	if err != nil {
		return err
	}
	n, err := b.stack.AddNode(ctx, "GYBE_SCRIPTS_PYTHON="+scriptPython)
	if err != nil {
		return err
	}
	if err := b.node.Stop(20 * time.Second); err != nil {
		return err
	}
	used, end, err := countCPU(n.PID())
	if err != nil {
		return fmt.Errorf("the CPU of scripts cannot be counted: %w", err)
	}
	costs := map[string]map[sol.LcmOperationType]*classCost{}
	requests := map[string]json.RawMessage{"native": builtIn, "own": own}
	for round := range classRounds + 1 { // the first one warms up
		for way, request := range requests {
			if round == 0 {
				costs[way] = map[sol.LcmOperationType]*classCost{
					sol.LcmOperationInstantiate: {}, sol.LcmOperationScale: {},
				}
			}
			if err := classRound(ctx, n, used, vnfd, request, costs[way], round > 0); err != nil {
				return err
			}
		}
	}
	for _, typ := range []sol.LcmOperationType{sol.LcmOperationInstantiate, sol.LcmOperationScale} {
		native, own := costs["native"][typ], costs["own"][typ]
		b.row(
			fmt.Sprintf("%s, own class against StandardUserData", typ), "one after the other",
			fmt.Sprintf("%s CPU against %s, %.2f ×", ms(median(own.all)), ms(median(native.all)),
				float64(median(own.all))/float64(median(native.all))),
			fmt.Sprintf("of it %s in the node; %s against %s until the end, %.2f ×", ms(median(own.node)),
				ms(median(own.wall)), ms(median(native.wall)), float64(median(own.wall))/float64(median(native.wall))),
		)
	}
	if err := errors.Join(n.Stop(20*time.Second), end()); err != nil {
		return err
	}
	return b.node.Start(ctx)
}

// classRound instantiates and scales instances, and terminates them without a measurement.
func classRound(
	ctx context.Context, n *stack.Node, used func() (time.Duration, error), vnfd string, request json.RawMessage,
	costs map[sol.LcmOperationType]*classCost, measured bool,
) error {
	api, err := client.New(n.URL, nil)
	if err != nil {
		return err
	}
	ids := make([]string, classInstances)
	for i := range ids {
		made, err := api.CreateInstance(ctx, sol.CreateVnfRequest{VnfdID: vnfd})
		if err != nil {
			return err
		}
		ids[i] = made.ID
	}
	for _, o := range []struct {
		typ  sol.LcmOperationType
		body any
	}{
		{sol.LcmOperationInstantiate, request},
		{sol.LcmOperationScale, stack.Scale(sol.ScaleTypeOut, 1)},
		{sol.LcmOperationTerminate, sol.TerminateVnfRequest{TerminationType: sol.TerminationTypeForceful}},
	} {
		before, err := n.Usage()
		if err != nil {
			return err
		}
		usedBefore, err := used()
		if err != nil {
			return err
		}
		began := time.Now()
		for _, id := range ids {
			op, err := api.Start(ctx, id, o.typ, o.body)
			if err != nil {
				return err
			}
			if err := ended(ctx, api, op); err != nil {
				return err
			}
		}
		wall := time.Since(began)
		after, err := n.Usage()
		if err != nil {
			return err
		}
		usedAfter, err := used()
		if err != nil {
			return err
		}
		if c := costs[o.typ]; c != nil && measured {
			c.node = append(c.node, (after.CPU-before.CPU)/classInstances)
			c.all = append(c.all, (usedAfter-usedBefore)/classInstances)
			c.wall = append(c.wall, wall/classInstances)
		}
	}
	for _, id := range ids {
		if err := api.DeleteInstance(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// ended follows the events of an operation until it has ended: looks at it would be a part of the node's CPU.
func ended(ctx context.Context, api *client.Client, op string) error {
	for e, err := range api.Events(ctx, client.EventQuery{OpID: op, After: client.FromStart}) {
		if err != nil {
			return err
		}
		var s gybeapi.OperationState
		if e.Kind != gybeapi.KindOperationState {
			continue
		}
		if err := json.Unmarshal(e.Body, &s); err != nil {
			return err
		}
		switch s.State {
		case sol.LcmOperationStateCompleted:
			return nil
		case sol.LcmOperationStateFailedTemp, sol.LcmOperationStateRolledBack:
			return fmt.Errorf("operation %s is %s", op, s.State)
		default:
		}
	}
	return fmt.Errorf("the events of operation %s have ended", op)
}
