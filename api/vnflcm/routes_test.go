package vnflcm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// TestEveryOperationHasARoute: the routes derive from the table of operations.
func TestEveryOperationHasARoute(t *testing.T) {
	t.Parallel()
	routes := map[string]bool{}
	for _, r := range (&edition{form: native{}}).tasks() {
		routes[r.Method+" "+r.Path] = true
	}
	for _, k := range lcm.OperationKinds() {
		path := "/vnf_instances/{vnfInstanceId}"
		if k.Path != "" {
			path += "/" + k.Path
		}
		require.True(t, routes[k.Method()+" "+path], k.Type)
	}
	require.Len(t, routes, len(lcm.OperationKinds()))
}
