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
	files     []string
	namespace string
}

// namespaceName is an RFC 1123 label, which a namespace's name has to be.
var namespaceName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// readParameters reads additionalParams. conn gives the namespace of a request that has none.
func readParameters(params sol.KeyValuePairs, conn sol.VimConnectionInfo) (parameters, []lcm.InvalidParam) {
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
	at := "/" + paramFiles
	list, ok := params[paramFiles].([]any)
	switch {
	case params[paramFiles] == nil:
		reject(at, "is missing; list the manifests of the package, such as Files/kubernetes/deployment.yaml")
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
			out.files = append(out.files, file)
		}
	}
	return out, bad
}
