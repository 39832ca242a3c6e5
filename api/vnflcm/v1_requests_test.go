package vnflcm_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	v1 "github.com/gybe-nfv/gybe/pkg/sol/v1"
	"github.com/gybe-nfv/gybe/test/apitest"
)

// TestInvalidRequestsOfVersion1 are rejected with pointers into the request as it was sent.
func TestInvalidRequestsOfVersion1(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.createV1(t, apitest.VnfdID)
	links := func(config string) string {
		return `{"flavourId":"simple","extVirtualLinks":[{"id":"a","resourceId":"b","extCps":[{"cpdId":"c","cpConfig":` +
			config + `}]}]}`
	}
	vims := func(list string) string { return `{"flavourId":"simple","vimConnectionInfo":` + list + `}` }
	for body, want := range map[string]struct {
		status  int
		pointer string
	}{
		vims(`{"vim1":{"vimType":"openstack"}}`):                    {400, "/vimConnectionInfo"},
		vims(`[{"vimType":"openstack"}]`):                           {400, "/vimConnectionInfo/0/id"},
		vims(`[{"id":"a","vimType":"x"},{"id":"a","vimType":"x"}]`): {422, "/vimConnectionInfo/1/id"},
		vims(`[{"id":"a/b","vimType":"nonsense"}]`):                 {422, "/vimConnectionInfo/0/vimType"},
		links(`{"k":{}}`): {400, "/extVirtualLinks/0/extCps/0/cpConfig"},
		links(`[{},{}]`):  {422, "/extVirtualLinks/0/extCps/0/cpConfig/1/cpInstanceId"},
	} {
		a := b.Do(t, "POST", instancesV1+"/"+id+"/instantiate", body)
		require.Equal(t, want.status, a.Status, "%s: %s", body, a.Body)
		require.Contains(t, a.Pointers(), want.pointer, "%s: %s", body, a.Body)
		require.Contains(t, a.Problem.Detail, want.pointer)
	}
	up := b.clusterV1(t)
	a := b.Do(t, "POST", instancesV1+"/"+up+"/heal", `{"vnfcInstanceId":"nothing"}`)
	require.Equal(t, 422, a.Status)
	require.Equal(t, []string{"/vnfcInstanceId"}, a.Pointers())
	for _, steps := range []string{`"0"`, `0`, `"x"`, `"9999999999"`, `1.5`} {
		a := b.Do(t, "POST", instancesV1+"/"+up+"/scale", `{"type":"SCALE_OUT","aspectId":"workers","numberOfSteps":`+steps+`}`)
		require.Equal(t, 400, a.Status, steps)
		require.Equal(t, []string{"/numberOfSteps"}, a.Pointers(), steps)
	}
}

// FuzzRequestsOfVersion1 is FuzzRequests with bodies that are translated.
func FuzzRequestsOfVersion1(f *testing.F) {
	b := setup(f)
	fresh, up := b.createV1(f, apitest.VnfdID), b.clusterV1(f)
	var targets [][2]string
	for _, task := range []string{
		"instantiate", "scale", "scale_to_level", "change_flavour", "heal", "operate", "change_ext_conn", "terminate",
	} {
		for _, id := range []string{fresh, up} {
			targets = append(targets, [2]string{http.MethodPost, instancesV1 + "/" + id + "/" + task})
		}
	}
	targets = append(targets, [2]string{http.MethodPatch, instancesV1 + "/" + up})
	targets = append(targets, [2]string{http.MethodPost, instancesV1})
	for n := range targets {
		for _, body := range []string{
			`{}`, `{"vnfcInstanceId":null}`, `{"vnfcInstanceId":"x"}`, `{"vnfcInstanceId":["x",""]}`,
			`{"type":"SCALE_OUT","aspectId":"workers","numberOfSteps":"1"}`, `{"terminationType":"FORCEFUL"}`,
			`{"flavourId":"simple","vimConnectionInfo":[{"id":"a","vimType":"openstack"},{"id":"b","vimType":"kubernetes"}]}`,
			`{"vimConnectionInfo":[{"id":"vim1","vimType":null}]}`, `{"vimConnectionInfo":[]}`, `{"additionalParams":null}`,
			`{"extVirtualLinks":[{"id":"a","resourceId":"b","extCps":[{"cpdId":"c","cpConfig":[{"cpInstanceId":"x"}]}]}]}`,
			`{"extVirtualLinks":[{"id":"a","resourceId":"b","extCps":[{"cpdId":"c","cpConfig":[{"linkPortId":"x"}]}]}]}`,
		} {
			f.Add(uint8(n), body)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, body string) {
		target := targets[int(n)%len(targets)]
		a := b.Do(t, target[0], target[1], body)
		require.Less(t, a.Status, http.StatusInternalServerError, string(a.Body))
		if a.Status != http.StatusAccepted {
			return
		}
		op := a.LocationID(t)
		if lcm.Active(b.Work(t, op)) {
			require.Equal(t, 200, b.Do(t, "POST", operationsV1+"/"+op+"/fail", nil).Status)
		}
		apitest.JSON[v1.VnfLcmOpOcc](t, b.Do(t, "GET", operationsV1+"/"+op, nil))
		apitest.JSON[[]v1.VnfInstance](t, b.Do(t, "GET", instancesV1+"?all_fields", nil))
	})
}
