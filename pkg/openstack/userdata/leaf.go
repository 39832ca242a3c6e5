package userdata

// Templates ask nfv for the flavour and the image of a VDU by these names. Those of packages for older VNFMs have
// others.
const (
	LeafFlavour = "computeFlavourId"
	LeafImage   = "vcImageId"
)

var olderLeaves = map[string]string{LeafFlavour: "flavor", LeafImage: "image"}

// Leaves are the names by which templates ask for what name (LeafFlavour, LeafImage) stands for, the usual one first.
func Leaves(name string) []string { return []string{name, olderLeaves[name]} }

// IsLeaf says whether a template that asks for leaf means name.
func IsLeaf(leaf, name string) bool { return leaf == name || leaf == olderLeaves[name] }

// ValueOf is the value that the leaves of a VDU have for name; ok is false when they have none.
func ValueOf(leaves map[string]any, name string) (value string, ok bool) {
	for _, leaf := range Leaves(name) {
		if s, ok := leaves[leaf].(string); ok {
			return s, true
		}
	}
	return "", false
}
