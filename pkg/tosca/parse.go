package tosca

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Options name the files of a descriptor.
type Options struct {
	// Entry is the path of the main file.
	Entry string
	// Others are further definition files of the descriptor that are not imported.
	Others []string
	// Names are the files of the package; they only serve to give better hints.
	Names []string
	// Limits is DefaultLimits when it is zero.
	Limits Limits
}

// Result is the content of a descriptor.
type Result struct {
	VNFD *vnfd.VNFD
	// Files are the paths of the files that make up the descriptor, the main file first.
	Files []string
	// Warnings name unusual but harmless values.
	Warnings []string
}

// Parse reads the descriptor in a package. A defect of the descriptor is returned as Errors; any other error is of
// the file system.
func Parse(fsys fs.FS, opts Options) (*Result, error) {
	if opts.Limits == (Limits{}) {
		opts.Limits = DefaultLimits()
	}
	p := &parser{
		files: &files{
			budget:   budget{lim: opts.Limits, values: opts.Limits.Values, bytes: opts.Limits.TotalBytes},
			problems: &problems{}, fsys: fsys,
		},
		types: newTypeset(),
	}
	result, err := p.parse(opts)
	if p.fault != nil {
		return nil, fmt.Errorf("read VNFD: %w", p.fault)
	}
	return result, err
}

// parser holds the state of reading one descriptor.
type parser struct {
	*files
	types    *typeset
	warnings []string
}

// warn stores a harmless defect.
func (p *parser) warn(e *Error) {
	if len(p.warnings) < maxErrors {
		p.warnings = append(p.warnings, e.Error())
	}
}

// done returns the defects, in the order of files and lines.
func (p *parser) done() error {
	slices.SortStableFunc(p.list, func(a, b *Error) int {
		return cmp.Or(
			cmp.Compare(slices.Index(p.read, a.File), slices.Index(p.read, b.File)), cmp.Compare(a.Line, b.Line),
		)
	})
	return p.err()
}

func (p *parser) parse(opts Options) (*Result, error) {
	for _, name := range append([]string{opts.Entry}, opts.Others...) {
		if !p.exists(name) {
			p.add(&Error{Reason: MissingFile, File: name, What: "the definition file is not in the package"})
			continue
		}
		if err := p.load(name); err != nil {
			return nil, err
		}
	}
	if len(p.list) > 0 { // later checks would only report missing definitions of the broken files
		return nil, p.done()
	}
	for _, d := range p.docs {
		p.types.addFile(d, p.problems)
	}
	p.types.check(p.problems)

	templates := p.templates()
	model := p.vnf(templates)
	for _, t := range templates {
		if t.flavourID == "" {
			continue
		}
		if len(model.Flavours) == maxFlavours {
			p.add(t.substitution.fail(TooLarge, "", "the VNFD has more than %d flavours", maxFlavours))
			break
		}
		model.Flavours = append(model.Flavours, p.flavour(t))
	}
	if len(model.Flavours) == 0 && len(p.list) == 0 {
		p.add(p.noFlavourError(opts))
	}
	if err := p.done(); err != nil {
		return nil, err
	}
	return &Result{VNFD: model, Files: p.read, Warnings: p.warnings}, nil
}

// noFlavourError explains why a package has no VNFD.
func (p *parser) noFlavourError(opts Options) *Error {
	e := &Error{
		Reason: NoVNFD, File: opts.Entry,
		What: "neither this file nor its imports declare a deployment flavour of a VNF",
		Hint: "a flavour is a file with substitution_mappings of a node type derived from " + typeVNF +
			" and the property flavour_id",
	}
	for _, name := range opts.Names {
		if path.Dir(name) != path.Dir(opts.Entry) || slices.Contains(p.read, name) ||
			!strings.HasSuffix(name, ".yaml") && !strings.HasSuffix(name, ".yml") {
			continue
		}
		if data, err := p.budget.read(p.fsys, name); err == nil && bytes.Contains(
			data, []byte("substitution_mappings"),
		) {
			e.Hint = name + " has substitution_mappings, but nothing imports it: add it to the imports"
			break
		}
	}
	return e
}
