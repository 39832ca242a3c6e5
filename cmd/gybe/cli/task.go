package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// task is a command that starts an operation on a VNF instance.
type task struct {
	op  sol.LcmOperationType
	cmd *cobra.Command
	// fill puts what arguments and flags say into the request.
	fill func(t *asked) error
	// ask returns the question to ask before the request is sent, nil for none; may be nil. Such a task has --yes.
	ask func(t *asked) *question
	// then is done when the operation has ended well; may be nil.
	then func(ctx context.Context, c *client.Client, id string) error
	// start sends the request; nil sends it as it is.
	start func(ctx context.Context, c *client.Client, id string, body json.RawMessage) (string, error)

	file  string
	plan  bool
	watch *watch
}

// asked is one call of a task.
type asked struct {
	id   string
	args []string // those after the instance
	body body
	plan bool // the request is not carried out
	// instance reads the instance.
	instance func() (*sol.VnfInstance, error)
	// hosts reads the machines of a cluster.
	hosts func() ([]gybeapi.SSHHost, error)
}

// taskCommand completes a command that starts an operation: -f, --plan and --watch work the same for all of them.
func (a *app) taskCommand(t *task) *cobra.Command {
	f := t.cmd.Flags()
	f.StringVarP(&t.file, "file", "f", "",
		"body of the request as defined by SOL003, a JSON file or - for standard input; flags take precedence")
	f.BoolVar(
		&t.plan, "plan", false, "show the effects and whether the VIM can perform them, without changing anything",
	)
	t.watch = a.addWatch(t.cmd)
	yes := new(bool)
	if t.ask != nil {
		yes = addYes(t.cmd)
	}
	cmd := a.onInstance(t.cmd, func(ctx context.Context, c *client.Client, id string, rest []string) error {
		in, raw, err := a.request(ctx, c, t, id, rest)
		if err != nil {
			return err
		}
		if t.plan {
			return a.showPlan(ctx, c, gybeapi.PlanRequest{VnfInstanceID: id, Operation: t.op, Params: raw})
		}
		if t.ask != nil && !*yes {
			if q := t.ask(in); q != nil {
				if err := a.confirmTask(ctx, c, t.op, id, raw, *q); err != nil {
					return err
				}
			}
		}
		var op string
		if t.start != nil {
			op, err = t.start(ctx, c, id, raw)
		} else {
			op, err = c.Start(ctx, id, t.op, raw)
		}
		if err != nil {
			return err
		}
		if err := a.started(ctx, c, t.watch, op); err != nil || t.then == nil {
			return err
		}
		return t.then(ctx, c, id)
	})
	return cmd
}

// request makes the body of a request from a file, arguments and flags.
func (a *app) request(
	ctx context.Context, c *client.Client, t *task, id string, rest []string,
) (*asked, json.RawMessage, error) {
	in := &asked{
		id: id, args: rest, body: body{}, plan: t.plan,
		instance: func() (*sol.VnfInstance, error) { return c.Instance(ctx, id) },
		hosts:    func() ([]gybeapi.SSHHost, error) { return c.SSHHosts(ctx, id) },
	}
	if t.file != "" {
		raw, err := a.readDocument(t.file)
		if err != nil {
			return nil, nil, err
		}
		name := documentName(t.file)
		if in.body, err = parseBody(raw); err != nil {
			return nil, nil, failWith(ExitRejected, "%s is not an object: %w", name, err)
		}
		if err := in.body.checkSpelling(t.op); err != nil {
			return nil, nil, failWith(ExitRejected, "%s: %w", name, err)
		}
	}
	if err := t.fill(in); err != nil {
		return nil, nil, err
	}
	raw, err := json.Marshal(in.body)
	return in, raw, err
}

// body is a request under construction.
type body map[string]any

// parseBody reads the JSON of a document that has to be an object.
func parseBody(raw []byte) (body, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // numbers stay as they were written
	var b body
	if err := dec.Decode(&b); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, fmt.Errorf("it is a value of the kind %s", wrong.Value)
		}
		return nil, err
	}
	if b == nil {
		return nil, errors.New("it is null")
	}
	return b, nil
}

// put sets a member if the flag that stands for it was given.
func (b body) put(cmd *cobra.Command, flag, member string, value any) {
	if cmd.Flags().Changed(flag) {
		b[member] = value
	}
}

// below returns the object that a member is, made if it is none yet.
func (b body) below(member string) body {
	inner, ok := b[member].(map[string]any)
	if !ok {
		inner = map[string]any{}
		b[member] = inner
	}
	return inner
}

// patch puts key=value arguments into the object that a member is; "key-" removes key.
func (b body) patch(flag, member string, in []string) error {
	for _, kv := range in {
		k, v, ok := strings.Cut(kv, "=")
		switch {
		case ok && k != "":
			b.below(member)[k] = v
		case !ok && len(kv) > 1 && strings.HasSuffix(kv, "-"):
			b.below(member)[strings.TrimSuffix(kv, "-")] = nil
		default:
			return usagef("--%s %q is not key=value, nor key- to remove it", flag, kv)
		}
	}
	return nil
}

// seconds is a duration as requests have it; it is refused when it is less than one.
func seconds(flag string, d time.Duration) (int, error) {
	if d < time.Second {
		return 0, usagef("--%s %s is less than one second", flag, d)
	}
	return int((d + time.Second - 1) / time.Second), nil
}

// aspects offers the scaling aspects of the instance that the first argument names to the shell.
func (a *app) aspects(suffix string) cobra.CompletionFunc {
	return a.ofInstance(func(i *sol.VnfInstance, _ []string) []cobra.Completion {
		if i.InstantiatedVnfInfo == nil {
			return nil
		}
		var out []cobra.Completion
		for _, s := range i.InstantiatedVnfInfo.ScaleStatus {
			out = append(
				out, cobra.CompletionWithDesc(s.AspectID+suffix, scaleText(s, i.InstantiatedVnfInfo.MaxScaleLevels)),
			)
		}
		return out
	})
}

// ofInstance offers things of the instance that the first argument names to the shell.
func (a *app) ofInstance(offer func(i *sol.VnfInstance, args []string) []cobra.Completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		c, err := a.client()
		if err != nil || len(args) == 0 {
			return nil, none
		}
		id, err := pick(cmd.Context(), "VNF instance", args[0], instanceThings(c))
		if err != nil {
			return nil, none
		}
		i, err := c.Instance(cmd.Context(), id)
		if err != nil {
			return nil, none
		}
		return slices.DeleteFunc(offer(i, args[1:]), func(s cobra.Completion) bool {
			return !strings.HasPrefix(s, typed)
		}), none
	}
}

// names lists the keys of a set for a person.
func names[V any](m map[string]V) string { return strings.Join(slices.Sorted(maps.Keys(m)), ", ") }
