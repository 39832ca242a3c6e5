package e2e_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/sandbox"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/stack"
)

const (
	programsSource = "../packages/programs"
	programsID     = "3c0e6f52-8d1b-4c7f-a6d5-5b1f4f0d7e21"
)

// A package whose scripts read and write JSON, in the shell and in Python without modules of ours, goes through all
// operations: its user-data script makes the stack, its mgmt driver sets metadata, its coordination script agrees.
func TestProgramsOfAPackage(t *testing.T) {
	t.Parallel()
	python := sandbox.Python(t, true)
	w := start(t, simcloud.StartTest(t, simcloud.Options{}), func(c *config.Config) { c.Scripts.Python = python })
	ctx := t.Context()
	w.onboard(programsSource)
	s := sourceOf(t, programsSource)
	const next = "3c0e6f52-8d1b-4c7f-a6d5-5b1f4f0d7e22"
	for name, text := range s {
		s[name] = strings.ReplaceAll(text, programsID, next)
	}
	s.edit(t, "Definitions/programs_df_default.yaml", "capability_name: m1.tiny", "capability_name: m1.small")
	s.edit(t, "Definitions/programs_types.yaml", `default: "1.0"`, `default: "2.0"`)
	w.onboardShape(s, next, nil)
	logged := func(op, text string) {
		t.Helper()
		for _, l := range w.progress(op).Lines {
			if strings.Contains(l.Text, text) {
				return
			}
		}
		require.Fail(t, "not in the log", "%s: %+v", text, w.progress(op).Lines)
	}

	id := w.create(programsID)
	params := w.plain("default")
	params["additionalParams"] = map[string]any{"lcm-operation-user-data": "./UserData/site"}
	op := w.instantiate(id, params)
	w.completed(op)
	logged(op, "instantiate of 0 VNFCs")
	logged(op, "instantiate_end with 1 VNFCs")
	require.Equal(t, sol.KeyValuePairs{"last_report": "instantiate_end", "vnfcs": 1.0}, w.instance(id).Metadata)

	do := func(kind sol.LcmOperationType, body any) string {
		t.Helper()
		op, err := w.api.Start(ctx, id, kind, body)
		require.NoError(t, err, "%s", kind)
		return op
	}
	op = do(sol.LcmOperationScale, stack.Scale(sol.ScaleTypeOut, 2))
	w.completed(op)
	logged(op, "scale of 1 VNFCs")
	require.Equal(t, sol.KeyValuePairs{"last_report": "scale_end", "vnfcs": 3.0}, w.instance(id).Metadata)
	w.completed(do(sol.LcmOperationScale, stack.Scale(sol.ScaleTypeIn, 1)))
	i := w.instance(id)
	require.Len(t, i.InstantiatedVnfInfo.VnfcInfo, 2)
	heal := sol.HealVnfRequest{VnfcInstanceID: []string{i.InstantiatedVnfInfo.VnfcInfo[0].ID}}
	w.completed(do(sol.LcmOperationHeal, heal))

	change := func(answer string) sol.ChangeCurrentVnfPkgRequest {
		param := map[string]any{"cp_name": "VDU1_CP1", "answer": answer}
		return sol.ChangeCurrentVnfPkgRequest{VnfdID: next, AdditionalParams: sol.KeyValuePairs{
			"upgrade_type": "RollingUpdate", "lcm-operation-coordinate-new-vnf": "./Scripts/agree.sh",
			"vdu_params": []any{map[string]any{"vdu_id": "VDU1", "new_vnfc_param": param}},
		}}
	}
	op = do(sol.LcmOperationChangeVnfpkg, change("no"))
	o := w.failed(op)
	require.Equal(t, "Coordination failed", o.Error.Title)
	require.Contains(t, o.Error.Detail, "the script Scripts/agree.sh ended with exit status 1")
	require.Contains(t, o.Error.Detail, "does not agree")
	require.NoError(t, w.api.Rollback(ctx, op))
	require.Equal(t, sol.LcmOperationStateRolledBack, w.resting(op).OperationState)

	op = do(sol.LcmOperationChangeVnfpkg, change("yes"))
	w.completed(op)
	logged(op, "asks the VNFC at ")
	require.Equal(t, next, w.instance(id).VnfdID)
	w.completed(w.terminate(id))
	w.gone()
}

// A program whose interpreter is not there is refused before the operation, with the name of the interpreter, and so is
// a file that is no program.
func TestProgramsThatCannotRunAreRefused(t *testing.T) {
	t.Parallel()
	python := sandbox.Python(t, true)
	w := start(t, simcloud.StartTest(t, simcloud.Options{}), func(c *config.Config) { c.Scripts.Python = python })
	for name, tt := range map[string]struct{ file, old, replacement, pointer, want string }{
		"user data": {
			"UserData/site", "/usr/bin/env python3", "/usr/bin/no-such-perl",
			"/additionalParams/lcm-operation-user-data",
			"names the interpreter /usr/bin/no-such-perl, which scripts do not find on this node",
		},
		"user data of Python without a class": {
			"UserData/site", "#!/usr/bin/env python3", "# Python", "/additionalParams/lcm-operation-user-data",
			"A Python class needs lcm-operation-user-data-class, too",
		},
		"mgmt driver": {
			"Scripts/report.sh", "#!/bin/sh", "#!/usr/bin/env no-such-lua", "",
			"names the interpreter no-such-lua, which scripts do not find on this node",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := *w
			w.t = t
			s := sourceOf(t, programsSource)
			for file, text := range s {
				s[file] = strings.ReplaceAll(text, programsID, name)
			}
			s.edit(t, tt.file, tt.old, tt.replacement)
			w.onboardShape(s, name, nil)
			id := w.create(name)
			params := w.plain("default")
			params["additionalParams"] = map[string]any{"lcm-operation-user-data": "./UserData/site"}
			_, err := w.api.Instantiate(t.Context(), id, encode(t, params))
			e := status(t, err, 422)
			require.Contains(t, e.Error(), tt.want)
			if tt.pointer != "" {
				require.Equal(t, tt.pointer, e.Problem.InvalidParams[0].Pointer)
			}
			require.NoError(t, w.api.DeleteInstance(t.Context(), id))
		})
	}
}
