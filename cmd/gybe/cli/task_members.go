package cli

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// requests are the bodies of the tasks.
var requests = map[sol.LcmOperationType]any{
	sol.LcmOperationInstantiate:   sol.InstantiateVnfRequest{},
	sol.LcmOperationTerminate:     sol.TerminateVnfRequest{},
	sol.LcmOperationScale:         sol.ScaleVnfRequest{},
	sol.LcmOperationScaleToLevel:  sol.ScaleVnfToLevelRequest{},
	sol.LcmOperationChangeFlavour: sol.ChangeVnfFlavourRequest{},
	sol.LcmOperationHeal:          sol.HealVnfRequest{},
	sol.LcmOperationOperate:       sol.OperateVnfRequest{},
	sol.LcmOperationChangeExtConn: sol.ChangeExtVnfConnectivityRequest{},
	sol.LcmOperationChangeVnfpkg:  sol.ChangeCurrentVnfPkgRequest{},
	sol.LcmOperationModifyInfo:    sol.VnfInfoModificationRequest{},
}

// misspelt complains about a member that is nearly one of the request: the server takes members that it does not know, as the standard wants
// it, and would do without what was meant.
func (b body) misspelt(op sol.LcmOperationType) error {
	speller := &cobra.Command{SuggestionsMinimumDistance: 2} // it has to spell commands, too
	members := map[string]bool{}
	for f := range reflect.TypeOf(requests[op]).Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		members[name] = true
		if _, ok := b[name]; !ok {
			speller.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		for _, meant := range speller.SuggestionsFor(name) {
			if !members[name] && len(name)+speller.SuggestionsMinimumDistance >= len(meant) { // it also finds what begins alike
				return fmt.Errorf("the request has no member %q; did you mean %s?", name, meant)
			}
		}
	}
	return nil
}
