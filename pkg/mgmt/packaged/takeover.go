package packaged

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// maxValue limits what an operation or an instance remembers of the value of a script, as JSON, in bytes.
const maxValue = 64 << 10

// value is what a script has returned.
type value struct {
	Instance map[string]any `json:"vnf_instance"`
	// Data is for the scripts of later hooks of the operation, also of its retries and its rollback.
	Data json.RawMessage `json:"user_script_err_handling_data"`
}

// takeOver stores what a script has returned: of the instance metadata, extensions and configurable properties, and the
// data for later scripts. Other changes of the instance are reported in the log and ignored: Gybe reads the rest from
// the VIM.
func takeOver(ctx context.Context, w *lcm.Execution, s *lcm.Step, raw json.RawMessage) error {
	var v value
	if err := json.Unmarshal(raw, &v); err != nil {
		return lcm.Errorf(lcm.CodeUpstream, "the value that the script has returned: %w", err)
	}
	if len(v.Data) > maxValue {
		return lcm.Errorf(lcm.CodeUpstream, "user_script_err_handling_data has more than %d KiB", maxValue>>10)
	}
	if len(v.Data) > 0 && string(v.Data) != "null" {
		w.Op.ScriptData = v.Data
	}
	if v.Instance != nil {
		ignored, err := takeInstance(w.Instance, v.Instance)
		if err != nil {
			return err
		}
		if len(ignored) > 0 {
			s.Logf(ctx, fmt.Sprintf("the script has changed %s of the VnfInstance, which is ignored: only metadata, "+
				"extensions and vnfConfigurableProperties are taken over", strings.Join(ignored, ", ")))
		}
	}
	return w.Commit(ctx)
}

// takeInstance takes over the members that a script may change, and lists the others that it has changed.
func takeInstance(i *lcm.Instance, returned map[string]any) (ignored []string, err error) {
	described, err := i.Described()
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(described)
	if err != nil {
		return nil, err
	}
	var had map[string]any
	if err := json.Unmarshal(raw, &had); err != nil {
		return nil, err
	}
	pairs := map[string]*sol.RawPairs{
		"metadata": &i.Metadata, "extensions": &i.Extensions, "vnfConfigurableProperties": &i.ConfigurableProperties,
	}
	for _, name := range slices.Sorted(maps.Keys(returned)) {
		if reflect.DeepEqual(had[name], returned[name]) {
			continue
		}
		to, taken := pairs[name]
		if !taken {
			ignored = append(ignored, name)
			continue
		}
		object, ok := returned[name].(map[string]any)
		if !ok && returned[name] != nil {
			return nil, lcm.Errorf(
				lcm.CodeUpstream, "%s of the VnfInstance that the script has returned is not an object", name,
			)
		}
		changed, err := sol.KeyValuePairs(object).Raw()
		if err != nil {
			return nil, err
		}
		if len(changed) > maxValue {
			return nil, lcm.Errorf(
				lcm.CodeUpstream, "%s of the VnfInstance that the script has returned has more than %d KiB", name,
				maxValue>>10,
			)
		}
		*to = changed
	}
	return ignored, nil
}
