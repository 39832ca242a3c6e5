package kubespray_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/gybe-nfv/gybe/pkg/kubespray"
)

// FuzzBalance: no file of a load balancer makes the editor panic or lose a line that is not a server, and a second call
// changes nothing.
func FuzzBalance(f *testing.F) {
	f.Add("global\n  log x\nbackend kubernetes-apiserver\n  server a 10.0.0.1:6443\nbackend kubernetes-nodeport\n")
	f.Add("backend kubernetes-nodeport\n\n# a\nbackend kubernetes-apiserver # x\n server\n\nlisten x\n server b\n")
	masters := []kubespray.Server{{Name: "master11", IP: "10.0.0.11"}}
	workers := []kubespray.Server{{Name: "worker21", IP: "10.0.0.21"}}
	f.Fuzz(func(t *testing.T, file string) {
		once, err := kubespray.Balance([]byte(file), masters, workers)
		if err != nil {
			return
		}
		twice, err := kubespray.Balance(once, masters, workers)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("again: %v\n%q\n%q", err, once, twice)
		}
		if before, after := others(file), others(string(once)); !slices.Equal(before, after) {
			t.Fatalf("%q became %q", before, after)
		}
	})
}

// others are the lines of a file that are neither empty nor servers.
func others(file string) []string {
	return slices.DeleteFunc(strings.Split(file, "\n"), func(l string) bool {
		f := strings.Fields(l)
		return len(f) == 0 || f[0] == "server"
	})
}
