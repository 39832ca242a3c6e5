package coordination

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/script"
	"github.com/gybe-nfv/gybe/pkg/script/durable"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

// runScript is one look at the script of a VNFC, and what follows from it.
func (m *Coordinator) runScript(ctx context.Context, s *lcm.Step, u Unit, id string, p *VNFCParams, back bool) error {
	_, err := m.host().Do(ctx, m.Execution, s, durable.Run{
		Name: fmt.Sprintf("script %s for %s", p.script, u.Name), Script: p.script, Key: id,
		Job: func(ctx context.Context) (script.Job, error) {
			limit, err := p.timeout()
			if err != nil {
				return script.Job{}, lcm.Errorf(
					lcm.CodeUnprocessable, "timeout of the script %s for %s: %w", p.script, u.Name, err,
				)
			}
			input, err := m.scriptInput(ctx, u, id, p, back)
			j := script.Job{Package: m.Execution.Package, Script: p.script, Input: input, Timeout: limit}
			if script.IsProgram(j.Package, p.script) {
				j.Program = script.CoordinationProgram
				j.Input = map[string]any{"operation": "change_vnfpkg", "vnfc_param": input}
			}
			return j, err
		},
		Failed: func(err error) error { return scriptFailed(fmt.Sprintf("%s of %s", u.Name, id), err) },
	})
	return err
}

func (m *Coordinator) host() durable.Host {
	return durable.Host{Scripts: m.Scripts, Process: m.Process, NodeAlive: m.NodeAlive}
}

// scriptFailed is the failure of a script as the operation's.
func scriptFailed(who string, err error) error {
	e := *lcm.AsError(err)
	e.Title, e.Detail = "Coordination failed", "after the change of "+who+": "+e.Detail
	if e.Hint == "" {
		e.Hint = "remove the cause and retry the operation to run the script again, or roll it back"
	}
	return &e
}

// scriptInput is the input of a coordination script: the members of the request, the address of the VNFC and the
// instance.
func (m *Coordinator) scriptInput(
	ctx context.Context, u Unit, id string, p *VNFCParams, back bool,
) (map[string]any, error) {
	input, err := rawVnfcParams(m.Execution.Op.Params, u.VDU, back)
	if err != nil {
		return nil, err
	}
	is, err := m.present(ctx, id)
	if err != nil {
		return nil, err
	}
	if input["ssh_ip"], err = m.addressOf(ctx, is, p.CP); err != nil {
		return nil, err
	}
	input["is_rollback"] = back
	input["LcmCoordRequest"] = m.coordinationRequest(p, nil)
	inst, err := m.Stack.Before().Described()
	if err != nil {
		return nil, err
	}
	input["inst"] = redact.New().Instance(inst)
	input["vnfc_info_id"] = id
	return input, nil
}

// rawVnfcParams are new_vnfc_param or old_vnfc_param of a VDU with every member that the request has, known to us or
// not.
func rawVnfcParams(params json.RawMessage, vdu string, back bool) (map[string]any, error) {
	var req struct {
		AdditionalParams struct {
			VDUs []struct {
				VDU string         `json:"vdu_id"`
				New map[string]any `json:"new_vnfc_param"`
				Old map[string]any `json:"old_vnfc_param"`
			} `json:"vdu_params"`
		} `json:"additionalParams"`
	}
	dec := json.NewDecoder(strings.NewReader(string(params)))
	dec.UseNumber()
	if err := dec.Decode(&req); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	for _, v := range req.AdditionalParams.VDUs {
		switch {
		case v.VDU != vdu:
		case back && v.Old != nil:
			return v.Old, nil
		case !back && v.New != nil:
			return v.New, nil
		}
	}
	return nil, fmt.Errorf("the request has no parameters for the VNFCs of %s", vdu)
}

// Halt ends the operation's script on this node, or waits for it. One on another node ends when no tick follows it any
// more.
func (m *Coordinator) Halt(mode sol.CancelModeType) error {
	return m.host().Halt(m.Execution.Op, mode == sol.CancelModeForceful)
}
