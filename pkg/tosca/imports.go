package tosca

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// files reads a VNFD's files: the main file and all its imports from the package.
type files struct {
	budget
	*problems
	fsys  fs.FS
	docs  []*document // in the order of imports, the main file first
	read  []string    // paths of all files, also those that add no document
	stack []string    // files whose imports are being read
	fault error       // an error of the machine, not of the descriptor
}

// load reads a file and what it imports, unless that was done already. A defect is added to the problems; only an
// error that is not the descriptor's is returned.
func (f *files) load(name string) error {
	if slices.Contains(f.read, name) {
		return nil
	}
	if len(f.read) == f.lim.Files {
		f.add(&Error{Reason: TooLarge, File: name, What: fmt.Sprintf("the VNFD has more than %d files", f.lim.Files)})
		return nil
	}
	f.read = append(f.read, name)
	d, err := f.open(name)
	if defect := (*Error)(nil); errors.As(err, &defect) {
		if !isETSIName(name) { // its types are built in, so the content of the copy does not matter
			f.add(defect)
		}
		return nil
	}
	if err != nil {
		return err
	}
	f.docs = append(f.docs, d)
	f.stack = append(f.stack, name)
	defer func() { f.stack = f.stack[:len(f.stack)-1] }()
	return f.imports(d)
}

func (f *files) open(name string) (*document, error) {
	data, err := f.budget.read(f.fsys, name)
	if err != nil {
		if defect := (*Error)(nil); errors.As(err, &defect) {
			return nil, err
		}
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	d, err := f.parse(name, data)
	if err != nil {
		return nil, err
	}
	if v := d.root.get("tosca_definitions_version"); v.ok() && !strings.HasPrefix(v.text(), "tosca_") {
		return nil, v.fail(Syntax, "use tosca_simple_yaml_1_2 or later", "tosca_definitions_version is %s", v.kind())
	}
	return d, nil
}

// imports follows the imports of a document.
func (f *files) imports(d *document) error {
	for _, item := range d.root.get("imports").items() {
		file := importedFile(item)
		name, defect := f.target(d, file)
		if defect != nil && isETSIName(d.path) {
			continue // a copy of a built-in file need not carry the ones it imports
		}
		if defect != nil {
			f.add(defect)
			continue
		}
		if i := slices.Index(f.stack, name); i >= 0 {
			f.add(file.fail(ImportCycle, "", "the files import each other: %s",
				strings.Join(append(slices.Clone(f.stack[i:]), name), " → ")))
			continue
		}
		if name == "" { // built in
			continue
		}
		if err := f.load(name); err != nil {
			return err
		}
	}
	return nil
}

// importedFile finds the file in the notations that an import may have: "a.yaml", {file: a.yaml}, {name: a.yaml} and
// {name: {file: a.yaml}}.
func importedFile(item value) value {
	if !item.isMap() {
		return item
	}
	if file := item.get("file"); file.ok() {
		return file
	}
	if pairs := item.pairs(); len(pairs) == 1 {
		if file := pairs[0].value.get("file"); file.ok() {
			return file
		}
		return pairs[0].value
	}
	return item
}

// target resolves an import to a file of the package, or to "" for one that is built in.
func (f *files) target(d *document, file value) (string, *Error) {
	text := strings.TrimSpace(file.text())
	switch {
	case text == "":
		return "", file.fail(Syntax, "write the file's path", "an import is %s, not a file", file.kind())
	case isETSIURL(text):
		return "", nil
	case strings.Contains(text, "://"):
		return "", file.fail(
			ImportURL,
			"put the file in the package and import it from there; only the SOL001 type definitions of "+
				"forge.etsi.org are built in, and nothing is fetched",
			"the import %q is not in the package", clip(text))
	}
	name, outside := f.locate(d, text)
	switch {
	case name != "":
		return name, nil
	case outside:
		return "", file.fail(ImportOutside, "", "the import %q leads out of the package", clip(text))
	}
	return "", file.fail(
		MissingFile, "add the file to the package", "the imported file %q is not in the package", clip(text),
	)
}

// locate finds a file that a document names by a path from itself or from the package's root; packages use both. It
// returns "" if the file does not exist, and whether the path can only be outside of the package.
func (f *files) locate(d *document, file string) (name string, outside bool) {
	outside = true
	for _, candidate := range []string{path.Join(path.Dir(d.path), file), path.Clean(file)} {
		if strings.Contains(file, `\`) || path.IsAbs(file) || !fs.ValidPath(candidate) {
			continue
		}
		outside = false
		if f.exists(candidate) {
			return candidate, false
		}
	}
	return "", outside
}

// exists reports whether the package has a regular file with this path.
func (f *files) exists(name string) bool {
	file, err := f.fsys.Open(name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrInvalid) {
			f.fault = errors.Join(f.fault, err)
		}
		return false
	}
	info, err := file.Stat()
	if err := errors.Join(err, file.Close()); err != nil {
		f.fault = errors.Join(f.fault, err)
		return false
	}
	return info.Mode().IsRegular()
}
