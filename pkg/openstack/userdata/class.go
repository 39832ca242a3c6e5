package userdata

import (
	"fmt"

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

// The members of additionalParams that choose the class. The file is not read, because the classes are built in, but a
// request has to name both or none.
const (
	paramFile = "lcm-operation-user-data"
	// ParamClass names the class.
	ParamClass = "lcm-operation-user-data-class"
)

// Select finds the class that a request's additionalParams choose: Default when they choose none.
func Select(params sol.KeyValuePairs) (Class, []lcm.InvalidParam) {
	file, hasFile := params[paramFile]
	name, hasClass := params[ParamClass]
	var bad []lcm.InvalidParam
	report := func(member, format string, args ...any) {
		bad = append(
			bad, lcm.InvalidParam{Pointer: "/additionalParams/" + member, Detail: fmt.Sprintf(format, args...)},
		)
	}
	switch {
	case !hasFile && !hasClass:
		return Default, nil
	case !hasClass:
		report(ParamClass, "is missing: %s and %s go together", paramFile, ParamClass)
		return "", bad
	case !hasFile:
		report(paramFile, "is missing: %s and %s go together", paramFile, ParamClass)
	}
	if s, ok := file.(string); hasFile && (!ok || s == "") {
		report(paramFile, "is not the path of a file")
	}
	s, _ := name.(string)
	c := Class(s)
	if a, ok := aliases[c]; ok {
		c = a
	}
	if c != Standard && c != Default {
		report(ParamClass, "is not a class that is built in; these are: %s, %s", Standard, Default)
	}
	return c, bad
}
