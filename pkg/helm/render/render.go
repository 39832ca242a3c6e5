// Package render executes the templates of a Helm chart in a process of its own. Templates can loop, call each other
// without end and fill the memory, and nothing in Go stops them from outside. The process has limits of time and
// memory, no environment and no open files. It asks for objects of the cluster (lookup) through its standard output,
// and its parent answers.
package render

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// The limits of the process.
const (
	cpuTime   = 10               // seconds
	wallTime  = 30 * time.Second // with the answers to lookups
	memory    = 1 << 30          // bytes
	maxOutput = 32 << 20         // bytes of all answers
)

// slots bound the processes at a time, and so their memory: each costs CPU to start, and with many of them at once each
// would come to its wall time. Processes that wait for lookups need no CPU, so there are more than cores.
var slots = make(chan struct{}, 2*runtime.GOMAXPROCS(0))

// Lookup returns an object of the cluster, or a list when name is "". An object that does not exist is an empty map.
type Lookup func(ctx context.Context, apiVersion, kind, namespace, name string) (map[string]any, error)

// Input is what templates are executed with.
type Input struct {
	Files        []*common.File        `json:"files"` // of the chart
	Values       map[string]any        `json:"values"`
	Release      common.ReleaseOptions `json:"release"`
	Capabilities *common.Capabilities  `json:"capabilities"`
}

// message is what the process sends: a question, or at last a result.
type message struct {
	Lookup []string          `json:"lookup,omitempty"` // apiVersion, kind, namespace, name
	Files  map[string]string `json:"files,omitempty"`  // rendered, by path
	Error  string            `json:"error,omitempty"`
}

// answer is the answer to a lookup.
type answer struct {
	Object map[string]any `json:"object"`
	Error  string         `json:"error,omitempty"`
}

// Render executes the templates and returns a chart whose templates are the results. The error is CodeUnprocessable
// with the text of Helm when a template fails, and when the limits are exceeded.
func Render(ctx context.Context, c *chart.Chart, in Input, lookup Lookup) (*chart.Chart, error) {
	in.Files = c.Raw
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wallTime, errLimit)
	defer cancel()
	files, err := run(ctx, in, lookup)
	if err == nil {
		return flat(c, files), nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errLimit) {
		return nil, cause
	}
	e := lcm.Errorf(lcm.CodeUnprocessable, "the templates of the Helm chart %s: %w", c.Name(), err)
	e.Title, e.Hint = "Helm chart failed", "correct the chart or its values"
	return nil, e
}

// errLimit is the error of templates that need too much.
var errLimit = fmt.Errorf("they took more than %d s of CPU, %s, or %d MiB of memory", cpuTime, wallTime, memory>>20)

func run(ctx context.Context, in Input, lookup Lookup) (map[string]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self) //nolint:gosec // the program that runs now
	cmd.Args, cmd.Dir = []string{processName}, "/"
	cmd.Env = []string{"GOMAXPROCS=1", "GOTRACEBACK=none"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	files, err := talk(ctx, stdin, io.LimitReader(stdout, maxOutput), in, lookup)
	_ = cmd.Process.Kill() // it has said everything
	if waitErr := cmd.Wait(); err != nil && waitErr != nil && errors.Is(err, errEnded) {
		err = errLimit
	}
	return files, err
}

// errEnded is the error of a process that has ended without a result.
var errEnded = errors.New("the process has ended")

// talk sends the input and answers questions until the result is there.
func talk(ctx context.Context, to io.Writer, from io.Reader, in Input, lookup Lookup) (map[string]string, error) {
	out, answers := json.NewEncoder(to), json.NewDecoder(from)
	if err := out.Encode(in); err != nil {
		return nil, errEnded
	}
	for {
		var m message
		if err := answers.Decode(&m); err != nil {
			return nil, errEnded
		}
		switch {
		case m.Error != "":
			return nil, errors.New(m.Error)
		case len(m.Lookup) != 4:
			return m.Files, nil
		}
		var a answer
		var err error
		if a.Object, err = lookup(ctx, m.Lookup[0], m.Lookup[1], m.Lookup[2], m.Lookup[3]); err != nil {
			a.Error = err.Error()
		}
		if err := out.Encode(a); err != nil {
			return nil, errEnded
		}
	}
}

// flat makes a chart of rendered files, in which nothing is left to execute.
func flat(c *chart.Chart, files map[string]string) *chart.Chart {
	meta := *c.Metadata
	meta.Dependencies = nil
	out := &chart.Chart{Metadata: &meta}
	for name, text := range files {
		if name = trim(name, c.Name()); name == "" || strings.TrimSpace(text) == "" {
			continue
		}
		data := bytes.ReplaceAll([]byte(text), []byte("{{"), []byte("{{`{{`}}"))
		out.Templates = append(out.Templates, &common.File{Name: name, Data: data})
	}
	for n, crd := range c.CRDObjects() {
		out.Files = append(out.Files, &common.File{Name: fmt.Sprintf("crds/%d.yaml", n), Data: crd.File.Data})
	}
	return out
}
