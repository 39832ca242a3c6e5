package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
	"github.com/gybe-nfv/gybe/test/stack"
)

// site is a call that an operation makes to the VIM.
type site struct{ service, method, route string }

func (s site) String() string {
	_, path, _ := strings.Cut(strings.TrimPrefix(s.route, "/"), "/")
	return s.service + " " + s.method + " " + path
}

var variable = regexp.MustCompile(`\\\{[^}]*\\\}`)

// path matches the calls of the site and no others.
func (s site) path() string {
	return "^" + variable.ReplaceAllString(regexp.QuoteMeta(s.route), "[^/]+") + "$"
}

// kind is something that goes wrong with one call.
type kind struct {
	name      string
	rule      simcloud.Fault
	transient bool // it passes by itself
}

func kinds() []kind {
	status := func(n int, transient bool) kind {
		return kind{
			fmt.Sprint(n), simcloud.Fault{Kind: fault.Status, Status: n, Reason: "a test has refused this"}, transient,
		}
	}
	busy := status(429, true)
	busy.rule.Header = map[string]string{"Retry-After": "1"}
	return []kind{
		status(401, true), // the token is old: one login helps
		status(403, false), status(404, false), status(409, false), status(413, false), busy,
		status(500, true), status(502, true), status(503, true), status(504, true),
		{"hang", simcloud.Fault{Kind: fault.Hang}, true},
		{"reset", simcloud.Fault{Kind: fault.Reset}, true},
		{"half an answer", simcloud.Fault{Kind: fault.Truncate}, true},
		{"a page of a proxy", simcloud.Fault{Kind: fault.HTML}, true},
		{"done, and the answer lost", simcloud.Fault{Kind: fault.DropReply}, true},
	}
}

// cell is one case: a fault of a kind, once, at a call of an operation.
type cell struct {
	op   operation
	site site
	kind kind
	back bool // roll back instead of retrying
}

func (c cell) String() string { return c.op.name + ", " + c.site.String() + ", " + c.kind.name }

// lane is a cloud with a node before it, on which cases run one after the other.
type lane struct {
	*world
	vnfd, next string
}

// matrixOperations are all that call the VIM.
func matrixOperations() []operation {
	all := slices.DeleteFunc(
		standardOperations(), func(o operation) bool { return o.typ == sol.LcmOperationModifyInfo },
	)
	return append(all, operation{name: "instantiation", typ: sol.LcmOperationInstantiate, level: "largest", back: true},
		operation{name: "termination", typ: sol.LcmOperationTerminate, level: "largest"})
}

// up makes an instance that an operation can begin on.
func (l *lane) up(ctx context.Context, o operation) (*sol.VnfInstance, error) {
	i, err := l.api.CreateInstance(ctx, sol.CreateVnfRequest{VnfdID: l.vnfd})
	if err != nil || o.typ == sol.LcmOperationInstantiate {
		return i, err
	}
	op, err := l.api.Start(ctx, i.ID, sol.LcmOperationInstantiate, l.requests.Standard(o.level))
	if err == nil {
		_, err = l.rested(ctx, op, sol.LcmOperationStateCompleted)
	}
	if err == nil && o.first != nil {
		if op, err = l.begun(ctx, *o.first, i); err == nil {
			_, err = l.rested(ctx, op, sol.LcmOperationStateCompleted)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("before the operation: %w", err)
	}
	return l.api.Instance(ctx, i.ID)
}

// begun starts an operation.
func (l *lane) begun(ctx context.Context, o operation, i *sol.VnfInstance) (string, error) {
	var body any
	switch o.typ {
	case sol.LcmOperationInstantiate:
		body = l.requests.Standard(o.level)
	case sol.LcmOperationTerminate:
		body = sol.TerminateVnfRequest{TerminationType: sol.TerminationTypeForceful}
	case sol.LcmOperationChangeVnfpkg:
		body = stack.NextVersion(l.next)
	default:
		body = o.body(l.world, i)
	}
	return l.api.Start(ctx, i.ID, o.typ, body)
}

// rested waits until an operation rests, which has to be in one of the states.
func (l *lane) rested(ctx context.Context, op string, want ...sol.LcmOperationStateType) (*sol.VnfLcmOpOcc, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		o, err := l.api.Operation(ctx, op)
		if err != nil {
			return nil, err
		}
		switch o.OperationState {
		case sol.LcmOperationStateStarting, sol.LcmOperationStateProcessing, sol.LcmOperationStateRollingBack:
			select {
			case <-tick.C:
				continue
			case <-ctx.Done():
				return nil, fmt.Errorf("the operation stays %s", o.OperationState)
			}
		default:
		}
		if slices.Contains(want, o.OperationState) {
			return o, nil
		}
		detail := ""
		if o.Error != nil {
			detail = o.Error.Detail
		}
		return nil, fmt.Errorf("the operation is %s, want %v: %s", o.OperationState, want, detail)
	}
}

// sites are the calls of an operation that nothing disturbs. The login is one of them: the token is not valid any more.
func (l *lane) sites(ctx context.Context, o operation) ([]site, error) {
	i, err := l.up(ctx, o)
	if err != nil {
		return nil, err
	}
	l.cloud.ExpireTokens()
	l.cloud.ResetCalls()
	op, err := l.begun(ctx, o, i)
	if err == nil {
		_, err = l.rested(ctx, op, sol.LcmOperationStateCompleted)
	}
	if err != nil {
		return nil, err
	}
	var out []site
	for _, c := range l.cloud.Calls() {
		out = append(out, site{c.Service, c.Method, c.Route.Route})
	}
	return out, l.down(ctx, o, i.ID)
}

// down terminates what there is and wants nothing to be left.
func (l *lane) down(ctx context.Context, o operation, id string) error {
	i, err := l.api.Instance(ctx, id)
	if err == nil && i.InstantiationState == sol.InstantiationStateInstantiated {
		var op string
		if op, err = l.api.Terminate(
			ctx, id, sol.TerminateVnfRequest{TerminationType: sol.TerminationTypeForceful},
		); err == nil {
			_, err = l.rested(ctx, op, sol.LcmOperationStateCompleted)
		}
	}
	if err != nil {
		return fmt.Errorf("the termination: %w", err)
	}
	if left := l.cloud.State().Since(l.before); len(left) > 0 {
		return fmt.Errorf("the cloud holds leftovers: %v", left)
	}
	return l.api.DeleteInstance(ctx, id)
}

// errMissed says that a fault has found no call to strike.
var errMissed = errors.New("the call was not made")

// try runs one case; the error says what was broken by the fault.
func (l *lane) try(ctx context.Context, c cell) error {
	before, err := l.up(ctx, c.op)
	if err != nil {
		return err
	}
	if c.site.service == "keystone" {
		l.cloud.ExpireTokens()
	}
	rule := c.kind.rule
	rule.Service, rule.Method, rule.Path, rule.Count = c.site.service, c.site.method, c.site.path(), 1
	id := l.cloud.AddFault(rule)
	defer l.cloud.Faults().Clear()
	op, err := l.begun(ctx, c.op, before)
	if err != nil {
		return err
	}
	o, err := l.rested(ctx, op, sol.LcmOperationStateCompleted, sol.LcmOperationStateFailedTemp)
	if err != nil {
		return err
	}
	if r, _ := l.cloud.Faults().Get(id); r.Fired == 0 {
		return errors.Join(errMissed, l.down(ctx, c.op, before.ID))
	}
	l.cloud.Faults().Clear()
	end := sol.LcmOperationStateCompleted
	if o.OperationState == sol.LcmOperationStateFailedTemp {
		switch {
		case c.kind.transient && c.site.service != "keystone":
			return fmt.Errorf("a fault that passes by itself has stopped the operation: %s", o.Error.Detail)
		case o.Error == nil || !strings.Contains(strings.ToLower(o.Error.Detail), c.site.service):
			return fmt.Errorf("the error does not name the service: %+v", o.Error)
		case c.back && c.op.back:
			end, err = sol.LcmOperationStateRolledBack, l.api.Rollback(ctx, op)
		default:
			err = l.api.Retry(ctx, op)
		}
		if err == nil {
			_, err = l.rested(ctx, op, end)
		}
		if err != nil && end == sol.LcmOperationStateRolledBack && strings.Contains(err.Error(), "Shrinking volume") {
			// A resource that cannot shrink is recreated when the user, who has seen the warning, asks again.
			if err = l.api.Rollback(ctx, op); err == nil {
				_, err = l.rested(ctx, op, end)
			}
		}
		if err != nil {
			return fmt.Errorf("after the failure %q: %w", o.Error.Detail, err)
		}
	}
	if err := l.result(ctx, c.op, before, end); err != nil {
		return err
	}
	return l.down(ctx, c.op, before.ID)
}

// cleared starts again with an empty cloud.
func (l *lane) cleared(ctx context.Context) error {
	err := l.cloud.Reset()
	if err == nil {
		l.requests, err = stack.NewRequests(ctx, l.cloud)
	}
	l.before = l.cloud.State()
	return err
}

// result checks what the operation, or its rollback, has made.
func (l *lane) result(ctx context.Context, o operation, before *sol.VnfInstance, end sol.LcmOperationStateType) error {
	after, err := l.api.Instance(ctx, before.ID)
	if err != nil || after.InstantiatedVnfInfo == nil {
		if err == nil && (end == sol.LcmOperationStateCompleted) != (o.typ == sol.LcmOperationTerminate) {
			err = errors.New("the instance is not instantiated")
		}
		return err
	}
	have := map[string]string{}
	for _, s := range l.cloud.State()["servers"] {
		have[s.ID] = s.Status
	}
	want := map[string]string{}
	for _, server := range serverOf(after) {
		want[server] = map[sol.VnfOperationalState]string{
			"STARTED": "ACTIVE", "STOPPED": "SHUTOFF",
		}[after.InstantiatedVnfInfo.VnfState]
	}
	if !reflect.DeepEqual(want, have) {
		return fmt.Errorf("the instance has %v, and the cloud %v", want, have)
	}
	if end == sol.LcmOperationStateRolledBack {
		was, is := look(before), look(after)
		// VDU2 was gone already, or is recreated with its volume
		if o.typ == sol.LcmOperationChangeFlavour || o.typ == sol.LcmOperationChangeVnfpkg {
			delete(was, "vnfcs")
			delete(is, "vnfcs")
		}
		if !reflect.DeepEqual(was, is) {
			return fmt.Errorf("the rollback has led from %v to %v", was, is)
		}
	} else if n := o.total(); n != nil && !reflect.DeepEqual(n, counts(after)) {
		return fmt.Errorf("the operation has led to %v, want %v", counts(after), n)
	}
	return nil
}

// total is the number of VNFCs after an operation.
func (o operation) total() map[string]int {
	switch o.name {
	case "scale in":
		return map[string]int{"VDU1": 1, "VDU2": 1}
	case "scale out", "scale to level", "stop", "start", "change of the package", "instantiation":
		return map[string]int{"VDU1": 3, "VDU2": 1}
	case "change of the flavour":
		return map[string]int{"VDU1": 1, "VDU3": 1}
	}
	return map[string]int{"VDU1": 1, "VDU2": 1}
}

// Whatever goes wrong with any one call to the VIM in any operation: the operation waits for what passes by itself, and
// reports anything else with the name of the service, and a retry completes it, or a rollback gives back what was
// there. Nothing is left in the cloud.
//
// Each kind of fault strikes each call in one operation, another one from call to call; GYBE_FULL=1 has every operation
// struck, and GYBE_FAULTS selects cases by a regular expression.
func TestAnyFaultOfAnyCallIsSurvived(t *testing.T) {
	t.Parallel()
	const lanes = 6
	pool := make(chan *lane, lanes)
	for range lanes {
		w := startStandard(t, func(c *configuration) {
			c.Engine.RetryBase, c.Engine.RetryMax = 5*time.Millisecond, 20*time.Millisecond
			c.OpenStack.RequestTimeout = 2 * time.Second
		})
		pool <- &lane{world: w, vnfd: w.onboard(standardSource), next: w.onboard(nextSource)}
	}
	known := map[string][]site{}
	sites := map[site][]operation{}
	l := <-pool
	for _, o := range matrixOperations() {
		calls, err := l.sites(t.Context(), o)
		require.NoError(t, err, o.name)
		known[o.name] = calls
		for _, s := range calls {
			sites[s] = append(sites[s], o)
		}
	}
	pool <- l
	only, err := regexp.Compile(os.Getenv("GYBE_FAULTS"))
	require.NoError(t, err)
	var cells []cell
	for s, ops := range sites {
		for n, k := range kinds() {
			if s.method == "PUT" && strings.HasSuffix(s.route, "/file") && k.name == "hang" {
				continue // an upload may take longer than a request: its own limit is minutes
			}
			for m, o := range ops {
				c := cell{op: o, site: s, kind: k, back: n%2 == 1}
				if (os.Getenv("GYBE_FULL") != "" || m == n%len(ops) || os.Getenv("GYBE_FAULTS") != "") &&
					only.MatchString(c.String()) {
					cells = append(cells, c)
				}
			}
		}
	}
	slices.SortFunc(cells, func(a, b cell) int { return strings.Compare(a.String(), b.String()) })
	results := make([]error, len(cells))
	var wg sync.WaitGroup
	for n, c := range cells {
		l := <-pool
		wg.Go(func() {
			defer func() { pool <- l }()
			results[n] = l.try(t.Context(), c)
			if results[n] != nil && !errors.Is(results[n], errMissed) { // its leftovers must not disturb the next one
				results[n] = errors.Join(results[n], l.cleared(t.Context()))
			}
		})
	}
	wg.Wait()
	missed := 0
	for n, c := range cells {
		if errors.Is(results[n], errMissed) {
			missed++
			t.Log("missed: ", c)
			continue
		}
		t.Run(c.String(), func(t *testing.T) { require.NoError(t, results[n]) })
	}
	t.Logf("%d cases of %d calls in %d operations, %d of them missed their call", len(cells), len(sites), len(known),
		missed)
	require.Less(t, missed*20, max(len(cells), 20), "faults have to strike")
}
