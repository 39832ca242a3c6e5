package access_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the table of docs/security.md again")

const document = "../../docs/security.md"

// TestRolesAreDocumented compares the table in docs/security.md with the routes of a node.
func TestRolesAreDocumented(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	var table strings.Builder
	table.WriteString("\n| request | role | audit |\n| --- | --- | --- |\n")
	for _, r := range w.node.Routes() {
		role, audit := string(r.Role), ""
		switch {
		case r.Login:
			role, audit = "(public)", "logins"
		case r.Public:
			role = "(public)"
		case r.Secret:
			audit = "before the answer"
		case r.Method != http.MethodGet:
			audit = "yes"
		}
		fmt.Fprintf(&table, "| `%s %s` | %s | %s |\n", r.Method, r.Route, role, audit)
	}
	table.WriteString("\n")
	raw, err := os.ReadFile(document)
	require.NoError(t, err)
	const begin, end = "<!-- begin of the table of routes -->", "<!-- end of the table of routes -->"
	before, rest, ok := strings.Cut(string(raw), begin)
	require.True(t, ok)
	have, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	if *update {
		require.NoError(t, os.WriteFile(document, []byte(before+begin+table.String()+end+after), 0o600))
		return
	}
	require.Equal(t, table.String(), have, "go test ./test/access -run TestRolesAreDocumented -update")
}
