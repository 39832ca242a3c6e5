package userdata

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Class is a way to assemble a stack.
type Class string

// The classes that are built in.
const (
	// Standard makes one resource per VNFC from the VDU's resource in the base HOT.
	Standard Class = "StandardUserData"
	// Default leaves the resources as they are and fills in the parameters, desired_capacity among them.
	Default Class = "DefaultUserData"
)

// aliases are classes that came with packages of other VNFMs and do what one of ours does.
var aliases = map[Class]Class{"KubernetesClusterUserData": Default}

// The members of additionalParams that choose the class. The file is not read for classes that are built in, but a
// request has to name both or none. Any other class is one of the package, in the file. The file alone is a program of
// the package (script.Program).
const (
	// ParamFile names the file of the class.
	ParamFile = "lcm-operation-user-data"
	// ParamClass names the class.
	ParamClass = "lcm-operation-user-data-class"
)

// Named says whether additionalParams choose a class, or a program in the place of one.
func Named(params sol.KeyValuePairs) bool {
	return params[ParamFile] != nil || params[ParamClass] != nil
}

// identifier matches names of Python classes that need no other letters.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)

// Select finds the class that a request's additionalParams choose: Default when they choose none. own is a class of the
// package, nil for one that is built in.
func Select(params sol.KeyValuePairs) (class Class, own *Own, bad []lcm.InvalidParam) {
	file, hasFile := params[ParamFile]
	name, hasClass := params[ParamClass]
	report := func(member, format string, args ...any) {
		bad = append(
			bad, lcm.InvalidParam{Pointer: "/additionalParams/" + member, Detail: fmt.Sprintf(format, args...)},
		)
	}
	switch {
	case !hasFile && !hasClass:
		return Default, nil, nil
	case !hasFile:
		report(ParamFile, "is missing: %s and %s go together", ParamFile, ParamClass)
	}
	at, ok := file.(string)
	if hasFile && (!ok || at == "") {
		report(ParamFile, "is not the path of a file")
	}
	if !hasClass {
		if at = path.Clean(at); !fs.ValidPath(at) {
			report(ParamFile, "is not a path within the package")
		}
		return Default, &Own{File: at}, bad
	}
	s, _ := name.(string)
	c := Class(s)
	if a, ok := aliases[c]; ok {
		c = a
	}
	if c == Standard || c == Default {
		return c, nil, bad
	}
	if at = path.Clean(at); !fs.ValidPath(at) {
		report(ParamFile, "is not a path within the package")
	}
	if !identifier.MatchString(s) {
		report(ParamClass, "is not the name of a Python class")
	}
	return Default, &Own{File: at, Name: s}, bad
}
