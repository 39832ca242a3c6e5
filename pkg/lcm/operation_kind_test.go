package lcm_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// notServed are the operation types of the standard without a row in the table of operations, with the reason.
var notServed = map[sol.LcmOperationType]string{}

// standardTypes reads the operation types from the source of package sol, so that a new one cannot be forgotten here.
func standardTypes(t *testing.T) []sol.LcmOperationType {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../sol/enum.go", nil, 0)
	require.NoError(t, err)
	var out []sol.LcmOperationType
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		typ, _ := spec.Type.(*ast.Ident)
		value, _ := spec.Values[0].(*ast.BasicLit)
		if typ != nil && value != nil && typ.Name == "LcmOperationType" {
			text, err := strconv.Unquote(value.Value)
			require.NoError(t, err)
			out = append(out, sol.LcmOperationType(text))
		}
		return true
	})
	require.Greater(t, len(out), 10)
	return out
}

// TestEveryOperationTypeHasARowOrAReason: forgetting an operation is a decision.
func TestEveryOperationTypeHasARowOrAReason(t *testing.T) {
	t.Parallel()
	for _, typ := range standardTypes(t) {
		_, err := lcm.OperationKindOf(typ)
		if notServed[typ] != "" {
			require.Error(t, err, "%s has a row and a reason not to have one", typ)
		} else {
			require.NoError(t, err, "%s has neither a row in the table of operations nor a reason", typ)
		}
	}
}

func TestEveryOperationIsComplete(t *testing.T) {
	t.Parallel()
	paths, hooks := map[string]bool{}, map[string]bool{}
	for _, k := range lcm.OperationKinds() {
		require.False(t, paths[k.Path], "%s: another operation has the path %q", k.Type, k.Path)
		require.False(t, hooks[k.Hook], "%s: another operation has the hook %q", k.Type, k.Hook)
		paths[k.Path], hooks[k.Hook] = true, true
		require.NotEmpty(t, k.Hook, k.Type)
		require.NotNil(t, k.Body, k.Type)
		require.NotNil(t, k.Request(), k.Type)

		_, err := lcm.ParseTask(k.Type, []byte(`[]`))
		require.Equal(t, lcm.CodeInvalid, lcm.AsError(err).Code, k.Type)
		task, err := lcm.ParseTask(k.Type, []byte(`{}`))
		require.NoError(t, err, k.Type)
		require.Equal(t, k.Type, task.Kind.Type)
		require.NotNil(t, task.Decide, k.Type)

		p := k.Phases(noInfra{})
		require.NotEmpty(t, p.Processing, k.Type)
		require.Equal(t, k.CanRollBack, len(p.Rollback) > 0 && k.CanRollBack,
			"%s can be rolled back and has no phases for it", k.Type)
	}
}

// noInfra is an infra driver whose methods are never called.
type noInfra struct{ lcm.Infra }

// documented is the table of operations as docs/state-machine.md has it.
func documented() string {
	names := func(list []lcm.Phase) string {
		var out []string
		for _, p := range list {
			out = append(out, "`"+p.Name+"`")
		}
		return strings.Join(out, ", ")
	}
	word := map[bool]string{true: "yes", false: "no"}
	b := &strings.Builder{}
	b.WriteString(
		"| operation | request | hook | grant | rollback | PROCESSING | ROLLING_BACK |\n" +
			"| --- | --- | --- | --- | --- | --- | --- |\n",
	)
	for _, k := range lcm.OperationKinds() {
		if k.Type == reboot {
			continue
		}
		p := k.Phases(noInfra{})
		rollback, phases := word[k.CanRollBack], ""
		if k.CanRollBack {
			phases = names(p.Rollback)
		}
		if k.CanRollBack && k.Scales {
			rollback = "if no VNFC is removed"
		}
		request := strings.TrimSuffix(k.Method()+" …/"+k.Path, "/")
		fmt.Fprintf(b, "| %s | `%s` | `%s` | %s | %s | %s | %s |\n", k.Type, request, k.Hook, word[k.NeedsGrant],
			rollback, names(p.Processing), phases)
	}
	return b.String()
}

// TestTheDocumentationHasTheTableOfOperations: the table is generated; the failure shows the text to put there.
func TestTheDocumentationHasTheTableOfOperations(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/state-machine.md")
	require.NoError(t, err)
	if !strings.Contains(string(raw), documented()) {
		t.Errorf("docs/state-machine.md does not have this table:\n%s", documented())
	}
}
