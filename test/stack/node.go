package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// NodeOptions say how one gybe node is run.
type NodeOptions struct {
	// Bin is the folder with the gybe binary.
	Bin string
	// ID is the name of the node.
	ID string
	// Listen is the address of its API; "" is a free port on loopback.
	Listen string
	// Database is the connection string, Data the folder that all nodes of the database share.
	Database, Data string
	// SSHPort is the port of the machines' SSH.
	SSHPort int
	// Log gets what the process writes.
	Log io.Writer
	// Env is added to its environment.
	Env []string
	// Program runs instead of "gybe serve": a program that gets the same environment and answers /readyz.
	Program []string
}

// Node is one gybe process, running or not.
type Node struct {
	*Process
	ID  string
	URL string // of the API
	// Ready is how long it took from the start of the process to the first good answer of /readyz.
	Ready time.Duration
	env   []string
	log   io.Writer
	// program is the command line.
	program []string
}

// StartNode starts a node and returns when it is ready.
func StartNode(ctx context.Context, o NodeOptions) (*Node, error) {
	if o.Listen == "" {
		port, err := FreePort(ctx)
		if err != nil {
			return nil, err
		}
		o.Listen = "127.0.0.1:" + port
	}
	n := &Node{ID: o.ID, URL: "http://" + o.Listen, log: o.Log, program: o.Program}
	if n.program == nil {
		n.program = []string{filepath.Join(o.Bin, "gybe"), "serve"}
	}
	n.env = append([]string{
		"GYBE_DATABASE_URL=" + o.Database, "GYBE_LISTEN=" + o.Listen, "GYBE_PUBLIC_URL=" + n.URL,
		"GYBE_DATA_DIR=" + o.Data, "GYBE_NODE_ID=" + o.ID, "GYBE_DEBUG_LISTEN=",
		"GYBE_SSH_PORT=" + strconv.Itoa(o.SSHPort),
	}, o.Env...)
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return nil, err
	}
	return n, n.Start(ctx)
}

// Start starts the node's process, again if it was killed, and returns when it is ready.
func (n *Node) Start(ctx context.Context) error {
	began := time.Now()
	p, err := start(n.log, n.log, n.env, n.program[0], n.program[1:]...)
	if err != nil {
		return err
	}
	n.Process = p
	if err := waitReady(ctx, p, n.URL+"/readyz"); err != nil {
		p.Kill()
		return fmt.Errorf("node %s: %w", n.ID, err)
	}
	n.Ready = time.Since(began)
	return nil
}

// waitReady asks until the answer is 200 or the process ends.
func waitReady(ctx context.Context, p *Process, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
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

// givenPorts are the ports that FreePort has returned in this process.
var givenPorts sync.Map

// FreePort finds a port that is free now. The kernel gives ports of this range only to programs that name them, so it
// stays free while the node that uses it is down.
func FreePort(ctx context.Context) (string, error) {
	const first, count = 20_000, 12_000
	var lc net.ListenConfig
	var errs error
	for range 100 {
		port := strconv.Itoa(first + rand.IntN(count))
		if _, given := givenPorts.LoadOrStore(port, true); given {
			continue
		}
		l, err := lc.Listen(ctx, "tcp", "127.0.0.1:"+port)
		if err == nil {
			return port, l.Close()
		}
		errs = err
	}
	return "", fmt.Errorf("find a free port: %w", errs)
}
