package tosca

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Options name the files of a descriptor.
type Options struct {
	// Entry is the path of the main file.
	Entry string
	// Others are further definition files of the descriptor that are not imported.
	Others []string
	// Names are the files of the package. Those in the folder of the main file, or in Definitions, that declare a
	// flavour belong to the descriptor even if nothing imports them.
	Names []string
	// Limits is DefaultLimits when it is zero.
	Limits Limits
}

// Result is the content of a descriptor.
type Result struct {
	VNFD *vnfd.VNFD
	// Files are the paths of the files that make up the descriptor, the main file first.
	Files []string
	// Warnings are defects that concern only operations that may never be requested, or none.
	Warnings []vnfd.Warning
	// External are the addresses of artifacts on other servers, without those of software images, the first ones.
	External []string
}

// Parse reads the descriptor in a package. A defect of the descriptor is returned as Errors; any other error is of
// the file system.
func Parse(fsys fs.FS, opts Options) (*Result, error) {
	if opts.Limits == (Limits{}) {
		opts.Limits = DefaultLimits()
	}
	result, err := parseAll(opts, func(u *unimported) *parser {
		return &parser{
			files: &files{
				budget:   budget{lim: opts.Limits, values: opts.Limits.Values, bytes: opts.Limits.TotalBytes},
				problems: &problems{}, fsys: fsys,
			},
			unimported: u, types: newTypeset(), flavours: map[string]string{},
		}
	})
	if _, ok := errors.AsType[Errors](err); err != nil && !ok {
		return nil, fmt.Errorf("read VNFD: %w", err)
	}
	return result, err
}

// parser holds the state of reading one descriptor.
type parser struct {
	*files
	*unimported
	types    *typeset
	warnings []vnfd.Warning
	external []string          // addresses of artifacts
	flavours map[string]string // the flavour ids by the files that declare them
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
	if len(p.list) == 0 {
		if err := p.loadUnimported(opts); err != nil {
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
	return &Result{VNFD: model, Files: p.read, Warnings: p.warnings, External: p.external}, nil
}

// noFlavourError explains why a package has no VNFD.
func (p *parser) noFlavourError(opts Options) *Error {
	return &Error{
		Reason: NoVNFD, File: opts.Entry,
		What: "neither this file nor its imports declare a deployment flavour of a VNF",
		Hint: "a flavour is a file with substitution_mappings of a node type derived from " + typeVNF +
			" and the property flavour_id",
	}
}
