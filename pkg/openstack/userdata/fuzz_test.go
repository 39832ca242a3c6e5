package userdata_test

import (
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// FuzzAssemble: whatever a request and a template say, the result is a stack that can be sent, or the errors name the
// member of the request or the template.
func FuzzAssemble(f *testing.F) {
	top, err := os.ReadFile("testdata/BaseHOT/simple/simple_hot_top.yaml")
	require.NoError(f, err)
	nested, err := os.ReadDir("testdata/BaseHOT/simple/nested")
	require.NoError(f, err)
	files := fstest.MapFS{}
	for _, n := range nested {
		text, err := os.ReadFile("testdata/BaseHOT/simple/nested/" + n.Name())
		require.NoError(f, err)
		files["BaseHOT/simple/nested/"+n.Name()] = &fstest.MapFile{Data: text}
	}
	const class = `"lcm-operation-user-data": "./UserData/x.py", "lcm-operation-user-data-class": "StandardUserData"`
	for _, request := range []string{
		`{"flavourId": "simple"}`,
		`{"additionalParams": {` + class + `, "nfv": {"VDU": {"VDU1": {"computeFlavourId": null}}, "CP": []}}}`,
		`{"extVirtualLinks": [{"id": "a", "resourceId": "n", "extCps": [{"cpdId": "VDU1_CP1", "cpConfig": {"1":
			{"cpProtocolData": [{"layerProtocol": "IP_OVER_ETHERNET", "ipOverEthernet": {"ipAddresses": [
			{"type": "IPV4", "fixedAddresses": ["10.0.0.1"], "subnetId": "s"}]}}]}}}]}],
			"extManagedVirtualLinks": [{"id": "m", "vnfVirtualLinkDescId": "internalVL1", "resourceId": "r"}]}`,
	} {
		f.Add([]byte(request), top, 1, 2)
	}
	f.Fuzz(func(t *testing.T, request, template []byte, first, second int) {
		var r sol.InstantiateVnfRequest
		if json.Unmarshal(request, &r) != nil {
			return // package sol has rejected it
		}
		class, _, bad := userdata.Select(r.AdditionalParams)
		requirePointers(t, bad)
		if len(bad) > 0 {
			return
		}
		pkg := fstest.MapFS{"BaseHOT/simple/top.yaml": {Data: template}}
		maps.Copy(pkg, files)
		var cache hot.Cache
		bundle, err := cache.Load(pkg, "simple")
		if err != nil {
			return // FuzzLoad
		}
		stack, bad, err := userdata.Assemble(userdata.Input{
			Class: class, Flavour: simple(), HOT: bundle, Counts: map[string]int{"VDU1": first & 3, "VDU2": second & 3},
			Ext: r.ExtVirtualLinks, Managed: r.ExtManagedVirtualLinks, Patches: []sol.KeyValuePairs{r.AdditionalParams},
			PublicKey: "ssh-ed25519 AAAA",
		})
		if err != nil {
			return // a template that does not fit, or values that cannot be written
		}
		requirePointers(t, bad)
		_, err = json.Marshal(stack.Parameters())
		require.NoError(t, err)
		_, err = hot.Parse("top.yaml", []byte(stack.Template))
		require.NoError(t, err, stack.Template)
	})
}

func requirePointers(t *testing.T, bad []lcm.InvalidParam) {
	t.Helper()
	for _, b := range bad {
		require.True(t, strings.HasPrefix(b.Pointer, "/"), b.Pointer)
		require.NotEmpty(t, b.Detail)
	}
}
