package objects_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/kubernetes/objects"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	before := parse(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, uid: "1", resourceVersion: "2", annotations: {a.b/c: old}}
spec:
  replicas: 1
  template:
    spec: {containers: [{name: a, image: x, args: [p]}, {name: b, image: y}]}
status: {replicas: 1}
`)
	after := parse(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, uid: "9", annotations: {a.b/c: new}}
spec:
  replicas: 2
  template:
    spec: {containers: [{name: b, image: y}, {name: a, image: z, args: [p, q]}], hostNetwork: true}
`)
	var lines []string
	for _, c := range objects.Diff(before, after) {
		lines = append(lines, c.String())
	}
	require.Equal(t, []string{
		"metadata.annotations[a.b/c]: old -> new",
		"spec.replicas: 1 -> 2",
		"spec.template.spec.containers[a].args: [p] -> [p q]",
		"spec.template.spec.containers[a].image: x -> z",
		"spec.template.spec.hostNetwork: + true",
	}, lines)
	require.Empty(t, objects.Diff(before, before))
}

func TestDiffOfSecretsIsHidden(t *testing.T) {
	t.Parallel()
	secret := func(value string) string {
		return `{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: ` +
			`{kubectl.kubernetes.io/last-applied-configuration: canary` + value + `}}, ` +
			`data: {p: canary` + value + `, a.b: canary` + value + `}, stringData: {q: canary` + value + `}, type: T` + value + `}`
	}
	one, two := parse(t, secret("1")), parse(t, secret("2"))
	for _, list := range [][]objects.Change{objects.Diff(one, two), objects.Diff(nil, two), objects.Diff(one, nil)} {
		hidden := 0
		for _, c := range list {
			require.NotContains(t, c.String(), "canary")
			if c.Old == objects.Hidden || c.New == objects.Hidden {
				hidden++
			}
		}
		require.Equal(t, 4, hidden)
	}
}

func TestSummarizeIsBounded(t *testing.T) {
	t.Parallel()
	require.Empty(t, objects.Summarize(nil))
	many := make([]objects.Change, 25)
	for n := range many {
		many[n] = objects.Change{Path: "data.page", Old: strings.Repeat("ä", 81), New: "b"}
	}
	text := objects.Summarize(many)
	require.True(t, strings.HasPrefix(text, "data.page: "+strings.Repeat("ä", 80)+"… -> b; "), text)
	require.Equal(t, 20, strings.Count(text, "data.page"))
	require.True(t, strings.HasSuffix(text, "; and 5 more"), text)
	require.Equal(t, "spec.replicas: + 3", objects.Summarize([]objects.Change{{Path: "spec.replicas", New: int64(3)}}))
}
