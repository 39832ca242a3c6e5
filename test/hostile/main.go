// Command hostile sends hostile traffic to one node, of the kinds that a security review tried, while honest users
// work with the same node. At the end it compares the outcome with the promise: no status 5xx except 503 for a limit
// that has a name, bounded memory, and an answer to every honest request. It exits with 1 when the promise is broken.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/gybe-nfv/gybe/test/stack"
)

func main() {
	var o options
	flag.DurationVar(&o.duration, "time", 2*time.Minute, "how long to send hostile traffic")
	flag.StringVar(&o.bin, "bin", "bin", "folder with the binaries gybe and simcloud")
	flag.StringVar(&o.only, "only", "", "one kind of traffic (default all)")
	flag.Int64Var(&o.memory, "memory", 300, "MiB of resident memory that the node may use")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(1)
	}
}

type options struct {
	duration  time.Duration
	bin, only string
	memory    int64
}

// run starts everything, sends traffic for the time, and reports.
func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "gybe-hostile")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // PostgreSQL runs as another user
		return err
	}
	file := filepath.Join(dir, "tokens")
	credentials, err := writeTokens(file)
	if err != nil {
		return err
	}
	s, err := stack.Start(ctx, stack.Options{
		Dir: dir, Bin: o.bin, Nodes: 1, SSHPort: 2226, SimArgs: []string{"--large-networks"},
		Env: []string{"GYBE_GRANT_ZONES=nova", "GYBE_AUTH_TOKENS_FILE=" + file},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()

	r := newReport()
	b, err := newBattle(ctx, s, dir, credentials, r)
	if err != nil {
		return err
	}
	defer b.close()
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() { r.watch(limited, s.Node(0)) })
	for _, h := range b.honest() {
		all.Go(func() { h.run(limited, r) })
	}
	for _, k := range b.kinds() {
		if o.only == "" || o.only == k.name {
			all.Go(func() { k.run(limited) })
		}
	}
	all.Wait()
	fmt.Fprintf(os.Stdout, "%s of hostile traffic\n\n", time.Since(began).Round(time.Second))
	return r.print(os.Stdout, o.memory<<20)
}
