// Package packaged makes mgmt drivers of the scripts of packages: artifacts that a VNFD's LCM interface names.
//
// A script of the type tosca.artifacts.Implementation.Python is started as in OpenStack Tacker, with a pickle of one
// dict on standard input, in the sandbox of package script. It may write a pickle of another dict to standard output:
// of the instance in it, metadata, extensions and configurable properties are taken over. Scripts of other types are
// programs, with the same as JSON.
package packaged

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/mgmt"
	"github.com/gybe-nfv/gybe/pkg/script"
	"github.com/gybe-nfv/gybe/pkg/script/durable"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// The types of the artifacts that are run: those of ArtifactType as Python scripts in the form of Tacker; those of
// Implementation and of types below it, such as tosca.artifacts.Implementation.Bash, as programs with JSON.
const (
	ArtifactType   = "tosca.artifacts.Implementation.Python"
	Implementation = "tosca.artifacts.Implementation"
)

// isProgram says whether an artifact of a type is run as a program.
func isProgram(artifactType string) bool {
	return artifactType == Implementation ||
		strings.HasPrefix(artifactType, Implementation+".") && artifactType != ArtifactType
}

// timeLimit limits one run of a script.
const timeLimit = time.Hour

// Drivers finds the mgmt driver for what a VNFD names: a built-in one, or a script of the package.
type Drivers struct {
	BuiltIn mgmt.Registry
	// Host runs the scripts; without Host.Scripts, VNFDs that name one are refused.
	Host durable.Host
	// PublicURL is where clients reach our API, for links.
	PublicURL string
}

var _ lcm.MgmtDrivers = (*Drivers)(nil)

// Driver implements lcm.MgmtDrivers. A built-in driver wins over a script of the same name.
func (d *Drivers) Driver(impl vnfd.Implementation) (lcm.MgmtDriver, error) {
	if _, ok := d.BuiltIn[impl.Name]; ok || impl.File == "" ||
		impl.ArtifactType != ArtifactType && !isProgram(impl.ArtifactType) {
		return d.BuiltIn.Driver(impl)
	}
	if d.Host.Scripts == nil {
		return nil, lcm.Errorf(
			lcm.CodeUnprocessable,
			"the VNFD names the mgmt driver %q, which is not built in: it is a script of the package (%s), and this "+
				"node runs no scripts", impl.Name, impl.File,
		).WithHint(fmt.Sprintf("have the operator switch scripts on (scripts.python), or ignore the driver: upload "+
			"the package again with %q: %q in its userDefinedData (gybe package upload --ignore-mgmt-driver)",
			lcm.KeyIgnoreMgmtDrivers, impl.Name))
	}
	return driver{d, impl}, nil
}

// driver is a script of a package.
type driver struct {
	*Drivers
	impl vnfd.Implementation
}

// Validate implements lcm.MgmtDriver: the package has to have the script. What the script thinks of the parameters is
// known when it runs.
func (d driver) Validate(_ context.Context, r lcm.Request) error {
	if r.Package == nil {
		return nil
	}
	if info, err := fs.Stat(r.Package, path.Clean(d.impl.File)); err == nil && info.Mode().IsRegular() {
		if isProgram(d.impl.ArtifactType) {
			return d.Host.Scripts.CanRun(r.Package, d.impl.File)
		}
		return nil
	}
	if p := r.Previous; p != nil && p.Package != nil { // a script of the present package, which is asked, too
		if info, err := fs.Stat(p.Package, path.Clean(d.impl.File)); err == nil && info.Mode().IsRegular() {
			return nil
		}
	}
	return lcm.Errorf(lcm.CodeUnprocessable, "the package has no file %s, which its VNFD names as the mgmt driver %s",
		d.impl.File, d.impl.Name)
}

// Hooks implements lcm.MgmtDriver: a script handles every hook at which the VNFD names it.
func (d driver) Hooks() []lcm.HookHandler {
	var out []lcm.HookHandler
	for _, k := range lcm.OperationKinds() {
		start, end := k.Hooks()
		back, backEnd := k.RollbackHooks()
		for _, hook := range []lcm.Hook{start, end, back, backEnd} {
			out = append(out, lcm.HookHandler{
				Hook: hook,
				Run:  func(ctx context.Context, w *lcm.Execution) error { return d.run(ctx, w, hook) },
				Preview: func(lcm.Request) []string {
					return []string{"run the script " + d.impl.File + " of the package"}
				},
			})
		}
	}
	return out
}

// run is one look at the script at a hook.
func (d driver) run(ctx context.Context, w *lcm.Execution, hook lcm.Hook) error {
	return w.Step(ctx, "mgmt script", d.impl.File, func(ctx context.Context, s *lcm.Step) error {
		raw, failure := d.Host.Do(ctx, w, s, durable.Run{
			Name: fmt.Sprintf("script %s at %s", d.impl.File, hook), Script: d.impl.File, Key: string(hook),
			Job: func(context.Context) (script.Job, error) {
				input, err := d.input(w, hook)
				j := script.Job{
					Package: w.Package, Script: d.impl.File, Kind: script.Mgmt, Input: input, Timeout: timeLimit,
				}
				if isProgram(d.impl.ArtifactType) {
					j.Program = script.MgmtProgram
				}
				return j, err
			},
			Failed: func(err error) error { return failed(hook, err) },
		})
		if len(raw) == 0 {
			return failure
		}
		if err := takeOver(ctx, w, s, raw); err != nil {
			return err
		}
		return failure
	})
}

// failed is the failure of a script as the operation's.
func failed(hook lcm.Hook, err error) error {
	e := *lcm.AsError(err)
	e.Title, e.Detail = "Mgmt driver failed", fmt.Sprintf("at %s: %s", hook, e.Detail)
	if e.Hint == "" {
		e.Hint = "remove the cause and retry the operation to run the script again, or roll it back"
	}
	return &e
}
