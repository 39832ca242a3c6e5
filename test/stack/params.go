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

// PlainParams is the request that instantiates a flavour of the package test/packages/plain, "default" (numbered VNFCs)
// or "groups" (members of a scaling group), in this cloud. level may be "".
func PlainParams(flavour, level string, sim simcloud.Info) map[string]any {
	p := map[string]any{
		"flavourId":         flavour,
		"vimConnectionInfo": map[string]any{"vim1": VimConnection(sim)},
		"extVirtualLinks": []any{map[string]any{
			"id": "net0", "resourceId": sim.Net0ID,
			"extCps": []any{map[string]any{"cpdId": "VDU1_CP1", "cpConfig": map[string]any{"VDU1_CP1": map[string]any{
				"cpProtocolData": []any{map[string]any{
					"layerProtocol": "IP_OVER_ETHERNET", "ipOverEthernet": map[string]any{
						"ipAddresses": []any{map[string]any{"type": "IPV4", "numDynamicAddresses": 1}},
					},
				}},
			}}}},
		}},
	}
	if flavour == "default" {
		p["additionalParams"] = map[string]any{
			"lcm-operation-user-data":       "./UserData/userdata_standard.py",
			"lcm-operation-user-data-class": "StandardUserData",
		}
	}
	if level != "" {
		p["instantiationLevelId"] = level
	}
	return p
}
