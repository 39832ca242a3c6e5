package coordination

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

// ScriptRunner runs Python scripts of packages in the background of this process. The errors are *lcm.Error and carry
// no secrets.
type ScriptRunner interface {
	// Start begins a run under a key that no run has, for at most timeout. It goes on after ctx ends, and ends with the
	// process or when no tick has asked about it for abandonedAfter. The script finds a pickle of input on its standard
	// input.
	Start(ctx context.Context, key string, pkg fs.FS, script string, input any, timeout time.Duration) error
	// Follow hands over the lines written since the last call, and waits for the end of the run or for a time. known is
	// false when this process has no such run; err is the outcome of one that is over.
	Follow(ctx context.Context, key string, wait time.Duration, line func(string)) (known, over bool, err error)
	// LastLine returns the newest line that the run has written, also if Follow has handed it over before; "" if there
	// is no such line.
	LastLine(key string) string
	// Running names a script that runs under a key with this beginning; "" when none does.
	Running(prefix string) string
	// Stop kills the runs whose keys have this beginning, waits for their end and forgets them.
	Stop(prefix string)
}

// beatLimit is how long the node that runs a script may be silent before it counts as dead.
const beatLimit = time.Minute

// abandonedAfter is how long a run goes on that no tick follows. Another node leaves a run alone for longer than this.
const abandonedAfter = 2 * time.Minute

// scriptState is the checkpoint of the step that runs a script for one VNFC. It is durable before the script begins.
type scriptState struct {
	// Node and Process say who runs the script, Beat when it last said so.
	Node    string    `json:"node"`
	Process string    `json:"process"`
	Beat    time.Time `json:"beat"`
	// Try is the operation's try in which it began, Starts how often it has been started.
	Try    int `json:"try"`
	Starts int `json:"starts"`
	// Over says that the run has ended, and that its outcome has been reported.
	Over bool `json:"over,omitempty"`
}

// The time that a tick stays with a script, which is longer the longer the script runs.
const (
	scriptLookMin = 200 * time.Millisecond
	scriptLookMax = 5 * time.Second
)

// scriptsKey is the beginning of the keys of all scripts of the operation.
func (m *Coordinator) scriptsKey() string { return m.Execution.Op.ID + "/" }

// runScript is one look at the script of a VNFC, and what follows from it.
func (m *Coordinator) runScript(ctx context.Context, s *lcm.Step, u Unit, id string, p *VNFCParams, back bool) error {
	if m.Scripts == nil {
		return lcm.Errorf(lcm.CodeUnprocessable,
			"the script %s cannot be run after the change of %s: this node runs no scripts of packages", p.script, id).
			WithHint(
				"all nodes need the same setting scripts.python; set it, then retry the operation, or roll it back",
			)
	}
	var cp scriptState
	if _, err := s.Load(&cp); err != nil {
		return fmt.Errorf("read the step's checkpoint: %w", err)
	}
	c := scriptRun{m: m, s: s, cp: cp, params: p, who: fmt.Sprintf("%s of %s", u.Name, id), key: fmt.Sprintf(
		"%s%d/%s", m.scriptsKey(), m.Execution.Op.Run, id,
	)}
	if known, err := c.follow(ctx); known {
		return err
	}
	if !cp.Over && cp.Node != "" && m.runsElsewhere(ctx, cp) {
		return lcm.Wait(3*time.Second, fmt.Sprintf("node %s runs the %s", cp.Node, c.name()))
	}
	return c.start(ctx, u, id, back)
}

// runsElsewhere says whether another node may still be running the script.
func (m *Coordinator) runsElsewhere(ctx context.Context, cp scriptState) bool {
	if cp.Node == m.Execution.Op.Node { // this node before it was restarted, or it has stopped the script
		return false
	}
	if m.NodeAlive != nil && !m.NodeAlive(ctx, cp.Node) {
		return false
	}
	return m.Execution.Clock.Now().Sub(cp.Beat) < abandonedAfter+beatLimit
}

// scriptRun is the script that is run for one VNFC, in one tick.
type scriptRun struct {
	m      *Coordinator
	s      *lcm.Step
	cp     scriptState
	params *VNFCParams
	who    string
	key    string
}

func (c *scriptRun) name() string {
	vnfc, _, _ := strings.Cut(c.who, " ")
	return fmt.Sprintf("script %s for %s", c.params.script, vnfc)
}

// start begins the script, even if it has run before: the script must cope with that.
func (c *scriptRun) start(ctx context.Context, u Unit, id string, back bool) error {
	m := c.m
	limit, err := c.params.timeout()
	if err != nil {
		return lcm.Errorf(lcm.CodeUnprocessable, "timeout of the %s: %w", c.name(), err)
	}
	input, err := m.scriptInput(ctx, u, id, c.params, back)
	if err != nil {
		return err
	}
	now := m.Execution.Clock.Now()
	if end := m.Execution.Op.Deadline; !end.IsZero() { // the operation does not wait for longer
		limit = max(min(limit, end.Sub(now)), time.Second)
	}
	c.cp = scriptState{
		Node: m.Execution.Op.Node, Process: m.Process, Beat: now, Try: m.Execution.Op.Try, Starts: c.cp.Starts + 1,
	}
	if err := c.s.Save(ctx, c.cp); err != nil {
		return err
	}
	if c.cp.Starts > 1 {
		c.s.Logf(ctx, fmt.Sprintf("the %s is started again", c.name()))
	}
	m.Scripts.Stop(m.scriptsKey()) // of an earlier try or run, which is not followed any more
	if err := m.Scripts.Start(ctx, c.key, m.Execution.Package, c.params.script, input, limit); err != nil {
		return err
	}
	if err := c.s.Tell(ctx, c.name()); err != nil {
		if errors.Is(err, lcm.ErrFenced) { // cancelled between the checkpoint and the start
			m.Scripts.Stop(c.key)
		}
		return err
	}
	if known, err := c.follow(ctx); known {
		return err
	}
	return lcm.Wait(scriptLookMax, c.name()+" was stopped")
}

// follow stays with a script of this process for a while. known is false when this process does not run it.
func (c *scriptRun) follow(ctx context.Context) (known bool, err error) {
	m := c.m
	if c.cp.Over || c.cp.Process != m.Process {
		return false, nil
	}
	wait := min(max(m.Execution.Clock.Now().Sub(c.s.Started()), scriptLookMin), scriptLookMax)
	known, over, err := m.Scripts.Follow(ctx, c.key, wait, func(line string) { c.s.Logf(ctx, line) })
	if !known {
		return false, nil
	}

	last := m.Scripts.LastLine(c.key) // an earlier call may have read it
	if !over {
		return true, c.running(ctx, last)
	}
	if err == nil {
		c.s.Detail(strings.TrimSuffix(c.name()+" has succeeded: "+shortened(last), ": "))
		return true, nil
	}
	if c.cp.Try != m.Execution.Op.Try { // its outcome was not reported; the user has asked for another try
		return false, nil
	}
	c.cp.Over = true
	if err := c.s.Save(ctx, c.cp); err != nil {
		return true, err
	}
	m.Scripts.Stop(c.key)
	return true, c.failed(err)
}

// running says that the script is still running.
func (c *scriptRun) running(ctx context.Context, last string) error {
	if now := c.m.Execution.Clock.Now(); now.Sub(c.cp.Beat) > beatLimit/4 {
		c.cp.Beat = now
		if err := c.s.Save(ctx, c.cp); err != nil {
			return err
		}
	}
	why := c.name()
	if last != "" {
		why += ": " + shortened(last)
	}
	return lcm.Wait(scriptLookMin/2, why)
}

// shortened is a line as it fits beside others.
func shortened(line string) string {
	const most = 200
	if len(line) > most {
		return strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}

// failed is the failure of a script as the operation's.
func (c *scriptRun) failed(err error) error {
	e := *lcm.AsError(err)
	e.Title, e.Detail = "Coordination failed", "after the change of "+c.who+": "+e.Detail
	if e.Hint == "" {
		e.Hint = "remove the cause and retry the operation to run the script again, or roll it back"
	}
	return &e
}

// scriptInput is the input of a coordination script: the members of the request, the address of the VNFC and the
// instance.
func (m *Coordinator) scriptInput(
	ctx context.Context, u Unit, id string, p *VNFCParams, back bool,
) (map[string]any, error) {
	input, err := rawVnfcParams(m.Execution.Op.Params, u.VDU, back)
	if err != nil {
		return nil, err
	}
	is, err := m.present(ctx, id)
	if err != nil {
		return nil, err
	}
	if input["ssh_ip"], err = m.addressOf(ctx, is, p.CP); err != nil {
		return nil, err
	}
	input["is_rollback"] = back
	input["LcmCoordRequest"] = m.coordinationRequest(p, nil)
	inst, err := m.Stack.Before().Described()
	if err != nil {
		return nil, err
	}
	input["inst"] = redact.New().Instance(inst)
	input["vnfc_info_id"] = id
	return input, nil
}

// rawVnfcParams are new_vnfc_param or old_vnfc_param of a VDU with every member that the request has, known to us or
// not.
func rawVnfcParams(params json.RawMessage, vdu string, back bool) (map[string]any, error) {
	var req struct {
		AdditionalParams struct {
			VDUs []struct {
				VDU string         `json:"vdu_id"`
				New map[string]any `json:"new_vnfc_param"`
				Old map[string]any `json:"old_vnfc_param"`
			} `json:"vdu_params"`
		} `json:"additionalParams"`
	}
	dec := json.NewDecoder(strings.NewReader(string(params)))
	dec.UseNumber()
	if err := dec.Decode(&req); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	for _, v := range req.AdditionalParams.VDUs {
		switch {
		case v.VDU != vdu:
		case back && v.Old != nil:
			return v.Old, nil
		case !back && v.New != nil:
			return v.New, nil
		}
	}
	return nil, fmt.Errorf("the request has no parameters for the VNFCs of %s", vdu)
}

// Halt ends the operation's script on this node, or waits for it. One on another node ends when no tick follows it any
// more.
func (m *Coordinator) Halt(mode sol.CancelModeType) error {
	if m.Scripts == nil {
		return nil
	}
	if mode == sol.CancelModeForceful {
		m.Scripts.Stop(m.scriptsKey())
	} else if name := m.Scripts.Running(m.scriptsKey()); name != "" {
		return lcm.Wait(time.Second, "a script of the package is still running: "+name)
	}
	return nil
}
