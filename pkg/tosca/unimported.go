package tosca

import (
	"bytes"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// maxTries bounds how often a descriptor is read because files that nothing imports have defects.
const maxTries = 3

// unimported are files of flavours that are beside the main file, and that no file imports. They belong to the VNFD,
// unless they have defects: a package may have files that are not used.
type unimported struct {
	ignored map[string]bool   // those that are left out because of their defects
	owner   map[string]string // by file: the file because of which it was read
}

// parseAll reads a descriptor with the flavours that no file imports, and without those that have defects.
func parseAll(opts Options, begin func(*unimported) *parser) (*Result, error) {
	var (
		ignored  = map[string]bool{}
		warnings []vnfd.Warning
		first    error
	)
	for try := 1; ; try++ {
		u := &unimported{ignored: ignored, owner: map[string]string{}}
		p := begin(u)
		result, err := p.parse(opts)
		if p.fault != nil {
			return nil, p.fault
		}
		if first == nil {
			first = err
		}
		var defects Errors
		switch {
		case err == nil:
			result.addWarnings(warnings)
			return result, nil
		case !errors.As(err, &defects):
			return nil, err
		}
		found := false
		for _, e := range defects {
			file := u.owner[e.File]
			if file != "" && !ignored[file] {
				ignored[file], found = true, true
				warnings = append(warnings, p.ignoredFlavour(file, e))
			}
		}
		if !found && defects[0].Reason == NoVNFD {
			return nil, first // with the reason why there is no flavour
		}
		if !found {
			return nil, err
		}
		if try == maxTries-1 {
			for _, file := range slices.Sorted(maps.Values(u.owner)) {
				if !ignored[file] {
					ignored[file] = true
					warnings = append(warnings, p.ignoredFlavour(file, nil))
				}
			}
		}
	}
}

// addWarnings adds warnings of the whole VNFD, the first ones.
func (r *Result) addWarnings(all []vnfd.Warning) {
	r.VNFD.Warnings = all
	r.Warnings = append(slices.Clone(all), r.Warnings...)
}

// ignoredFlavour is the warning about a file that nothing imports, and that has a defect; nil is one of several files.
func (p *parser) ignoredFlavour(file string, e *Error) vnfd.Warning {
	w := vnfd.Warning{
		Code: string(UnusableFlavour), Subject: p.flavours[file], Location: file,
		Text:       file + " declares a flavour, but nothing imports it, and it is ignored",
		Remedy:     "correct the file and import it, or remove it from the package",
		Operations: []string{"INSTANTIATE", "CHANGE_FLAVOUR"},
	}
	if e != nil {
		w.Location, w.Text = e.location(), w.Text+": "+e.Error()
	} else {
		w.Text += ", because too many such files have defects"
	}
	return w
}

// loadUnimported reads the files of flavours that nothing imports.
func (p *parser) loadUnimported(opts Options) error {
	for _, name := range p.candidates(opts) {
		if slices.Contains(p.read, name) || p.ignored[name] {
			continue
		}
		before := len(p.read)
		if err := p.load(name); err != nil {
			return err
		}
		for _, file := range p.read[before:] {
			p.owner[file] = name
		}
	}
	return nil
}

// candidates are the files beside the main file, or in Definitions, that have substitution_mappings.
func (p *parser) candidates(opts Options) []string {
	var names []string
	for _, name := range opts.Names {
		dir := path.Dir(name)
		if dir != path.Dir(opts.Entry) && dir != "Definitions" || slices.Contains(p.read, name) || p.ignored[name] ||
			isETSIName(name) || !strings.HasSuffix(name, ".yaml") && !strings.HasSuffix(name, ".yml") {
			continue
		}
		data, err := p.budget.read(p.fsys, name)
		if err != nil { // too large for a VNFD, or reported when the package is unpacked
			continue
		}
		if bytes.Contains(data, []byte("substitution_mappings")) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
