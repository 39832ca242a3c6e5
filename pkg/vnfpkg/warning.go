package vnfpkg

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// maxWarnings bounds the warnings of a package that are shown.
const maxWarnings = 300

// maxIgnored bounds the names in userDefinedData.
const maxIgnored = 100

// ignoredNames are the mgmt drivers that userDefinedData says to ignore.
func ignoredNames(data sol.KeyValuePairs) []string {
	var names []string
	add := func(v any) {
		text, _ := v.(string)
		for name := range strings.SplitSeq(text, ",") {
			if name = strings.TrimSpace(name); name != "" && len(names) < maxIgnored && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if list, ok := data[lcm.KeyIgnoreMgmtDrivers].([]any); ok {
		for _, v := range list {
			add(v)
		}
		return names
	}
	add(data[lcm.KeyIgnoreMgmtDrivers])
	return names
}

// checkMgmt finds the mgmt drivers of a VNFD that do not exist here. It returns those of them that an upload says to
// ignore, and the warnings about them and about the others.
func checkMgmt(model *vnfd.VNFD, drivers lcm.MgmtDrivers, ignore []string) (ignored []string, all []vnfd.Warning) {
	if drivers == nil {
		return nil, nil
	}
	for i := range model.Flavours {
		f := &model.Flavours[i]
		missing, operations := missingMgmt(f, drivers)
		for _, name := range slices.Sorted(maps.Keys(missing)) {
			if slices.Contains(ignore, name) {
				if !slices.Contains(ignored, name) {
					ignored = append(ignored, name)
				}
				all = append(all, vnfd.Warning{
					Code: vnfd.IgnoredMgmt, Subject: name, FlavourID: f.ID,
					Text: fmt.Sprintf(
						"the mgmt driver %q of the VNFD is ignored, as the upload says; its work is missing in %s",
						clip(name), strings.Join(operations[name], ", "),
					),
				})
				continue
			}
			all = append(all, vnfd.Warning{
				Code: vnfd.UnknownMgmt, Subject: name, FlavourID: f.ID, Text: missing[name].Detail,
				Remedy: missing[name].Hint, Operations: operations[name],
			})
		}
	}
	for _, name := range ignore {
		if !slices.Contains(ignored, name) {
			all = append(all, vnfd.Warning{
				Code: vnfd.MgmtNotIgnored, Subject: name,
				Text: fmt.Sprintf(
					"the mgmt driver %q, which the upload says to ignore, exists here, or the VNFD does not name it",
					clip(name),
				),
				Remedy: "correct " + lcm.KeyIgnoreMgmtDrivers + " and upload the package again",
			})
		}
	}
	return ignored, all
}

// PackageChecker is a mgmt driver that checks its own files of a package when it is onboarded.
type PackageChecker interface {
	// CheckPackage returns what is wrong with the files of a package whose VNFD names the driver. It reads at most a
	// few MiB.
	CheckPackage(files fs.FS, model *vnfd.VNFD) []vnfd.Warning
}

// checkFiles asks the mgmt drivers of a VNFD about the files of its package, which are opened only for them.
func checkFiles(
	open func() (fs.FS, error), model *vnfd.VNFD, drivers lcm.MgmtDrivers,
) (all []vnfd.Warning, err error) {
	if drivers == nil {
		return nil, nil
	}
	asked := map[string]bool{}
	for i := range model.Flavours {
		for _, hook := range slices.Sorted(maps.Keys(model.Flavours[i].LCM)) {
			impl := model.Flavours[i].LCM[hook]
			if asked[impl.Name] {
				continue
			}
			asked[impl.Name] = true
			d, err := drivers.Driver(impl)
			c, ok := d.(PackageChecker)
			if err != nil || !ok {
				continue // checkMgmt reports a driver that does not exist
			}
			files, err := open()
			if err != nil {
				return nil, err
			}
			all = append(all, c.CheckPackage(files, model)...)
		}
	}
	return all, nil
}

// missingMgmt returns, by name, why mgmt drivers of a flavour do not exist here, and the operations that call them.
func missingMgmt(
	f *vnfd.Flavour, drivers lcm.MgmtDrivers,
) (missing map[string]*lcm.Error, operations map[string][]string) {
	missing, operations = map[string]*lcm.Error{}, map[string][]string{}
	for _, hook := range slices.Sorted(maps.Keys(f.LCM)) {
		impl := f.LCM[hook]
		_, err := drivers.Driver(impl)
		if err == nil {
			continue
		}
		missing[impl.Name] = lcm.AsError(err)
		if name := vnfd.HookOperation(hook); name != "" && !slices.Contains(operations[impl.Name], name) {
			operations[impl.Name] = append(operations[impl.Name], name)
		}
	}
	return missing, operations
}

// without returns a VNFD that does not name some mgmt drivers. It shares everything else with the original.
func without(model *vnfd.VNFD, drivers []string) *vnfd.VNFD {
	if len(drivers) == 0 {
		return model
	}
	out := *model
	out.Flavours = slices.Clone(model.Flavours)
	for i := range out.Flavours {
		f := &out.Flavours[i]
		f.LCM = maps.Clone(f.LCM)
		maps.DeleteFunc(
			f.LCM, func(_ string, impl vnfd.Implementation) bool { return slices.Contains(drivers, impl.Name) },
		)
	}
	return &out
}

// warnings are the warnings as clients see them; of a package of an earlier release only the text is known.
func (o *Onboarded) warnings() []sol.VnfPkgWarning {
	var out []sol.VnfPkgWarning
	for _, text := range o.Texts {
		out = append(out, sol.VnfPkgWarning{Text: text})
	}
	for _, w := range o.Warnings {
		out = append(out, sol.VnfPkgWarning(w))
	}
	return out
}
