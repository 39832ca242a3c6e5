package vnflcm_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
)

// FuzzRequests sends bodies to the real domain on a real database: creating an instance, and every task of one that is
// not instantiated and of one that is. No body is an internal error, and the answers match their document.
func FuzzRequests(f *testing.F) {
	b := setup(f)
	fresh, up := b.create(f), b.cluster(f)
	targets := [][2]string{{http.MethodPost, instances}}
	for _, k := range lcm.OperationKinds() {
		for _, id := range []string{fresh, up} {
			targets = append(targets, [2]string{k.Method(), strings.TrimSuffix(instances+"/"+id+"/"+k.Path, "/")})
		}
	}
	valid, err := json.Marshal(apitest.Params())
	require.NoError(f, err)
	for n := range targets {
		for _, body := range []string{
			`{}`, string(valid), `{"vnfdId":"` + apitest.VnfdID + `","metadata":{"a":[{}]}}`,
			`{"metadata":{"VDU_VNFc_mapping":{"a":["x","x"]}},"vimConnectionInfo":{"vim1":null}}`,
			`{"terminationType":"GRACEFUL","gracefulTerminationTimeout":1e99}`, `{"vnfcInstanceId":["x"],"cause":""}`,
			`{"type":"SCALE_OUT","aspectId":"a","numberOfSteps":9223372036854775807}`,
			`{"scaleInfo":[{"aspectId":"a","scaleLevel":-1}]}`, `{"newFlavourId":"x"}`, `{"changeStateTo":"STOPPED"}`,
			`{"extVirtualLinks":[{"id":"a","resourceId":"b","extCps":[{"cpdId":"c","cpConfig":{"x":null}}]}]}`,
		} {
			f.Add(uint8(n), body)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, body string) {
		target := targets[int(n)%len(targets)]
		a := b.Do(t, target[0], target[1], body)
		require.NotEqual(t, http.StatusInternalServerError, a.Status, string(a.Body))
		require.Less(t, a.Status, 600)
		if a.Status != http.StatusAccepted {
			return
		}
		op := a.LocationID(t) // the next request has to find the instance without an active operation
		state := b.Work(t, op)
		if lcm.Active(state) {
			require.Equal(t, 200, b.Do(t, "POST", operations+"/"+op+"/fail", nil).Status)
		}
		var shown sol.VnfLcmOpOcc
		require.NoError(t, json.Unmarshal(b.Do(t, "GET", operations+"/"+op, nil).Body, &shown))
	})
}
