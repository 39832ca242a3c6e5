package hot_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
)

// TestRenew: the definition of members gets a word, and members that may have the definition of an update that failed
// are one batch.
func TestRenew(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policy string
		there  hot.Members
		want   string
	}{
		"no member has failed":      {"max_batch_size: 2, min_in_service: 1", hot.Members{All: 4}, "2, 1, "},
		"one has":                   {"", hot.Members{All: 4, Failed: 1}, "1, 0, "},
		"one of a batch of one has": {"max_batch_size: 1, pause_time: 3", hot.Members{All: 4, Failed: 1}, "1, 0, 3"},
		"one of a batch of two has": {"max_batch_size: 2, min_in_service: 2", hot.Members{All: 4, Failed: 1}, "4, 0, "},
		"one of an unknown batch":   {"max_batch_size: {get_param: n}", hot.Members{All: 4, Failed: 1}, "4, 0, "},
		"two have":                  {"", hot.Members{All: 4, Failed: 2}, "4, 0, "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tpl := parse(t, strings.Replace(renewed, "POLICY", tt.policy, 1))
			require.True(t, tpl.Renew("word", map[string]hot.Members{"G": tt.there}))
			again := parse(t, encode(t, tpl))
			require.Equal(t, tt.want, rollingUpdates(t, again))
			require.Contains(t, encode(t, again), "gybe.renewed: word")
			require.Contains(t, encode(t, again), "kept: true")
		})
	}
	require.False(t, parse(t, "heat_template_version: 2018-08-31\nresources: {}\n").Renew("word", nil))
}

const renewed = `heat_template_version: 2018-08-31
parameters: {n: {type: number, default: 1}}
resources:
  G:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 0
      max_size: 9
      rolling_updates: {POLICY}
      resource: {type: member.yaml, metadata: {kept: true}}
`

// rollingUpdates are the size of the batches, the members in service and the pause of the group.
func rollingUpdates(t *testing.T, tpl *hot.Template) string {
	t.Helper()
	var doc struct {
		Resources map[string]struct {
			Properties struct {
				Rolling map[string]any `yaml:"rolling_updates"`
			} `yaml:"properties"`
		} `yaml:"resources"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(encode(t, tpl)), &doc))
	r := doc.Resources["G"].Properties.Rolling
	text := func(name string) string {
		if r[name] == nil {
			return ""
		}
		return fmt.Sprint(r[name])
	}
	return text("max_batch_size") + ", " + text("min_in_service") + ", " + text("pause_time")
}
