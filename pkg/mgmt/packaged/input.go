package packaged

import (
	"encoding/json"
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/granting"
)

// input is what a script is given (script.Mgmt). The path of the package is added in the sandbox. VIM connections are
// left out; additionalParams are as they are in the request, because scripts log in to machines with them.
func (d driver) input(w *lcm.Execution, hook lcm.Hook) (map[string]any, error) {
	req := map[string]any{}
	if len(w.Op.Params) > 0 {
		if err := json.Unmarshal(w.Op.Params, &req); err != nil {
			return nil, fmt.Errorf("decode the request: %w", err)
		}
	}
	delete(req, "vimConnectionInfo")
	inst, err := w.Instance.Described()
	if err != nil {
		return nil, err
	}
	in := map[string]any{
		"operation": string(hook), "request": req, "vnf_instance": inst, "grant_request": nil, "grant_response": nil,
		"user_script_err_handling_data": json.RawMessage("{}"),
	}
	if len(w.Op.ScriptData) > 0 {
		in["user_script_err_handling_data"] = w.Op.ScriptData
	}
	if w.Op.Grant != nil {
		asked, err := granting.Request(w, d.PublicURL)
		if err != nil {
			return nil, err
		}
		in["grant_request"], in["grant_response"] = asked, granting.Document(w, asked)
	}
	return in, nil
}
