package coreutils

import (
	"context"
	"strconv"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// kill sends a signal to processes and process groups.
func kill(_ context.Context, p *process.Proc) int {
	sig, args := process.SIGTERM, p.Args[1:]
	if len(args) > 1 && (args[0] == "-s" || args[0] == "-n") {
		args = append([]string{"-" + args[1]}, args[2:]...)
	}
	if len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && args[0] != "--" {
		var ok bool
		if sig, ok = process.ParseSignal(args[0][1:]); !ok {
			return p.Errorf("kill: %s: invalid signal specification\n", args[0][1:])
		}
		args = args[1:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		p.Errorf("kill: usage: kill [-s sigspec | -n signum | -sigspec] pid ...\n")
		return 2
	}
	status := 0
	for _, a := range args {
		pid, err := strconv.Atoi(a)
		if err != nil {
			status = p.Errorf("kill: %s: arguments must be process IDs\n", a)
		} else if err := p.Kill(pid, sig); err != nil {
			status = p.Errorf("kill: (%d) - %s\n", pid, process.Reason(err))
		}
	}
	return status
}

// pwd prints the working directory without symbolic links.
func pwd(_ context.Context, p *process.Proc) int {
	dir, err := p.FS().Real(p.Dir)
	if err != nil {
		return fail(p, p.Dir, err)
	}
	p.Printf("%s\n", dir)
	return 0
}
