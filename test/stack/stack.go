package stack

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// Options says what to start; the zero value of a field means what its comment says.
type Options struct {
	// Dir holds data, logs and the content store; it MUST exist.
	Dir string
	// Bin is the folder with the binaries gybe and simcloud.
	Bin string
	// Nodes is how many gybe nodes Start starts.
	Nodes int
	// Listen is the address of the first node's API; "" is a free port on loopback.
	Listen string
	// SSHPort is the port of the simulated machines' SSH; 0 is 2222.
	SSHPort int
	// Unsafe gives up PostgreSQL's durability for speed.
	Unsafe bool
	// SimArgs are further arguments of simcloud.
	SimArgs []string
	// Env is added to every node's environment.
	Env []string
}

// Stack is everything that runs.
type Stack struct {
	Options
	Database *devpg.Server
	Sim      simcloud.Info
	simProc  *Process
	atStart  simcloud.State

	mu    sync.Mutex
	nodes []*Node
	logs  []io.Closer
}

// Start starts PostgreSQL, the simulated cloud and the nodes, and returns when all answer.
func Start(ctx context.Context, o Options) (_ *Stack, err error) {
	if o.SSHPort == 0 {
		o.SSHPort = 2222
	}
	s := &Stack{Options: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	if s.Database, err = devpg.Start(
		ctx, devpg.Options{Dir: filepath.Join(o.Dir, "pg"), Unsafe: o.Unsafe},
	); err != nil {
		return s, err
	}
	if err = s.startSim(ctx); err != nil {
		return s, err
	}
	for range o.Nodes {
		if _, err = s.AddNode(ctx); err != nil {
			return s, err
		}
	}
	return s, nil
}

// startSim starts the simulated cloud and reads what it says of itself.
func (s *Stack) startSim(ctx context.Context) error {
	log, err := s.logFile("simcloud.log")
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()
	s.simProc, err = start(log, w, nil, filepath.Join(s.Bin, "simcloud"),
		append([]string{"--ssh-port", strconv.Itoa(s.SSHPort)}, s.SimArgs...)...)
	if err != nil {
		return err
	}
	said := make(chan error, 1)
	go func() {
		out := bufio.NewReader(r)
		line, err := out.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &s.Sim)
		}
		said <- err
		_, _ = io.Copy(log, out) // its later words are for the log
	}()
	select {
	case err := <-said:
		if err != nil {
			return fmt.Errorf("simcloud did not start, see %s: %w", filepath.Join(s.Dir, "simcloud.log"), err)
		}
		s.atStart, err = s.SimState(ctx)
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// AddNode starts one more node on the same database.
func (s *Stack) AddNode(ctx context.Context, env ...string) (*Node, error) {
	s.mu.Lock()
	n := len(s.nodes)
	s.mu.Unlock()
	o := NodeOptions{
		Bin: s.Bin, ID: "node-" + strconv.Itoa(n+1), Database: s.Database.URL(), Data: filepath.Join(s.Dir, "content"),
		SSHPort: s.SSHPort, Env: append(s.Env, env...),
	}
	if n == 0 {
		o.Listen = s.Listen
	}
	log, err := s.logFile(o.ID + ".log")
	if err != nil {
		return nil, err
	}
	o.Log = log
	node, err := StartNode(ctx, o)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.nodes = append(s.nodes, node)
	s.mu.Unlock()
	return node, nil
}

// Node returns the i-th node, from 0.
func (s *Stack) Node(i int) *Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes[i]
}

// SimProcess is the simulated cloud's process.
func (s *Stack) SimProcess() *Process { return s.simProc }

// Stop ends everything, nodes first.
func (s *Stack) Stop() error {
	var errs []error
	for _, n := range s.nodes {
		if n.Process != nil {
			errs = append(errs, n.Process.Stop(time.Minute))
		}
	}
	if s.simProc != nil {
		errs = append(errs, s.simProc.Stop(time.Minute))
	}
	if s.Database != nil {
		errs = append(errs, s.Database.Stop())
	}
	for _, l := range s.logs {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

func (s *Stack) logFile(name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(s.Dir, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	s.logs = append(s.logs, f)
	return f, nil
}
