package contract

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuotas(t *testing.T) {
	t.Parallel()
	admin := connect(t, "quotas")
	c := admin.other()
	limit := func(service, path, name string, set obj) {
		back := obj{}
		for k := range set {
			back[k] = -1
		}
		put := func(v obj) {
			r := admin.call(http.MethodPut, service, path+c.project, obj{name: v})
			require.Equal(t, http.StatusOK, r.status, r.text)
		}
		t.Cleanup(func() { put(back) })
		put(set)
	}
	nova := func(set obj) { limit("nova", "/os-quota-sets/", "quota_set", set) }
	fails := func(what, pattern, template string, files obj) {
		s := c.create("quota", obj{"template": template, "files": files}, "CREATE_FAILED")
		c.like(what, pattern, s.reason())
		s.remove()
	}
	request := ` \(Request-ID: req-[0-9a-f-]{36}\)$`
	neutron := `\nNeutron server returns request_ids: \['req-[0-9a-f-]{36}'\]$`
	files := obj{"VDU.yaml": unit}

	nova(obj{"instances": 0})
	fails("too many instances fail at once", `^Resource CREATE failed: Forbidden: resources\.VDU-0\.resources\.VDU: Quota exceeded for instances: Requested 1, but already used 0 of 0 instances \(HTTP 403\)`+request, single, files)
	r := c.call(http.MethodGet, "nova", "/limits", nil)
	c.same("Nova's limits show what is allowed and used", []any{0.0, 0.0, -1.0},
		[]any{
			r.get("limits", "absolute", "maxTotalInstances"), r.get("limits", "absolute", "totalInstancesUsed"),
			r.get("limits", "absolute", "maxTotalCores"),
		})
	r = c.call(http.MethodGet, "nova", "/os-quota-sets/"+c.project+"/detail", nil)
	c.same("so do Nova's quotas in detail", obj{"limit": 0.0, "in_use": 0.0, "reserved": 0.0},
		r.get("quota_set", "instances"))
	nova(obj{"instances": -1, "cores": 0})
	fails("too many cores likewise",
		`Quota exceeded for cores: Requested 1, but already used 0 of 0 cores \(HTTP 403\)`+request, single, files)
	nova(obj{"cores": -1, "ram": 100})
	fails("too much memory likewise",
		`Quota exceeded for ram: Requested 512, but already used 0 of 100 ram \(HTTP 403\)`+request, single, files)
	nova(obj{"ram": -1, "server_groups": 0})
	fails("too many server groups likewise", `^Resource CREATE failed: Forbidden: resources\.G: Quota exceeded, too many server groups\. \(HTTP 403\)`+request, hot+"resources: {G: {type: OS::Nova::ServerGroup, properties: {policies: [anti-affinity]}}}", nil)
	nova(obj{"server_groups": -1})

	limit("neutron", "/quotas/", "quota", obj{"port": 0, "floatingip": 0})
	fails("too many ports fail at once, although it is a conflict", `^Resource CREATE failed: OverQuotaClient: resources\.VDU-0\.resources\.CP: Quota exceeded for resources: \['port'\]\.`+neutron, single, files)
	fails("too many floating IPs likewise", `^Resource CREATE failed: OverQuotaClient: resources\.F: Quota exceeded for resources: \['floatingip'\]\.`+neutron, hot+"resources: {F: {type: OS::Neutron::FloatingIP, properties: {floating_network: public}}}", nil)
	r = c.call(http.MethodGet, "neutron", "/quotas/"+c.project+"/details.json", nil)
	c.same("Neutron's quotas in detail show what is allowed and used", []any{0.0, 0.0},
		[]any{r.get("quota", "floatingip", "limit"), r.get("quota", "floatingip", "used")})
	r = c.call(http.MethodGet, "neutron", "/quotas/"+c.project, nil)
	c.same("Neutron's quotas show what is allowed", []any{0.0, -1.0},
		[]any{r.get("quota", "port"), r.get("quota", "network")})
	r = c.call(http.MethodPost, "neutron", "/ports", obj{
		"port": obj{"network_id": c.idOf("neutron", "/networks?name=net0", "networks", "net0")},
	})
	c.fact("Neutron refuses a port over the quota with a conflict", r.status == http.StatusConflict &&
		r.str("NeutronError", "type") == "OverQuota" &&
		r.str("NeutronError", "message") == "Quota exceeded for resources: ['port'].", r.status, r.text)

	disk := func(size string) string {
		return hot + "resources: {V: {type: OS::Cinder::Volume, properties: {size: " + size +
			", volume_type: standard}}}"
	}
	cinder := func(set obj) { limit("cinder", "/os-quota-sets/", "quota_set", set) }
	cinder(obj{"volumes": 0})
	fails("too many volumes fail at once", `^Resource CREATE failed: OverLimit: resources\.V: VolumeLimitExceeded: Maximum number of volumes allowed \(0\) exceeded for quota 'volumes'\. \(HTTP 413\)`+request, disk("1"), nil)
	r = c.call(http.MethodPost, "cinder", "/volumes", obj{"volume": obj{"size": 1}})
	c.fact("Cinder refuses a volume over the quota with 413 and asks to come again after 0 s",
		r.status == http.StatusRequestEntityTooLarge &&
			r.header.Get("Retry-After") == "0" && r.str("overLimit", "retryAfter") == "0" &&
			r.str(
				"overLimit", "message",
			) == "VolumeLimitExceeded: Maximum number of volumes allowed (0) exceeded for quota 'volumes'.", r.status,
		r.text)
	cinder(obj{"volumes": -1, "gigabytes": 1})
	fails("too many gigabytes likewise", `^Resource CREATE failed: OverLimit: resources\.V: VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed gigabytes quota\. Requested 2G, quota is 1G and 0G has been consumed\. \(HTTP 413\)`+request, disk("2"), nil)
	r = c.call(http.MethodGet, "cinder", "/limits", nil)
	c.same("Cinder's limits show what is allowed and used", []any{1.0, 0.0, -1.0},
		[]any{
			r.get("limits", "absolute", "maxTotalVolumeGigabytes"), r.get("limits", "absolute", "totalGigabytesUsed"),
			r.get("limits", "absolute", "maxTotalVolumes"),
		})
	cinder(obj{"gigabytes": -1, "volumes_standard": 0})
	fails("too many volumes of a type likewise",
		`Maximum number of volumes allowed \(0\) exceeded for quota 'volumes_standard'\. \(HTTP 413\)`, disk("1"), nil)
	r = c.call(http.MethodGet, "cinder", "/os-quota-sets/"+c.project+"?usage=True", nil)
	c.same("Cinder's quotas with usage show both", []any{
		obj{"limit": 0.0, "in_use": 0.0, "reserved": 0.0}, obj{"limit": -1.0, "in_use": 0.0, "reserved": 0.0},
	},
		[]any{r.get("quota_set", "volumes_standard"), r.get("quota_set", "gigabytes")})
}
