package stack

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/gybe-nfv/gybe/test/simcloud"
)

// LocalParams copies an instantiation parameter file and puts this cloud into it: the Keystone endpoint
// of every VIM connection, and net0 as the network of every external virtual link. Nothing else changes.
func LocalParams(from, to string, sim simcloud.Info) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var p map[string]any
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	vims, _ := p["vimConnectionInfo"].(map[string]any)
	for _, v := range vims {
		v.(map[string]any)["interfaceInfo"].(map[string]any)["endpoint"] = sim.AuthURL
	}
	links, _ := p["extVirtualLinks"].([]any)
	for _, l := range links {
		l.(map[string]any)["resourceId"] = sim.Net0ID
	}
	if raw, err = json.MarshalIndent(p, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(to, append(raw, '\n'), 0o600)
}
