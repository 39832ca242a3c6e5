// Command bench measures gybe as its users load it: the compiled binary against a private PostgreSQL and the
// simulated cloud, all in one run, so that figures can be compared with each other. It asserts nothing.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/test/stack"
)

func main() {
	b := bench{onboarded: map[string]string{}, clusters: map[int]built{}}
	flag.StringVar(&b.only, "only", "",
		"comma separated sections: auth, reads, versions, lists, packages, requests, operations, classes, notify, "+
			"tour, slow, silent, crowd, nodes, cluster, fleet, cnf (default all)")
	flag.StringVar(&b.bin, "bin", "bin", "folder with the gybe and simcloud binaries")
	flag.IntVar(&b.rows, "rows", listedOperations, "operations that the section lists inserts")
	flag.IntVar(&b.parallel, "parallel", 100, "instantiations at once")
	lab := flag.Bool(
		"lab", false, "measure every operation on the real OpenStack that the variables OS_* name, instead",
	)
	flag.IntVar(&b.instances, "tours", 3, "instances that run every operation of -lab, one after the other")
	floor := flag.Bool("floor", false, "serve what a read of gybe is compared with; the benchmark starts it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if *floor {
		err = serveFloor(ctx, os.Getenv("GYBE_LISTEN"), os.Getenv("GYBE_DATABASE_URL"))
	} else {
		err = b.inFolder(func(dir string) error {
			if *lab {
				return b.lab(ctx, dir)
			}
			return b.run(ctx, dir)
		})
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type bench struct {
	only, bin string
	parallel  int
	rows      int
	made      int
	instances int
	current   string // the instance of the current tour
	stack     *stack.Stack
	node      *stack.Node
	api       *client.Client
	onboarded map[string]string // vnfdId by source tree
	clusters  map[int]built     // by number of nodes
}

func (b *bench) wants(section string) bool {
	return b.only == "" || strings.Contains(","+b.only+",", ","+section+",")
}

// inFolder measures with a folder that is removed afterwards.
func (b *bench) inFolder(measure func(dir string) error) error {
	dir, err := os.MkdirTemp("", "gybe-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	b.begin()
	return measure(dir)
}

func (b *bench) run(ctx context.Context, dir string) (err error) {
	b.stack, err = stack.Start(ctx, stack.Options{
		Dir: dir, Bin: b.bin, Nodes: 1, SSHPort: 2223, SimArgs: []string{"--large-networks"},
		Env: []string{
			"GYBE_LIMITS_REQUESTS=0", "GYBE_LIMITS_PAGE_SIZE=100", "GYBE_GRANT_ZONES=nova",
			"GYBE_NOTIFY_TEST_CALLBACK=false", "GYBE_NOTIFY_SUBSCRIPTIONS=20000",
		},
	})
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := b.stack.Stop(); err == nil {
			err = stopErr
		}
	}()
	b.node = b.stack.Node(0)
	if b.api, err = client.New(b.node.URL, nil); err != nil {
		return err
	}
	idle, err := b.node.Usage()
	if err != nil {
		return err
	}
	b.row("start to ready, empty database", "", ms(b.node.Ready), "")
	if err := b.restart(ctx); err != nil {
		return err
	}
	b.row("resident memory, idle", "", mib(idle.RSS),
		"aim ≤ 60 MiB; without pages of the program's file "+mib(idle.Own))
	for _, s := range []struct {
		name string
		run  func(context.Context, string) error
	}{
		{"auth", b.authentication},
		{"reads", b.reads},
		{"versions", b.versions},
		{"requests", b.requests},
		{"operations", b.operations},
		{"granted", b.granted},
		{"classes", b.classes},
		{"notify", b.notifications},
		{"tour", b.tours},
		{"slow", b.slow},
		{"silent", b.silent},
		{"crowd", b.crowd},
		{"nodes", b.nodes},
		{"cluster", b.cluster},
		{"fleet", b.fleet},
		{"cnf", b.cnfs},
		{"lists", b.lists},
		{"packages", b.packages},
	} {
		if !b.wants(s.name) {
			continue
		}
		if err := s.run(ctx, dir); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// restart measures a start on a migrated database.
func (b *bench) restart(ctx context.Context) error {
	if err := b.reconnect(ctx); err != nil {
		return err
	}
	b.row("start to ready, second start", "", ms(b.node.Ready), "aim ≤ 500 ms")
	return nil
}

// reconnect stops the node and starts it again.
func (b *bench) reconnect(ctx context.Context) error {
	if err := b.node.Stop(20 * time.Second); err != nil {
		return err
	}
	return b.node.Start(ctx)
}

// upload builds a package's source tree into dir and onboards it, once.
func (b *bench) upload(ctx context.Context, dir, source string) (vnfdID string, err error) {
	if id, ok := b.onboarded[source]; ok {
		return id, nil
	}
	archive := filepath.Join(dir, filepath.Base(source)+".zip")
	if err := stack.BuildPackage(ctx, source, archive); err != nil {
		return "", err
	}
	if vnfdID, err = stack.Onboard(ctx, b.api, archive); err == nil {
		b.onboarded[source] = vnfdID
	}
	return vnfdID, err
}

// begin prints the head of the table.
func (b *bench) begin() {
	fmt.Fprintf(
		os.Stdout, "gybe on %d cores, %s; one run, so compare rows with each other\n\n", runtime.NumCPU(),
		runtime.Version(),
	)
	b.row("WHAT", "WITH", "MEASURED", "NOTE")
}

// row prints what has been measured at once: a whole run takes many minutes.
func (b *bench) row(what, growth, value, note string) {
	line := fmt.Sprintf("%-50s  %-28s  %-40s  %s", what, growth, value, note)
	fmt.Fprintln(os.Stdout, strings.TrimRight(line, " "))
}

func ms(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
