package hot_test

import (
	"fmt"
	"maps"
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
			_, some, err := tpl.Renew(nil, "word", map[hot.Place]hot.Members{{Group: "G"}: tt.there})
			require.NoError(t, err)
			require.True(t, some)
			again := parse(t, encode(t, tpl))
			require.Equal(t, tt.want, rollingUpdates(t, again))
			require.Contains(t, encode(t, again), "gybe.renewed: word")
			require.Contains(t, encode(t, again), "kept: true")
		})
	}
	_, some, err := parse(t, "heat_template_version: 2018-08-31\nresources: {}\n").Renew(nil, "word", nil)
	require.NoError(t, err)
	require.False(t, some)
}

// TestRenewNested: groups in nested templates are renewed at any depth, also in the template of members, each with its
// own members; files that have none, that no resource uses or that are no HOT stay as they are.
func TestRenewNested(t *testing.T) {
	t.Parallel()
	top := parse(t, `heat_template_version: 2018-08-31
resources:
  A: {type: outer.yaml}
  B: {type: outer.yaml}
`)
	inner := strings.Replace(renewed, "POLICY", "max_batch_size: 2", 1)
	files := map[string]string{
		"outer.yaml":  "heat_template_version: 2018-08-31\nresources: {C: {type: inner.yaml}, D: {type: other.yaml}}\n",
		"inner.yaml":  inner,
		"member.yaml": "heat_template_version: 2018-08-31\nresources: {G: {type: inner.yaml}}\n",
		"unused.yaml": inner,
		"script.sh":   "true",
		"other.yaml":  "AWSTemplateFormatVersion: '2010-09-09'\n",
	}
	before := maps.Clone(files)
	again, some, err := top.Renew(files, "word", map[hot.Place]hot.Members{
		{Nested: true, Group: "G"}: {All: 3, Failed: 1}, {Group: "G"}: {All: 9, Failed: 9},
	})
	require.NoError(t, err)
	require.True(t, some)
	require.Equal(t, before, files)
	require.Contains(t, again["inner.yaml"], "gybe.renewed: word")
	require.Equal(t, "3, 0, ", rollingUpdates(t, parse(t, again["inner.yaml"])))
	delete(again, "inner.yaml")
	delete(files, "inner.yaml")
	require.Equal(t, files, again)
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
