package k8scluster

import (
	"fmt"
	"regexp"
	"strconv"
)

// version is a version of Kubernetes, or, with a patch below zero, all those of a minor. The major is 1.
type version struct{ minor, patch int }

var versionParts = regexp.MustCompile(`^v?1\.([0-9]{1,3})(?:\.([0-9]{1,3}))?(?:[-+].*)?$`)

func parseVersion(text string) (version, bool) {
	m := versionParts.FindStringSubmatch(text)
	if m == nil {
		return version{}, false
	}
	v := version{patch: -1}
	v.minor, _ = strconv.Atoi(m[1])
	if m[2] != "" {
		v.patch, _ = strconv.Atoi(m[2])
	}
	return v, true
}

// targetVersion is the version that results from the parameter and the script.
func targetVersion(parameter string, script installScript) (version, bool) {
	if parameter != "" {
		return parseVersion(parameter)
	}
	return parseVersion(script.kubernetes)
}

// String is how the script's K8S_VERSION has it: 1.34 or 1.34.2.
func (v version) String() string {
	if v.patch < 0 {
		return fmt.Sprintf("1.%d", v.minor)
	}
	return fmt.Sprintf("1.%d.%d", v.minor, v.patch)
}

// takes says whether another version is what v asks for.
func (v version) takes(o version) bool {
	return v.minor == o.minor && (v.patch < 0 || v.patch == o.patch)
}

// below says whether v, or all that v stands for, is older than o. Of a minor as a whole and one of its patches neither
// is.
func (v version) below(o version) bool {
	return v.minor < o.minor || v.minor == o.minor && v.patch >= 0 && o.patch >= 0 && v.patch < o.patch
}
