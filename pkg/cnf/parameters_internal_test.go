package cnf

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// FuzzParameters: no request makes the reader panic, each file that it accepts is below the root of the package, and
// each defect has a pointer into additionalParams.
func FuzzParameters(f *testing.F) {
	f.Add(`{"lcm-kubernetes-def-files": ["Files/kubernetes/deployment.yaml", "./b.yaml"], "namespace": "cnf"}`)
	f.Add(`{"lcm-kubernetes-def-files": ["../x", "/etc/passwd", "https://h/x", 1, null, ""], "namespace": "A"}`)
	f.Add(`{"lcm-kubernetes-def-files": {}, "namespace": []}`)
	f.Fuzz(func(t *testing.T, request string) {
		var params sol.KeyValuePairs
		if json.Unmarshal([]byte(request), &params) != nil {
			return
		}
		out, bad := readParameters(params, sol.VimConnectionInfo{}, nil)
		for _, m := range out.files {
			if !fs.ValidPath(m.path) {
				t.Errorf("%q is accepted", m.path)
			}
		}
		for _, b := range bad {
			if !strings.HasPrefix(b.Pointer, "/additionalParams/") {
				t.Errorf("the pointer %q", b.Pointer)
			}
		}
		if len(bad) == 0 && (!namespaceName.MatchString(out.namespace) || len(out.files) == 0) {
			t.Errorf("accepted: %+v", out)
		}
	})
}
