package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"

	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// machineFlags say what is inside the servers.
type machineFlags struct {
	none    bool
	sshPort uint
	speed   float64
}

func (m *machineFlags) register(fs *flag.FlagSet) {
	fs.BoolVar(&m.none, "no-machines", false, "servers without inside: nothing listens on their addresses")
	fs.UintVar(&m.sshPort, "ssh-port", 2222, "`port` of the machines' SSH servers")
	fs.Float64Var(&m.speed, "speed", 1, "how many simulated seconds pass inside the machines in a real one")
}

func (m *machineFlags) check() error {
	if m.sshPort == 0 || m.sshPort > math.MaxUint16 {
		return fmt.Errorf("-ssh-port %d: want 1 to %d", m.sshPort, math.MaxUint16)
	}
	if m.speed <= 0 {
		return errors.New("-speed: want more than 0")
	}
	return nil
}

// fleet makes the machines of the servers, nil if they have none; the function returned ends them.
func (m *machineFlags) fleet(ctx context.Context, log *slog.Logger) (simcloud.Machines, func()) {
	if m.none {
		return nil, func() {}
	}
	f := machine.NewFleet(ctx, machine.Options{SSHPort: uint16(m.sshPort), Speed: m.speed, Logger: log})
	return f, f.Close
}
