package images

import (
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Ambiguous checks that an image name stands for one file only, because images are found again by name.
func Ambiguous(f *vnfd.Flavour, at string) []lcm.InvalidParam {
	files := map[string]string{}
	var bad []lcm.InvalidParam
	for _, n := range Packaged(f) {
		if other, ok := files[n.Image.Name]; ok && other != n.Image.File {
			bad = append(bad, lcm.InvalidParam{Pointer: at, Detail: fmt.Sprintf(
				"the package cannot be used with this flavour: the software image %q stands for %s and for %s",
				n.Image.Name, other, n.Image.File,
			)})
		}
		files[n.Image.Name] = n.Image.File
	}
	return bad
}

// Node is a node of the VNFD whose image is in the package.
type Node struct {
	Name  string
	Image *vnfd.SwImage
}

// Packaged lists the images that have to be uploaded, in the order of the VNFD.
func Packaged(f *vnfd.Flavour) []Node {
	var out []Node
	for _, v := range f.VDUs {
		if v.Image != nil && v.Image.File != "" {
			out = append(out, Node{v.Name, v.Image})
		}
	}
	for _, s := range f.Storages {
		if s.Image != nil && s.Image.File != "" {
			out = append(out, Node{s.Name, s.Image})
		}
	}
	return out
}
