package vnflcm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/apitest"
)

// TestAttributesOfAnInstanceStayWithinTheirLimits: several requests together cannot make an attribute larger than one
// request may.
func TestAttributesOfAnInstanceStayWithinTheirLimits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.cluster(t)
	path := instances + "/" + id
	half := strings.Repeat("0123456789", apitest.AttributeLimit/2/10) // as a number of texts of 1000 characters
	pairs := func(prefix string) string {
		var members []string
		for n := 0; n+1000 <= len(half); n += 1000 {
			members = append(members, fmt.Sprintf(`"%s%d":"%s"`, prefix, n, half[n:n+1000]))
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	for _, tt := range []struct{ body, pointer string }{
		{`{"metadata":%s}`, "/metadata"},
		{`{"extensions":%s}`, "/extensions"},
		{`{"vnfConfigurableProperties":%s}`, "/vnfConfigurableProperties"},
		{`{"vimConnectionInfo":{"vim1":{"vimType":"` + apitest.VimType + `","extra":%s}}}`, "/vimConnectionInfo"},
	} {
		b.done(t, "PATCH", path, fmt.Sprintf(tt.body, pairs("a")))
		b.done(t, "PATCH", path, fmt.Sprintf(tt.body, pairs("a")))
		a := b.Do(t, "PATCH", path, fmt.Sprintf(tt.body, pairs("b")))
		require.Equal(t, 422, a.Status, tt.pointer)
		require.Equal(t, []string{tt.pointer}, a.Pointers())
		require.Contains(t, a.Problem.Detail, "remove members")
	}
	b.done(t, "PATCH", path, `{"vnfInstanceName":"other attributes can still be changed"}`)
	b.done(t, "PATCH", path, `{"metadata":null}`)
	b.done(t, "PATCH", path, `{"metadata":`+pairs("b")+`}`)

	a := b.Do(t, "POST", path+"/change_vnfpkg", `{"vnfdId":"`+apitest.NextID+`","extensions":`+pairs("b")+`}`)
	require.Equal(t, 422, a.Status)
	require.Equal(t, []string{"/extensions"}, a.Pointers())
}
