package vnflcm_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
)

func TestEveryAttributeCanBeFiltered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.create(t)
	b.instantiate(t)
	b.broken(t)
	apitest.CheckFilters[sol.VnfInstance](t, b.Server, instances)
	apitest.CheckFilters[sol.VnfLcmOpOcc](t, b.Server, operations)
}

// Several expressions on a list hold for the same element.
func TestExpressionsOnAListHoldForTheSameElement(t *testing.T) {
	t.Parallel()
	b := setup(t)
	up, _ := b.instantiate(t)
	i := apitest.JSON[sol.VnfInstance](t, b.Do(t, "GET", instances+"/"+up, nil))
	require.NotEmpty(t, i.InstantiatedVnfInfo.VnfcResourceInfo)
	c := i.InstantiatedVnfInfo.VnfcResourceInfo[0]
	const at = "instantiatedVnfInfo/vnfcResourceInfo"
	for text, want := range map[string]int{
		fmt.Sprintf("(eq,%s/id,%s);(eq,%s/vduId,%s)", at, c.ID, at, c.VduID):        1,
		fmt.Sprintf("(eq,%s/id,%s);(neq,%s/vduId,%s)", at, c.ID, at, c.VduID):       0,
		fmt.Sprintf("(eq,%s/id,%s);(eq,instantiationState,INSTANTIATED)", at, c.ID): 1,
	} {
		require.Len(t, follow[any](t, b, instances+"?filter="+url.QueryEscape(text)), want, text)
	}
}
