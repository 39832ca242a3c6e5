package stack

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
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

// Node is one running gybe.
type Node struct {
	*Process
	ID  string
	URL string // of the API
	// Ready is how long it took from the start of the process to the first good answer of /readyz.
	Ready time.Duration
	env   []string
	log   io.Writer
	bin   string
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
	if s.Database, err = devpg.Start(ctx, devpg.Options{Dir: filepath.Join(o.Dir, "pg"), Unsafe: o.Unsafe}); err != nil {
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
	listen := s.Listen
	if listen == "" || n > 0 {
		port, err := freePort(ctx)
		if err != nil {
			return nil, err
		}
		listen = "127.0.0.1:" + port
	}
	id := "node-" + strconv.Itoa(n+1)
	log, err := s.logFile(id + ".log")
	if err != nil {
		return nil, err
	}
	node := &Node{ID: id, URL: "http://" + listen, log: log, bin: filepath.Join(s.Bin, "gybe")}
	node.env = append([]string{
		"GYBE_DATABASE_URL=" + s.Database.URL(), "GYBE_LISTEN=" + listen, "GYBE_PUBLIC_URL=" + node.URL,
		"GYBE_DATA_DIR=" + filepath.Join(s.Dir, "content"), "GYBE_NODE_ID=" + id, "GYBE_DEBUG_LISTEN=",
		"GYBE_SSH_PORT=" + strconv.Itoa(s.SSHPort),
	}, append(s.Env, env...)...)
	if err := os.MkdirAll(filepath.Join(s.Dir, "content"), 0o700); err != nil {
		return nil, err
	}
	if err := node.Start(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.nodes = append(s.nodes, node)
	s.mu.Unlock()
	return node, nil
}

// Start starts the node's process, again if it was killed, and returns when it is ready.
func (n *Node) Start(ctx context.Context) error {
	began := time.Now()
	p, err := start(n.log, n.log, n.env, n.bin, "serve")
	if err != nil {
		return err
	}
	n.Process = p
	if err := waitReady(ctx, p, n.URL+"/readyz"); err != nil {
		return fmt.Errorf("node %s: %w", n.ID, err)
	}
	n.Ready = time.Since(began)
	return nil
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
			errs = append(errs, n.Process.Stop(20*time.Second))
		}
	}
	if s.simProc != nil {
		errs = append(errs, s.simProc.Stop(5*time.Second))
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

// waitReady asks until the answer is 200 or the process ends.
func waitReady(ctx context.Context, p *Process, url string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-p.Done():
			return errors.New("it ended before it was ready; its log says why")
		case <-ctx.Done():
			return errors.New("it was not ready in time; its log says why")
		}
	}
}

// freePort asks the kernel for a port that is free now.
func freePort(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
