package e2e_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// forms replaces what differs from one instance to the next.
var forms = []struct {
	what *regexp.Regexp
	form string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "<id>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(`-[a-z0-9]{12}/`), "-<random>/"},
	{regexp.MustCompile(`^https?://[^/]+`), "<url>"},
	{regexp.MustCompile(`^([0-9a-f]{2}:){5}[0-9a-f]{2}$`), "<mac>"},
	{regexp.MustCompile(`^\d+(\.\d+){3}$`), "<ip>"},
	{regexp.MustCompile(`^-----BEGIN CERTIFICATE-----(.|\n)*-----END CERTIFICATE-----\n?$`), "<certificates>"},
}

// shape lists the attributes of decoded JSON with the forms of their values, each once, in order.
func shape(v any) []string {
	lines := map[string]bool{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				walk(path+"/"+name, member)
			}
		case []any:
			for _, e := range v {
				walk(path+"/[]", e)
			}
		default:
			text := fmt.Sprint(v)
			for _, f := range forms {
				text = f.what.ReplaceAllString(text, f.form)
			}
			lines[path+" = "+text] = true
		}
	}
	walk("", v)
	return slices.Sorted(maps.Keys(lines))
}

// lines reads a file of testdata without its comments.
func lines(t *testing.T, name string) []string {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return slices.DeleteFunc(
		strings.Split(strings.TrimSpace(string(raw)), "\n"), func(l string) bool { return l == "" || l[0] == '#' },
	)
}

// sameShape compares what is shown of an instance with what its users know.
// cluster is the name that the instance's cluster has as a VIM.
func sameShape(t *testing.T, flavour, cluster string, shown any) {
	t.Helper()
	want, more, got := lines(t, "instance-"+flavour+".txt"), lines(t, "instance-more.txt"), shape(shown)
	for i := range got {
		got[i] = strings.Replace(got[i], "/vimConnectionInfo/"+cluster+"/", "/vimConnectionInfo/<cluster>/", 1)
	}
	missing := slices.DeleteFunc(want, func(l string) bool { return slices.Contains(got, l) })
	require.Empty(t, missing, "attributes that users know, and that are not shown or have another form")
	want = lines(t, "instance-"+flavour+".txt")
	extra := slices.DeleteFunc(got, func(l string) bool { return slices.Contains(want, l) || slices.Contains(more, l) })
	require.Empty(t, extra, "attributes that this test does not know")
}
