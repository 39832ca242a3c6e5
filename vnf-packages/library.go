// Package vnfpackages holds the sample packages. The product itself uses only the part of their scripts' library that
// its own node scripts share.
package vnfpackages

import "embed"

// Library is the part of the library of install_k8s_cluster.sh that does not depend on that script.
//
//go:embed kubernetes-cluster/Scripts/lib/base.sh kubernetes-cluster/Scripts/lib/packages.sh
var Library embed.FS

// LibraryDir is the folder of the files in Library.
const LibraryDir = "kubernetes-cluster/Scripts/lib"
