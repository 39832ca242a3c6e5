package openstack

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
)

// ScriptRunner runs Python scripts of packages in the background of this process. The errors are *lcm.Error and carry no secrets.
type ScriptRunner interface {
	// Start begins a run under a key that no run has, for at most timeout. It goes on after ctx ends, and ends with the process or when nobody
	// has asked about it for abandonedAfter. The script finds a pickle of input on its standard input.
	Start(ctx context.Context, key string, pkg fs.FS, script string, input any, timeout time.Duration) error
	// Follow hands over the lines written since the last call, and waits for the end of the run or for a time. known is false when this process
	// has no such run; err is the outcome of one that is over.
	Follow(ctx context.Context, key string, wait time.Duration, line func(string)) (known, over bool, err error)
	// Running names a script that runs under a key with this beginning; "" when none does.
	Running(prefix string) string
	// Stop kills the runs whose keys have this beginning, waits for their end and forgets them.
	Stop(prefix string)
}

// abandonedAfter is how long a run goes on that nobody asks about. Another node leaves a run alone for longer than this.
const abandonedAfter = 2 * time.Minute

// scripting is the checkpoint of the step that runs a script for one VNFC. It is durable before the script begins.
type scripting struct {
	// Node and Process say who runs the script, Beat when it last said so.
	Node    string    `json:"node"`
	Process string    `json:"process"`
	Beat    time.Time `json:"beat"`
	// Try is the operation's try in which it began, Starts how often it has been started.
	Try    int `json:"try"`
	Starts int `json:"starts"`
	// Over says that the run has ended, and that its outcome has been told.
	Over bool `json:"over,omitempty"`
}

// The time that a tick stays with a script, which is longer the longer the script runs.
const (
	scriptLookMin = 200 * time.Millisecond
	scriptLookMax = 5 * time.Second
)

// scriptsKey is the beginning of the keys of all scripts of the operation.
func (j *job) scriptsKey() string { return j.w.Op.ID + "/" }

// runScript is one look at the script of a VNFC, and what follows from it.
func (j *job) runScript(ctx context.Context, s *lcm.Step, u unit, id string, p *vnfcParams, back bool) error {
	if j.cfg.Scripts == nil {
		return lcm.Errorf(lcm.CodeUnprocessable, "the script %s cannot be run after the change of %s: this node runs no scripts of packages", p.script, id).
			WithHint("all nodes need the same setting scripts.python; set it, then retry the operation, or roll it back")
	}
	var cp scripting
	if _, err := s.Load(&cp); err != nil {
		return fmt.Errorf("read the step's checkpoint: %w", err)
	}
	c := errand{j: j, s: s, cp: cp, params: p, who: fmt.Sprintf("%s of %s", u.name, id), key: fmt.Sprintf("%s%d/%s", j.scriptsKey(), j.w.Op.Run, id)}
	if known, err := c.follow(ctx); known {
		return err
	}
	if !cp.Over && cp.Node != "" && j.runsElsewhere(ctx, cp) {
		return lcm.Wait(3*time.Second, fmt.Sprintf("node %s runs the %s", cp.Node, c.what()))
	}
	return c.start(ctx, u, id, back)
}

// runsElsewhere says whether another node may still be running the script.
func (j *job) runsElsewhere(ctx context.Context, cp scripting) bool {
	if cp.Node == j.w.Op.Node { // this node before it was restarted, or it has stopped the script
		return false
	}
	if j.cfg.NodeAlive != nil && !j.cfg.NodeAlive(ctx, cp.Node) {
		return false
	}
	return j.w.Clock.Now().Sub(cp.Beat) < abandonedAfter+beatLimit
}

// errand is the script that is run for one VNFC, in one tick.
type errand struct {
	j      *job
	s      *lcm.Step
	cp     scripting
	params *vnfcParams
	who    string
	key    string
}

func (c *errand) what() string {
	vnfc, _, _ := strings.Cut(c.who, " ")
	return fmt.Sprintf("script %s for %s", c.params.script, vnfc)
}

// start begins the script, whatever an earlier run of it has done: nobody else knows.
func (c *errand) start(ctx context.Context, u unit, id string, back bool) error {
	j := c.j
	limit, err := c.params.timeout()
	if err != nil {
		return lcm.Errorf(lcm.CodeUnprocessable, "timeout of the %s: %w", c.what(), err)
	}
	input, err := j.scriptInput(ctx, u, id, c.params, back)
	if err != nil {
		return err
	}
	now := j.w.Clock.Now()
	if end := j.w.Op.Deadline; !end.IsZero() { // nobody waits for longer
		limit = max(min(limit, end.Sub(now)), time.Second)
	}
	c.cp = scripting{Node: j.w.Op.Node, Process: j.uploads.id(), Beat: now, Try: j.w.Op.Tries, Starts: c.cp.Starts + 1}
	if err := c.s.Save(ctx, c.cp); err != nil {
		return err
	}
	if c.cp.Starts > 1 {
		c.s.Logf(ctx, fmt.Sprintf("the %s is started again", c.what()))
	}
	j.cfg.Scripts.Stop(j.scriptsKey()) // of an earlier try or run, which nobody waits for any more
	if err := j.cfg.Scripts.Start(ctx, c.key, j.w.Package, c.params.script, input, limit); err != nil {
		return err
	}
	if err := c.s.Tell(ctx, c.what()); err != nil {
		if errors.Is(err, lcm.ErrFenced) { // cancelled between the checkpoint and the start
			j.cfg.Scripts.Stop(c.key)
		}
		return err
	}
	if known, err := c.follow(ctx); known {
		return err
	}
	return lcm.Wait(scriptLookMax, c.what()+" was stopped")
}

// follow stays with a script of this process for a while. known is false when this process does not run it.
func (c *errand) follow(ctx context.Context) (known bool, err error) {
	j := c.j
	if c.cp.Over || c.cp.Process != j.uploads.id() {
		return false, nil
	}
	wait := min(max(j.w.Clock.Now().Sub(c.s.Started()), scriptLookMin), scriptLookMax)
	last := ""
	known, over, err := j.cfg.Scripts.Follow(ctx, c.key, wait, func(line string) {
		last = line
		c.s.Logf(ctx, line)
	})
	if !known {
		return false, nil
	}
	if !over {
		return true, c.goesOn(ctx, last)
	}
	if err == nil {
		c.s.Detail(strings.TrimSuffix(c.what()+" has succeeded: "+shortened(last), ": "))
		return true, nil
	}
	if c.cp.Try != j.w.Op.Tries { // nobody was there to be told; the user has asked for another try
		return false, nil
	}
	c.cp.Over = true
	if err := c.s.Save(ctx, c.cp); err != nil {
		return true, err
	}
	j.cfg.Scripts.Stop(c.key)
	return true, c.failed(err)
}

// goesOn says that the script is still running.
func (c *errand) goesOn(ctx context.Context, last string) error {
	if now := c.j.w.Clock.Now(); now.Sub(c.cp.Beat) > beatLimit/4 {
		c.cp.Beat = now
		if err := c.s.Save(ctx, c.cp); err != nil {
			return err
		}
	}
	why := c.what()
	switch {
	case last != "":
		why += ": " + shortened(last)
	case strings.HasPrefix(c.s.Told(), why+": "):
		why = c.s.Told()
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
func (c *errand) failed(err error) error {
	e := *lcm.AsError(err)
	e.Title, e.Detail = "Coordination failed", "after the change of "+c.who+": "+e.Detail
	if e.Hint == "" {
		e.Hint = "remove the cause and retry the operation to run the script again, or roll it back"
	}
	return &e
}

// scriptInput is what a coordination script is told: the members of the request, and where and what it is about.
func (j *job) scriptInput(ctx context.Context, u unit, id string, p *vnfcParams, back bool) (map[string]any, error) {
	input, err := rawVnfcParams(j.w.Op.Params, u.params.VDU, back)
	if err != nil {
		return nil, err
	}
	is, err := j.present(ctx, id)
	if err != nil {
		return nil, err
	}
	if input["ssh_ip"], err = j.addressOf(ctx, is, p.CP); err != nil {
		return nil, err
	}
	i := j.before()
	input["is_rollback"] = back
	input["LcmCoordRequest"] = j.coordinationRequest(p, nil)
	input["inst"] = sol.VnfInstance{
		ID: i.ID, VnfInstanceName: i.Name, VnfInstanceDescription: i.Description, VnfdID: i.VnfdID, VnfProvider: i.Provider,
		VnfProductName: i.ProductName, VnfSoftwareVersion: i.SoftwareVersion, VnfdVersion: i.VnfdVersion,
		InstantiationState: i.State, InstantiatedVnfInfo: i.Instantiated, Metadata: i.Metadata, Extensions: i.Extensions,
		VnfConfigurableProperties: i.ConfigurableProperties,
	}.Redacted()
	input["vnfc_info_id"] = id
	return input, nil
}

// rawVnfcParams are new_vnfc_param or old_vnfc_param of a VDU with every member that the request has, known to us or not.
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

// scriptsHalted ends the operation's script on this node, or waits for it. One on another node ends when nobody asks about it any more.
func (j *job) scriptsHalted(mode sol.CancelModeType) error {
	if j.cfg.Scripts == nil {
		return nil
	}
	if mode == sol.CancelModeForceful {
		j.cfg.Scripts.Stop(j.scriptsKey())
	} else if name := j.cfg.Scripts.Running(j.scriptsKey()); name != "" {
		return lcm.Wait(time.Second, "a script of the package is still running: "+name)
	}
	return nil
}
