// Command demo runs the main job as a user would: it starts PostgreSQL, the simulated cloud and gybe, and then
// drives the gybe command against the public API. The simulated cloud is never part of the gybe binary.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/stack"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := start(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// start runs the demo and returns the exit code: 1 if it failed, but not if the user has stopped it.
func start(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	d := demo{out: stdout}
	f := flag.NewFlagSet("demo", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.BoolVar(&d.once, "once", false, "terminate the cluster at the end, stop everything and exit")
	f.BoolVar(&d.idle, "idle", false, "only start everything; run no job")
	f.StringVar(&d.flavour, "flavour", "complex", "deployment flavour: simple or complex")
	f.StringVar(&d.timing, "timing", defaultTiming, "how long things take in the simulated cloud, as JSON")
	f.StringVar(&d.dir, "dir", ".dev/demo", "folder for data and logs; emptied at the start")
	f.StringVar(&d.bin, "bin", "bin", "folder with the gybe and simcloud binaries")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if err := d.run(ctx); err != nil && ctx.Err() == nil {
		_, _ = fmt.Fprintln(stderr, "demo:", err)
		return 1
	}
	return 0
}

// defaultTiming is long enough to watch and short enough to wait for.
const defaultTiming = `{"create":{"OS::Nova::Server":"1s"},"delete":{"OS::Nova::Server":"500ms"},"machines":{"prepare":"4s","init":"3s","join":"2s"}}`

type demo struct {
	once, idle        bool
	flavour, dir, bin string
	timing            string
	out               io.Writer
	stack             *stack.Stack
	node              *stack.Node
	vnf, pkg          string
	lock              *os.File // held for as long as the process lives

	archive, paramsAt string // files of the main job
}

// run does everything; what it started ends with it.
func (d *demo) run(ctx context.Context) (err error) {
	if err := d.empty(); err != nil {
		return err
	}
	if err := d.needPostgres(ctx); err != nil {
		return err
	}
	d.say("starting PostgreSQL, the simulated cloud and gybe (logs are in %s)", d.dir)
	d.stack, err = stack.Start(ctx, stack.Options{
		Dir: d.dir, Bin: d.bin, Nodes: 1, Listen: d.listen(ctx), SimArgs: []string{"--timing", d.timing},
	})
	if err != nil {
		return err
	}
	defer func() {
		d.say("stopping everything")
		if stopErr := d.stack.Stop(); err == nil {
			err = stopErr
		}
	}()
	d.node = d.stack.Node(0)
	d.say("gybe was ready %d ms after its start", d.node.Ready.Milliseconds())
	if err := d.prepare(ctx); err != nil {
		return err
	}
	if !d.idle {
		if err := d.job(ctx); err != nil {
			return err
		}
	}
	if d.once {
		return d.end(ctx)
	}
	d.urls()
	return d.wait(ctx)
}

// wait returns when ctx ends. It returns an error if gybe or the simulated cloud ends before that.
func (d *demo) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-d.node.Done():
		return fmt.Errorf("gybe has ended; the last lines of %s say why", filepath.Join(d.dir, d.node.ID+".log"))
	case <-d.stack.SimProcess().Done():
		return fmt.Errorf(
			"the simulated cloud has ended; the last lines of %s say why", filepath.Join(d.dir, "simcloud.log"),
		)
	}
}

// empty recreates the demo's folder. It checks the name because it deletes the folder first.
func (d *demo) empty() error {
	abs, err := filepath.Abs(d.dir)
	if err != nil {
		return err
	}
	if !strings.Contains(abs, string(filepath.Separator)+".dev"+string(filepath.Separator)) {
		if _, err := os.Stat(abs); err == nil {
			return fmt.Errorf("%s exists and is not below a folder .dev; remove it first", abs)
		}
	}
	d.dir = abs
	if err := d.alone(); err != nil {
		return err
	}
	if err := os.RemoveAll(abs); err != nil {
		return err
	}
	// PostgreSQL may run as another user, which has to reach its folder.
	return os.MkdirAll(abs, 0o755)
}

// alone keeps a second demo from taking the database from under one that is up.
func (d *demo) alone() error {
	lock := d.dir + ".lock"
	if err := os.MkdirAll(filepath.Dir(lock), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(lock, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close() // nothing was written
		return fmt.Errorf(
			"a demo is up in %s already; end it with Ctrl-C, or give this one a folder of its own with --dir",
			d.dir,
		)
	}
	d.lock = f
	return nil
}

// needPostgres installs PostgreSQL if it is missing and we are root; otherwise the error says how to install it.
func (d *demo) needPostgres(ctx context.Context) error {
	if os.Getenv(devpg.EnvURL) != "" {
		return nil
	}
	_, err := devpg.FindBin()
	if err == nil || os.Getuid() != 0 {
		return err
	}
	if _, statErr := os.Stat("/usr/bin/apt-get"); statErr != nil {
		return err
	}
	d.say("PostgreSQL is missing; installing it with apt-get")
	if err := d.quiet(ctx, "apt-get", "update", "-qq"); err != nil {
		return err
	}
	return d.quiet(ctx, "apt-get", "install", "-y", "-qq", "--no-install-recommends", "postgresql")
}

// urls tells what is up and what to try.
func (d *demo) urls() {
	u, bin := d.node.URL, d.bin
	if abs, err := filepath.Abs(bin); err == nil {
		bin = abs
	}
	d.say("everything is up; Ctrl-C stops it all")
	fmt.Fprintf(d.out, `
  console           %s/ui/
  API               %s/vnflcm/v2/vnf_instances   (header Version: 2.0.0)
  simulated cloud   %s/sim/state
  logs              %s

  in another terminal:
    export GYBE_ENDPOINT=%s PATH=%s:$PATH
    gybe vnf list
`, u, u, d.stack.Sim.URL, d.dir, u, bin)
	if d.vnf == "" {
		fmt.Fprintf(d.out, `    gybe package upload %s
    gybe vnf create %s --name web
    gybe vnf instantiate web %s --watch
`, d.archive, vnfdID, d.paramsAt)
		return
	}
	fmt.Fprint(d.out, `    gybe vnf show demo
    gybe vnf nodes demo
    gybe vnf kubeconfig demo --file demo.kubeconfig
    gybe vnf scale demo --in 1 --watch
    gybe vnf terminate demo --watch
`)
}

func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.out, "\n== "+format+"\n", args...)
}
