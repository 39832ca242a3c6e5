package k8scluster

import (
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/remote"
	vnfpackages "github.com/gybe-nfv/gybe/vnf-packages"
)

// library is the files of the shared library that a script in nodescripts loads from the folder lib. The packages' own
// scripts bring theirs.
func library(names ...string) []remote.File {
	var out []remote.File
	for _, name := range names {
		raw, err := vnfpackages.Library.ReadFile(vnfpackages.LibraryDir + "/" + name)
		if err != nil {
			panic(fmt.Sprintf("%s is not part of this program: %v", name, err)) // it is embedded
		}
		out = append(out, remote.File{Name: "lib/" + name, Mode: 0o600, Content: raw})
	}
	return out
}
