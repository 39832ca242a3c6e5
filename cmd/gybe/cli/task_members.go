package cli

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// checkSpelling rejects a member that is similar to one of the request: the server ignores unknown members, as the
// standard requires, and would ignore a misspelled one, too.
func (b body) checkSpelling(op sol.LcmOperationType) error {
	kind, err := lcm.OperationKindOf(op)
	if err != nil {
		return err
	}
	speller := &cobra.Command{SuggestionsMinimumDistance: 2} // it suggests names of commands
	members := map[string]bool{}
	for f := range reflect.TypeOf(kind.Body).Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		members[name] = true
		if _, ok := b[name]; !ok {
			speller.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		for _, meant := range speller.SuggestionsFor(name) {
			// it also suggests names with the same prefix
			if !members[name] && len(name)+speller.SuggestionsMinimumDistance >= len(meant) {
				return fmt.Errorf("the request has no member %q; did you mean %s?", name, meant)
			}
		}
	}
	return nil
}
