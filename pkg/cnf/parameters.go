package cnf

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// The members of additionalParams that the driver reads.
const (
	paramFiles     = "lcm-kubernetes-def-files" // paths of manifests, from the package's root
	paramNamespace = "namespace"                // namespace of objects that name none
)

// Limits of a request and its manifests.
const (
	maxFiles   = 256
	maxObjects = 1000
)

// parameters are the additionalParams of an operation, as far as the driver reads them.
type parameters struct {
	files     []manifest
	partial   bool // the request names more files, which cannot be read
	namespace string
}

// manifest is a file of the package with objects.
type manifest struct {
	path    string // from the package's root
	pointer string // to the member of the request that names the file, or that would name another one
	mciop   string // the object package of the VNFD that names the file; "" when a request does
}

// where begins the text about a mistake in the file.
func (m manifest) where() string {
	if m.mciop == "" {
		return ""
	}
	return fmt.Sprintf("the object package %s of the VNFD: ", m.mciop)
}

// namespaceName is an RFC 1123 label, which a namespace's name has to be.
var namespaceName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// readParameters reads additionalParams. A request that names no namespace gets that of the connection, and one that
// names no manifests gets those of the flavour's object packages.
func readParameters(
	params sol.KeyValuePairs, conn sol.VimConnectionInfo, f *vnfd.Flavour,
) (parameters, []lcm.InvalidParam) {
	out := parameters{namespace: "default"}
	var bad []lcm.InvalidParam
	reject := func(pointer, format string, args ...any) {
		detail := fmt.Sprintf(format, args...)
		bad = append(bad, lcm.InvalidParam{Pointer: "/additionalParams" + pointer, Detail: detail})
	}
	if ns, _ := conn.AccessInfo[kubernetes.AccessNamespace].(string); ns != "" {
		out.namespace = ns
	}
	if given, ok := params[paramNamespace]; ok && given != nil {
		ns, isText := given.(string)
		if !isText || !namespaceName.MatchString(ns) {
			reject("/"+paramNamespace, "is not the name of a namespace: lower-case letters, digits and -, at most 63")
		}
		out.namespace = ns
	}
	const at = "/" + paramFiles
	list, ok := params[paramFiles].([]any)
	switch {
	case params[paramFiles] == nil:
		if out.files = packaged(f); len(out.files) == 0 {
			reject(at, "is missing, and the VNFD has no object package with manifests; list the manifests of the "+
				"package, such as Files/kubernetes/deployment.yaml")
		}
	case !ok:
		reject(at, "is not a list of paths")
	case len(list) == 0:
		reject(at, "names no manifest")
	case len(list) > maxFiles:
		reject(at, "names %d files; at most %d are read", len(list), maxFiles)
		list = nil
	}
	for n, e := range list {
		file, isText := e.(string)
		switch file = strings.TrimPrefix(file, "./"); {
		case !isText || file == "":
			reject(fmt.Sprintf("%s/%d", at, n), "is not a path")
		case strings.Contains(file, "://"):
			reject(fmt.Sprintf("%s/%d", at, n),
				"names a file on another server; put the manifest in the package, nothing is fetched")
		case !fs.ValidPath(file) || path.Clean(file) != file:
			reject(fmt.Sprintf("%s/%d", at, n), "is not a path below the package's root")
		default:
			out.files = append(out.files, manifest{
				path: file, pointer: fmt.Sprintf("/additionalParams%s/%d", at, n),
			})
		}
	}
	out.partial = len(out.files) < len(list)
	return out, bad
}

// packaged are the manifests of the object packages of a flavour, in the order of their deployment. The flavour is nil
// when the package cannot be read any more.
func packaged(f *vnfd.Flavour) []manifest {
	if f == nil {
		return nil
	}
	var out []manifest
	for _, m := range f.Mciops {
		for _, file := range m.Manifests {
			out = append(out, manifest{path: file, pointer: "/additionalParams/" + paramFiles, mciop: m.Name})
		}
	}
	return out
}
