// Command simcloud runs the simulated OpenStack cloud until a signal stops it. When the cloud is ready, it prints one
// line of JSON with its URLs and credentials.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run starts the cloud, prints where it is and waits for the end of ctx. It returns the exit code: 0 for a clean stop,
// 1 when the cloud cannot start, 2 for wrong flags.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opts, machines, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "simcloud:", err)
		return 2
	}
	fleet, closeFleet := machines.fleet(ctx, opts.Logger)
	defer closeFleet()
	opts.Machines = fleet
	cloud, err := simcloud.Start(ctx, opts)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "simcloud:", err)
		return 1
	}
	defer cloud.Close()
	if err := json.NewEncoder(stdout).Encode(cloud.Info()); err != nil {
		_, _ = fmt.Fprintln(stderr, "simcloud:", err)
		return 1
	}
	<-ctx.Done()
	return 0
}

// parse reads the flags.
func parse(args []string, stderr io.Writer) (simcloud.Options, machineFlags, error) {
	var (
		opts     simcloud.Options
		machines machineFlags
		hosts    int
		zones    string
		images   string
		timing   string
		level    slog.Level
	)
	fs := flag.NewFlagSet("simcloud", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&opts.Addr, "addr", "127.0.0.1:0", "`address` of all services")
	fs.StringVar(&opts.PublicURL, "public-url", "",
		"root `URL` in catalog and links, where something stands between client and cloud")
	fs.IntVar(&hosts, "hosts", 8, "number of compute hosts")
	fs.StringVar(&zones, "zones", "nova", "comma separated availability zones; hosts are dealt out in turn")
	fs.StringVar(
		&images, "images", "", "comma separated `names` of images that exist from the start, besides the usual ones",
	)
	fs.DurationVar(&opts.TokenTTL, "token-ttl", time.Hour, "how long tokens are valid")
	fs.DurationVar(&opts.HeatMinute, "heat-minute", time.Minute, "how long a minute of a stack's timeout lasts")
	fs.BoolVar(
		&opts.LargeNetworks, "large-networks", false, "give net0 and public 16,000 addresses each instead of 250",
	)
	fs.StringVar(
		&timing, "timing", "",
		`how long things take, as JSON: {"create":{"OS::Nova::Server":"2s"},"machines":{"boot":"5s"}}`,
	)
	fs.TextVar(&level, "log-level", slog.LevelWarn, "debug, info, warn or error")
	machines.register(fs)
	if err := fs.Parse(args); err != nil {
		return opts, machines, err //nolint:wrapcheck // printed by the flag package
	}
	if fs.NArg() > 0 {
		return opts, machines, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if err := machines.check(); err != nil {
		return opts, machines, err
	}
	if hosts < 1 {
		return opts, machines, fmt.Errorf("-hosts %d: want at least one", hosts)
	}
	for i := range hosts {
		names := split(zones)
		if len(names) == 0 {
			return opts, machines, errors.New("-zones: want at least one")
		}
		opts.Hosts = append(opts.Hosts, simcloud.Host{Name: fmt.Sprintf("cmp%d", i+1), Zone: names[i%len(names)]})
	}
	opts.Images = split(images)
	if timing != "" {
		if err := json.Unmarshal([]byte(timing), &opts.Timing); err != nil {
			return opts, machines, fmt.Errorf("-timing: %w", err)
		}
	}
	opts.Logger = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	return opts, machines, nil
}

func split(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}
