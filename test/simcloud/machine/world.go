package machine

import (
	"github.com/gybe-nfv/gybe/test/simcloud/machine/ubuntu"
)

// world is what machines share beyond the network.
type world struct{}

func (w *world) init(*Fleet)                      {}
func (w *world) close()                           {}
func (w *world) forget(*Machine)                  {}
func (w *world) changed(*Machine)                 {}
func (w *world) booting(*Machine, *ubuntu.OS)     {}
func (w *world) install(m *Machine, o *ubuntu.OS) {}
