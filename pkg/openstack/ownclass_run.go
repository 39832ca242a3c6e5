package openstack

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/script"
	"github.com/gybe-nfv/gybe/pkg/script/durable"
)

// The times that a class of the package has: for an operation, and where a client waits for it.
const (
	classTime     = 2 * time.Minute
	classPlanTime = 30 * time.Second
	classLook     = 5 * time.Second // how long a tick stays with it
)

// assemble has the class of the package make the stack of the operation, once. It does nothing for built-in classes.
// What the class is given has to be complete: images are uploaded before.
func (t *tick) assemble(ctx context.Context) error {
	g, err := t.desiredAt(&t.part)
	if err != nil || g.own == nil {
		return err
	}
	return t.w.Step(ctx, "user data", g.own.String(), func(ctx context.Context, s *lcm.Step) error {
		if assembledBy(t.w) != nil {
			return nil
		}
		made, err := t.resized(&t.part, g)
		if err == nil && made == nil {
			made, err = t.runClass(ctx, s, g)
		}
		if err != nil {
			return err
		}
		if err := g.granted(made, t.w); err != nil {
			return err
		}
		made.Operation = t.w.Op.ID
		t.w.Instance.Assembled = made
		s.Detail(fmt.Sprintf("%s has made a template of %d bytes and %d files", g.own, len(made.Template),
			len(made.Files)))
		return t.w.Commit(ctx)
	})
}

// runClass is one look at the class that runs in the background of this node. A run that another node has begun is not
// waited for: a class changes nothing, and only the result that is stored counts.
func (t *tick) runClass(ctx context.Context, s *lcm.Step, g desired) (*lcm.AssembledStack, error) {
	if t.cfg.Scripts == nil {
		return nil, lcm.Errorf(lcm.CodeUnprocessable,
			"the user-data class %s cannot be run: this node runs no scripts of packages", g.own).
			WithHint("all nodes need the same setting scripts.python; set it, then retry the operation")
	}
	key := durable.Prefix(t.w.Op) + "user data"
	line := func(text string) { s.Logf(ctx, text) }
	known, over, err := t.cfg.Scripts.Follow(ctx, key, classLook, line)
	if !known {
		if err := t.startClass(ctx, &t.part, g, key, classTime); err != nil {
			return nil, err
		}
		_, over, err = t.cfg.Scripts.Follow(ctx, key, classLook, line)
	}
	if !over {
		return nil, lcm.Wait(100*time.Millisecond, "the user-data class "+g.own.String()+" of the package runs")
	}
	raw := t.cfg.Scripts.Result(key)
	t.cfg.Scripts.Stop(key)
	return t.classResult(&t.part, g, raw, err)
}

// runClassNow runs the class for a plan or for the comparison with a grant: nothing is stored.
func (d *Driver) runClassNow(ctx context.Context, s *part, g desired) (*lcm.AssembledStack, error) {
	if made, err := d.resized(s, g); made != nil || err != nil {
		return made, err
	}
	key := "plan/" + uuid.NewString()
	if err := d.startClass(ctx, s, g, key, classPlanTime); err != nil {
		return nil, err
	}
	defer d.cfg.Scripts.Stop(key)
	for {
		_, over, err := d.cfg.Scripts.Follow(ctx, key, classPlanTime, func(string) {})
		if over {
			return d.classResult(s, g, d.cfg.Scripts.Result(key), err)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// resized is the stack with other sizes of its groups, if the operation scales these; nil if it calls the class.
func (d *Driver) resized(s *part, g desired) (*lcm.AssembledStack, error) {
	former, err := d.formerStack(s)
	if err != nil || !scalesGroups(s.w.Op.Type, former) {
		return nil, err
	}
	made, err := userdata.Resized(former, g.changed())
	if err != nil {
		return nil, g.packageFault(err)
	}
	return made, nil
}

func (d *Driver) startClass(ctx context.Context, s *part, g desired, key string, limit time.Duration) error {
	input, err := d.classInput(s, g)
	if err != nil {
		return err
	}
	j := script.Job{
		Package: g.files, Script: g.own.File, Kind: script.UserData, Class: g.own.Name,
		Method: classMethods[s.w.Op.Type], Input: input, Timeout: limit,
	}
	if g.own.IsProgram() {
		j.Program = script.UserDataProgram
		input["operation"] = j.Method
	}
	return d.cfg.Scripts.StartJob(ctx, key, j)
}

// classResult is the stack that follows from what a class has returned, or the error of its run.
func (d *Driver) classResult(s *part, g desired, raw json.RawMessage, failure error) (*lcm.AssembledStack, error) {
	fault := func(e *lcm.Error) error {
		out := *e
		out.Title = "User-data class failed"
		if out.Hint == "" {
			out.Hint = "correct the class in the package, or the values of additionalParams that it reads; the log " +
				"of the step \"user data\" has its output"
		}
		return &out
	}
	if failure != nil {
		return nil, fault(lcm.AsError(failure))
	}
	wrong := func(err error) error {
		return fault(lcm.Errorf(lcm.CodeUpstream, "%s.%s: %w", g.own, classMethods[s.w.Op.Type], err))
	}
	result, err := userdata.ParseResult(raw)
	if err != nil {
		return nil, wrong(err)
	}
	former, err := d.formerStack(s)
	if err != nil {
		return nil, err
	}
	made, err := result.Over(former)
	if err != nil {
		return nil, wrong(err)
	}
	return made, nil
}

// formerStack is the stack before the operation; nil for an instantiation.
func (d *Driver) formerStack(s *part) (*lcm.AssembledStack, error) {
	if s.w.Op.Kind().Instantiates() {
		return nil, nil
	}
	g, err := d.previousAt(s)
	return g.made, err
}

// granted compares a stack with the grant of an NFVO, before it is sent.
func (g desired) granted(made *lcm.AssembledStack, w *lcm.Execution) error {
	if w.Op.GrantHref == "" {
		return nil
	}
	g.made = made
	st, err := g.buildOwn()
	if err != nil {
		return err
	}
	return g.ungranted(st)
}
