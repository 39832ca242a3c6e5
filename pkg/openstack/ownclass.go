package openstack

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/inventory"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// A user-data class of the package takes the place of package userdata's Assemble, and of nothing else: it makes the
// template and its parameters of a desired state. Its result is stored with the instance before anything is sent to the
// VIM, and is not made again for the same operation. The state before an operation is the result of an earlier one, so
// a rollback calls no code of the package.

// classMethods are the methods of a class that operations call.
var classMethods = map[sol.LcmOperationType]string{
	sol.LcmOperationInstantiate: "instantiate", sol.LcmOperationScale: "scale", sol.LcmOperationHeal: "heal",
	sol.LcmOperationChangeExtConn: "change_ext_conn", sol.LcmOperationChangeVnfpkg: "change_vnfpkg",
}

// classless are the operations that send no stack to Heat, whatever class the VNF was made with.
var classless = []sol.LcmOperationType{
	sol.LcmOperationTerminate, sol.LcmOperationOperate, sol.LcmOperationModifyInfo,
}

// adopt sets what a class of the package has made: for the operation, or before it.
func (g *desired) adopt(s *lcm.AssembledStack) {
	if g.own == nil || s == nil {
		return
	}
	c := *s
	if g.nfv != nil { // as Heat has it, with what the user or another zone has changed
		if _, takes := c.Parameters["nfv"]; takes {
			patch := map[string]any{"nfv": g.nfv}
			c.Parameters, _ = lcm.MergePatch(c.Parameters, patch).(map[string]any)
		}
	}
	g.made, g.class = &c, userdata.ClassOf(&c, g.flavour)
}

// assembledBy is the stack that was made for an operation; nil while there is none.
func assembledBy(w *lcm.Execution) *lcm.AssembledStack {
	s := w.Instance.Assembled
	if s == nil || w.Op.ID == "" || s.Operation != w.Op.ID {
		return nil
	}
	return s
}

// buildOwn is build for a class of the package, which has run.
func (g desired) buildOwn() (*userdata.Stack, error) {
	if g.made == nil {
		return nil, lcm.Errorf(
			lcm.CodeInternal, "the user-data class %s has not been run for the operation yet", g.own,
		)
	}
	st, err := userdata.FromAssembled(g.made, g.publicKey)
	if err != nil {
		return nil, g.packageFault(err)
	}
	return st, nil
}

// badClass says why a class of the package cannot be used for a request; none if it can.
func (d *Driver) badClass(r lcm.Request, s *part, g desired) []lcm.InvalidParam {
	const at = "/additionalParams/"
	member, kind := userdata.ParamClass, "a class"
	if g.own.IsProgram() {
		member, kind = userdata.ParamFile, "a user-data script"
	}
	class := func(format string, args ...any) []lcm.InvalidParam {
		return []lcm.InvalidParam{{Pointer: at + member, Detail: fmt.Sprintf(format, args...)}}
	}
	switch {
	case d.cfg.Scripts == nil && g.own.IsProgram():
		return []lcm.InvalidParam{{Pointer: at + userdata.ParamClass, Detail: fmt.Sprintf(
			"is missing: %s, %s or the name of a class in %s. A file without a class is a program of the package, and "+
				"this node runs no code of packages: have the operator switch scripts on (scripts.python)",
			userdata.Standard, userdata.Default, g.own.File,
		)}}
	case d.cfg.Scripts == nil:
		return class("%s is not a class that is built in; these are: %s, %s. It is a class of the package, and this "+
			"node runs no code of packages: have the operator switch scripts on (scripts.python)",
			g.own, userdata.Standard, userdata.Default)
	case s.away != nil:
		return class("%s is %s of the package, which can only be used with one VIM connection", g.own, kind)
	case classMethods[r.Type] == "":
		return class("%s is %s of the package, and there is no method that a class has for %s", g.own, kind, r.Type)
	}
	if why := lacksV1(r, g); why != "" {
		return class("%s is a class of API version 1, %s", g.own, why)
	}
	if info, err := fs.Stat(r.Package, g.own.File); err != nil || !info.Mode().IsRegular() {
		return []lcm.InvalidParam{{
			Pointer: at + userdata.ParamFile, Detail: "the package has no file " + g.own.File,
		}}
	}
	if g.own.IsProgram() {
		if err := d.cfg.Scripts.CanRun(r.Package, g.own.File); err != nil {
			return class("%s. A Python class needs %s, too", explained(err), userdata.ParamClass)
		}
	}
	return nil
}

// explained is the detail of an error, with its hint.
func explained(err error) string {
	e := lcm.AsError(err)
	return strings.TrimSuffix(e.Detail+"; "+e.Hint, "; ")
}

// lacksV1 says why the VNF's class of API version 1 cannot be used for an operation; "" if it can, or is another class.
func lacksV1(r lcm.Request, g desired) string {
	s := r.Instance.Assembled
	if s == nil || !s.OneMethod {
		return ""
	}
	switch r.Type { //nolint:exhaustive // the others change the template
	case sol.LcmOperationHeal, sol.LcmOperationChangeExtConn:
		return ""
	case sol.LcmOperationScale:
		if slices.Contains(s.Methods, "scale") {
			return ""
		}
		if _, err := userdata.Resized(s, g.changed()); err != nil {
			return "and has no method scale: " + err.Error()
		}
		return ""
	}
	return "which has no method for " + string(r.Type)
}

// changed are the numbers of VNFCs by VDU that are not as before.
func (g desired) changed() map[string]int {
	out := maps.Clone(g.counts)
	maps.DeleteFunc(out, func(vdu string, n int) bool { return g.existing[vdu] == n })
	return out
}

// scalesGroups says that an operation scales the groups of a stack, because its class has no method for it.
func scalesGroups(t sol.LcmOperationType, s *lcm.AssembledStack) bool {
	return t == sol.LcmOperationScale && s != nil && s.OneMethod && !slices.Contains(s.Methods, "scale")
}

// replacedByClass are the VNFCs that a change of the package or the flavour may replace: it is not known before the
// class has run, so all that are changed.
func replacedByClass(r lcm.Request) []string {
	var out []string
	for _, c := range inventory.RecordOf(r.Instance).Info.VnfcInfo {
		inScope := r.Scope == nil || len(r.Scope.VNFCs) == 0 || slices.Contains(r.Scope.VNFCs, c.ID)
		if inScope && (r.Scope == nil || !slices.Contains(r.Scope.Remove, c.ID)) {
			out = append(out, c.ID)
		}
	}
	return out
}

// keepAssembled makes the instance remember the stack that the VIM has: the one from before the operation after a
// rollback, and when that of the operation has not been sent.
func keepAssembled(w *lcm.Execution, sent bool) {
	if w.Op.Before == nil {
		return
	}
	unsent := assembledBy(w) != nil && !sent
	if unsent || w.Op.State == sol.LcmOperationStateRollingBack {
		w.Instance.Assembled = w.Op.Before.Assembled
	}
}
