package objects_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gybe-nfv/gybe/pkg/kubernetes/objects"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

func names(list []*unstructured.Unstructured) (out []string) {
	for _, o := range list {
		out = append(out, objects.RefOf(o).String())
	}
	return out
}

func TestParse(t *testing.T) {
	t.Parallel()
	const one = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"comments only", "# a\n---\n# b\n---\n", ""},
		{"null", "---\nnull\n", ""},
		{"one", one, "ConfigMap a"},
		{"several", one + "---\n# c\n---\napiVersion: v1\nkind: Secret\n" +
			"metadata:\n  name: b\n  namespace: ns\n...\n", "ConfigMap a, Secret ns/b"},
		{"directive", "%YAML 1.1\n---\n" + one, "ConfigMap a"},
		{"content behind the separator", "--- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n", "ConfigMap a"},
		{"separator in a text", one + "data:\n  x: |\n    a\n    ---\n    b\n", "ConfigMap a"},
		{"windows", "\ufeffapiVersion: v1\r\nkind: ConfigMap\r\nmetadata: {name: a}\r\n---\r\n", "ConfigMap a"},
		{
			"JSON with tabs", "{\n\t\"apiVersion\": \"v1\", \"kind\": \"Pod\",\n\t\"metadata\": {\"name\": \"p\"}}",
			"Pod p",
		},
		{
			"list", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: p}}\n" +
				"- {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod, metadata: {name: q}}]}\n",
			"Pod p, Pod q",
		},
		{"empty list", "apiVersion: v1\nkind: List\nitems: []\n", ""},
		{"a kind that ends with List", "apiVersion: x/v1\nkind: AllowList\nmetadata: {name: a}\n", "AllowList a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			list, err := objects.Parse("f.yaml", []byte(c.in))
			require.NoError(t, err)
			require.Equal(t, c.want, strings.Join(names(list), ", "))
		})
	}
}

func TestParseRefusesWithTheLine(t *testing.T) {
	t.Parallel()
	const good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n"
	for _, c := range []struct{ name, in, want string }{
		{
			"syntax", good + "\napiVersion: v1\nkind: [\n",
			"f.yaml: document 2, line 7: did not find expected node content",
		},
		{"not an object", good + "- 1\n", "f.yaml: document 2, line 5: an object is expected, not \"[1]\""},
		{"no version", "kind: Pod\nmetadata: {name: a}\n", "line 1: apiVersion must be a text such as v1 or apps/v1"},
		{"no kind", good + "apiVersion: v1\nmetadata: {name: a}\n", "document 2, line 5: kind is missing"},
		{"no name", "apiVersion: v1\nkind: Pod\n", "Pod: metadata.name is missing"},
		{"generated name", "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n", "would be created again"},
		{
			"number as a label", "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {x: 1}}\n",
			"Pod a: the values of metadata.labels must be texts",
		},
		{
			"namespace", "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: 1}\n",
			"metadata.namespace is not a text",
		},
		{"items", "apiVersion: v1\nkind: List\nitems: {}\n", "metadata.name is missing"},
		{"item", "apiVersion: v1\nkind: List\nitems: [{kind: Pod}]\n", "item 1 of the List: apiVersion must be"},
		{
			"nested", strings.Repeat("{apiVersion: v1, kind: List, items: [", 20) + strings.Repeat("]}", 20),
			"nested more than",
		},
		{"large", strings.Repeat(" ", objects.MaxFile+1), "larger than 4 MiB"},
		{"many", strings.Repeat(good, objects.MaxObjects+1), "more than 1000 objects"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := objects.Parse("f.yaml", []byte(c.in))
			require.ErrorContains(t, err, c.want)
			require.Equal(t, lcm.CodeUnprocessable, lcm.AsError(err).Code)
		})
	}
}

func TestSort(t *testing.T) {
	t.Parallel()
	list, err := objects.Parse("f.yaml", []byte(strings.Join([]string{
		"{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}",
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: d2}}",
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: d1}}",
		"{apiVersion: v1, kind: Service, metadata: {name: s}}",
		"{apiVersion: v1, kind: Namespace, metadata: {name: ns}}",
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: c}}",
	}, "\n---\n")))
	require.NoError(t, err)
	objects.Sort(list)
	require.Equal(t, []string{
		"CustomResourceDefinition c", "Namespace ns", "Service s", "Deployment d2", "Deployment d1", "Widget w",
	}, names(list))
	objects.SortForDeletion(list)
	require.Equal(t, []string{
		"Widget w", "Deployment d2", "Deployment d1", "Service s", "Namespace ns", "CustomResourceDefinition c",
	}, names(list))
}

// FuzzParse: a manifest is refused with CodeUnprocessable, or gives objects that can be written and read again.
func FuzzParse(f *testing.F) {
	f.Add([]byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n"))
	f.Add([]byte("%YAML 1.1\n--- {apiVersion: v1, kind: List, items: [{kind: Pod, metadata: {name: q}}]}\n..."))
	f.Add([]byte("a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := objects.Parse("f", data)
		if err != nil {
			if lcm.AsError(err).Code != lcm.CodeUnprocessable {
				t.Fatalf("%v", err)
			}
			return
		}
		for _, o := range list {
			if o.GetKind() == "" || o.GetAPIVersion() == "" || o.GetName() == "" {
				t.Fatalf("%v", o.Object)
			}
			raw, err := o.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if again, err := objects.Parse("f", raw); err != nil || len(again) != 1 {
				t.Fatalf("%s: %v, %d objects", raw, err, len(again))
			}
		}
	})
}
