// Command gybe is the VNF manager and its command line.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"golang.org/x/term"

	"github.com/gybe-nfv/gybe/cmd/gybe/cli"
	"github.com/gybe-nfv/gybe/pkg/helm/render"
)

// version is set by the linker in releases.
var version = ""

// gcPercent is twice Go's default. A node has little memory in use and makes much garbage, so half as many collections
// cost about 5 MiB and save up to a third of the CPU of a read (docs/adr/021).
const gcPercent = 200

func main() {
	render.Serve()
	// One sample for 4 MiB: with the default of 512 KiB, a node under load spends some percent of its CPU on samples.
	runtime.MemProfileRate = 4 << 20
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal does what signals do by default, so that nothing can hold a terminal.
	context.AfterFunc(ctx, stop)
	code := cli.Run(ctx, os.Args[1:], cli.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(),
		Terminal: term.IsTerminal(int(os.Stdout.Fd())), Interactive: term.IsTerminal(int(os.Stdin.Fd())),
		ReadSecret: readSecret, OpenBrowser: openBrowser, Version: buildVersion(),
	})
	stop()
	os.Exit(code)
}

// buildVersion is the linker's version, or what the Go toolchain recorded.
func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "dev"
}
