package main

import (
	"context"
	"flag"
	"log/slog"

	"github.com/gybe-nfv/gybe/test/simcloud"
)

// machineFlags say what is inside the servers.
type machineFlags struct {
	none    bool
	sshPort int
}

func (m *machineFlags) register(fs *flag.FlagSet) {
	fs.BoolVar(&m.none, "no-machines", false, "servers without inside: nothing listens on their addresses")
	fs.IntVar(&m.sshPort, "ssh-port", 2222, "`port` of the machines' SSH servers")
}

// startFleet makes the machines' fleet; the function returned ends it.
func startFleet(_ context.Context, _ machineFlags, _ *slog.Logger) (simcloud.Machines, func(), error) {
	return nil, func() {}, nil
}
