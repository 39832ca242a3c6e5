package tosca

import (
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Reason is the kind of a defect. The values are stable; tests and clients may compare them.
type Reason string

// The reasons of an Error.
const (
	Syntax           Reason = "yaml_syntax"       // not YAML, or not the structure of TOSCA
	TooLarge         Reason = "too_large"         // a limit on size or number
	TooDeep          Reason = "too_deep"          // nested too deeply
	AliasBomb        Reason = "alias_bomb"        // YAML aliases that expand too far, or endlessly
	DuplicateKey     Reason = "duplicate_key"     // a mapping has a key twice
	MissingFile      Reason = "missing_file"      // an imported file is not in the package
	ImportOutside    Reason = "import_outside"    // an import leads out of the package
	ImportURL        Reason = "import_url"        // an import from the network that is not built in
	ImportCycle      Reason = "import_cycle"      // files that import each other
	NoVNFD           Reason = "no_vnfd"           // no file declares a deployment flavour
	DuplicateFlavour Reason = "duplicate_flavour" // several VNFDs for a flavour
	Conflict         Reason = "conflict"          // two places say different things
	MissingValue     Reason = "missing_value"     // something that SOL001 requires is absent
	BadValue         Reason = "bad_value"         // a value of the wrong kind or out of range
	UnknownType      Reason = "unknown_type"
	UnknownNode      Reason = vnfd.UnknownNode // a node, VDU, link, storage or group that is not declared
	UnknownInput     Reason = "unknown_input"
	UnknownAspect    Reason = "unknown_scaling_aspect"
	UnknownLevel     Reason = "unknown_instantiation_level"
	UnknownDelta     Reason = vnfd.UnknownDelta
	NoDefaultLevel   Reason = vnfd.NoDefaultLevel
	UnknownCounts    Reason = vnfd.UnknownCounts
	MissingArtifact  Reason = vnfd.MissingArtifact // an artifact's file is not in the package
	UnusableFlavour  Reason = vnfd.UnusableFlavour // a file of a flavour that nothing imports has defects
	DuplicateImage   Reason = "duplicate_image"    // two software images for one node
)

// Error is one defect of a descriptor. Its text is for the author of the descriptor.
type Error struct {
	Reason Reason
	// File is the path in the package; Line and Column are 0 when the defect is in the file as a whole.
	File         string
	Line, Column int
	// What describes the defect; Hint, which may be empty, says how to correct it.
	What string
	Hint string

	at value // the value with the defect, or its key; absent for a file as a whole
}

// Error returns the place and the defect, without the hint.
func (e *Error) Error() string {
	if e.File == "" {
		return e.What
	}
	place := e.File
	if e.Line > 0 {
		place += ":" + strconv.Itoa(e.Line)
	}
	return place + ": " + e.What
}

// Errors are the defects found in one pass, in the order of the files. It is never empty.
type Errors []*Error

// Error lists the defects, one per line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the first *Error.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// maxErrors limits the number of reported defects.
const maxErrors = 20

// problems collects defects while a descriptor is read.
type problems struct {
	list Errors
}

// add stores a defect, unless the same place has one already or there are too many.
func (p *problems) add(e *Error) {
	if len(p.list) >= maxErrors {
		return
	}
	for _, o := range p.list {
		if o.File == e.File && o.Line == e.Line && o.Column == e.Column && o.Reason == e.Reason {
			return
		}
	}
	p.list = append(p.list, e)
}

func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	return p.list
}
