package tosca

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

const (
	// maxWarnings limits the number of warnings that are shown.
	maxWarnings = 100
	// maxPostponed limits the defects of a flavour that are decided when a request meets them.
	maxPostponed = 1000
)

// warn stores a harmless defect.
func (p *parser) warn(e *Error) { p.show(warningOf(e)) }

// show adds a warning to the result, once for each place.
func (p *parser) show(w vnfd.Warning) {
	i := slices.IndexFunc(p.warnings, func(o vnfd.Warning) bool {
		return o.Text == w.Text && o.FlavourID == w.FlavourID
	})
	switch {
	case i >= 0:
		p.warnings[i].Operations = union(p.warnings[i].Operations, w.Operations)
	case len(p.warnings) < maxWarnings:
		p.warnings = append(p.warnings, w)
	}
}

// union returns the texts of both lists, each once, in a new list.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, s := range b {
		all = appendUnique(all, s)
	}
	return all
}

// warningOf is a defect as a warning.
func warningOf(e *Error) vnfd.Warning {
	return vnfd.Warning{Code: string(e.Reason), Location: e.location(), Text: e.Error(), Remedy: e.Hint}
}

// postpone stores a defect that only concerns some operations: a request that meets it is refused with its text.
// subject is the name of the thing that has the defect.
func (r *flavourReader) postpone(e *Error, subject string, operations ...string) {
	if len(r.f.Warnings) == maxPostponed {
		r.add(e.at.fail(TooLarge, "", "the flavour %q has more than %d defects", r.f.ID, maxPostponed))
		return
	}
	w := warningOf(e)
	w.Subject, w.FlavourID, w.Operations = subject, r.f.ID, operations
	if o := r.f.Warning(w.Code, subject); o != nil {
		o.Operations = union(o.Operations, operations)
	} else {
		r.f.Warnings = append(r.f.Warnings, w)
	}
	r.show(w)
}

// location is the file and, after a #, the JSON pointer to the value.
func (e *Error) location() string {
	n := e.at.at
	if n == nil {
		n = e.at.node
	}
	if e.at.doc == nil || n == nil {
		return e.File
	}
	if path, ok := pointerTo(e.at.doc.root.node, n); ok {
		return e.File + "#" + path
	}
	return e.File
}

// pointerTo finds the JSON pointer (RFC 6901) from a value to one that is written inside of it, or to the value of a
// key. It does not follow aliases, so it visits each value once.
func pointerTo(from, to *yaml.Node) (string, bool) {
	if from == to {
		return "", true
	}
	switch from.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(from.Content); i += 2 {
			k, v := from.Content[i], from.Content[i+1]
			if k == to {
				return "/" + escapePointer(k.Value), true
			}
			if rest, ok := pointerTo(v, to); ok {
				return "/" + escapePointer(k.Value) + rest, true
			}
		}
	case yaml.SequenceNode:
		for i, v := range from.Content {
			if rest, ok := pointerTo(v, to); ok {
				return "/" + strconv.Itoa(i) + rest, true
			}
		}
	default:
	}
	return "", false
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

func escapePointer(name string) string { return pointerEscaper.Replace(clip(name)) }
