package tosca

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// document is one YAML file that is safe to walk: no alias contains itself, and all expansions together
// stay within the limits.
type document struct {
	path string
	root value
	maps map[*yaml.Node]*mapping
}

// mapping is a YAML mapping with merge keys applied.
type mapping struct {
	pairs []pair
	index map[string]int
}

// pair is one entry of a mapping.
type pair struct {
	key   string
	at    *yaml.Node // the key, for its position
	value value
}

// budget is the unused part of Limits while files are read.
type budget struct {
	lim    Limits
	values int
	bytes  int64
	buf    bytes.Buffer
}

// read reads a file of the package within the limits. Of a file that is over a limit it reads one byte more than
// allowed. The result is valid until the next call.
func (b *budget) read(fsys fs.FS, path string) ([]byte, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	b.buf.Reset()
	_, err = b.buf.ReadFrom(io.LimitReader(f, min(b.lim.FileBytes, b.bytes)+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	size := int64(b.buf.Len())
	if size > b.lim.FileBytes {
		return nil, &Error{Reason: TooLarge, File: path, What: fmt.Sprintf(
			"the file is larger than %d bytes, the limit for files of a VNFD", b.lim.FileBytes,
		)}
	}
	if size > b.bytes {
		b.bytes = 0 // do not read more files
		return nil, &Error{Reason: TooLarge, File: path, What: fmt.Sprintf(
			"the files of the VNFD are larger than %d bytes together", b.lim.TotalBytes,
		)}
	}
	b.bytes -= size
	return b.buf.Bytes(), nil
}

// parse parses a file's content. Errors are *Error.
func (b *budget) parse(path string, data []byte) (*document, error) {
	fail := func(reason Reason, what, hint string) (*document, error) {
		return nil, &Error{Reason: reason, File: path, What: what, Hint: hint}
	}
	// The YAML library would read UTF-16, too. The files of a package have one encoding, as in csar.
	if !utf8.Valid(data) {
		return fail(Syntax, "the file is not UTF-8 text", "save it in the encoding UTF-8")
	}
	// The scanner keeps several hundred bytes for each token, so the number is estimated before it sees any.
	if b.values -= estimate(data); b.values < 0 {
		return fail(TooLarge, fmt.Sprintf("the VNFD has more than %d values", b.lim.Values), "")
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthFunc(
		func(depth int, _ *loaderlimits.DepthContext) error {
			if depth > b.lim.Depth {
				return errors.New(depthText)
			}
			return nil
		},
	))))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	var root, more yaml.Node
	if err := loader.Load(&root); err != nil {
		return nil, syntaxError(path, err, b.lim)
	}
	if err := loader.Load(&more); !errors.Is(err, io.EOF) {
		return fail(Syntax, "the file has more than one YAML document", "remove the --- lines between them")
	}
	if root.Kind != yaml.DocumentNode || len(root.Content) != 1 || deref(root.Content[0]).Kind != yaml.MappingNode {
		return fail(Syntax, "the file is not a YAML mapping", "a TOSCA file starts with tosca_definitions_version")
	}
	d := &document{path: path, maps: map[*yaml.Node]*mapping{}}
	d.root = value{doc: d, node: root.Content[0]}
	c := checker{doc: d, left: b.lim.Values, depth: b.lim.Depth, seen: map[*yaml.Node]extent{}}
	if _, err := c.node(root.Content[0]); err != nil {
		return nil, err
	}
	return d, nil
}

// estimate is an upper bound of the values in YAML text: every value but the first needs one of these bytes before it.
func estimate(data []byte) int {
	n := 1
	for i, c := range data {
		switch c {
		case '-': // a list item, unless it is inside a word
			if i+1 == len(data) || data[i+1] <= ' ' {
				n++
			}
		case '\n', ',', ':', '[', ']', '{', '}', '?', '"', '\'', '&', '*', '!':
			n++
		}
	}
	return n
}

const depthText = "nested too deeply"

// syntaxError keeps the YAML library's text and position.
func syntaxError(path string, err error, lim Limits) error {
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		if errors.Is(err, io.EOF) {
			return &Error{Reason: Syntax, File: path, What: "the file is empty"}
		}
		return &Error{Reason: Syntax, File: path, What: "not YAML: " + err.Error()}
	}
	e := &Error{
		Reason: Syntax, File: path, Line: load.Mark.Line, Column: load.Mark.Column, What: "not YAML: " + load.Message,
	}
	if strings.Contains(err.Error(), depthText) {
		e.Reason, e.What = TooDeep, fmt.Sprintf("the values are nested more than %d levels deep", lim.Depth)
	}
	return e
}

// checker walks a document once, with aliases expanded, and finds values that would make later walks unsafe.
type checker struct {
	doc   *document
	left  int
	depth int
	seen  map[*yaml.Node]extent
}

// extent is the size of a subtree with expanded aliases; the zero value marks one that is being walked.
type extent struct{ values, height int }

func (c *checker) node(n *yaml.Node) (extent, error) {
	at := n
	n = deref(n)
	if e, ok := c.seen[n]; ok {
		if e.values == 0 {
			return e, c.fail(at, AliasBomb, "the anchor contains an alias to itself")
		}
		return e, c.spend(at, e.values)
	}
	c.seen[n] = extent{}
	e := extent{values: 1}
	if err := c.spend(at, 1); err != nil {
		return e, err
	}
	for _, child := range n.Content {
		below, err := c.node(child)
		if err != nil {
			return e, err
		}
		e.values += below.values
		e.height = max(e.height, below.height+1)
	}
	if e.height > 2*c.depth { // the scanner has seen only what is nested as written
		return e, c.fail(at, TooDeep, "aliases nest the values too deeply")
	}
	if n.Kind == yaml.MappingNode {
		if err := c.keys(n); err != nil {
			return e, err
		}
	}
	c.seen[n] = e
	return e, nil
}

func (c *checker) spend(n *yaml.Node, size int) error {
	if c.left -= size; c.left < 0 {
		return c.fail(n, AliasBomb, "aliases expand to too many values")
	}
	return nil
}

// keys finds keys that occur twice; a decoder would silently drop one of the two values.
func (c *checker) keys(n *yaml.Node) error {
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := deref(n.Content[i])
		if k.Kind != yaml.ScalarNode {
			return c.fail(k, Syntax, "a key is not a plain value")
		}
		if line, ok := seen[k.Value]; ok {
			return c.fail(
				n.Content[i], DuplicateKey, fmt.Sprintf("the key %q already exists in line %d", k.Value, line),
			)
		}
		seen[k.Value] = n.Content[i].Line
		if k.Value == mergeKey {
			for _, m := range mergees(n.Content[i+1]) {
				if m.Kind != yaml.MappingNode {
					return c.fail(n.Content[i], Syntax, "the merge key << needs a mapping")
				}
			}
		}
	}
	return nil
}

func (c *checker) fail(n *yaml.Node, reason Reason, what string) error {
	return &Error{Reason: reason, File: c.doc.path, Line: n.Line, Column: n.Column, What: what}
}

const mergeKey = "<<"

// mergees are the mappings that a merge key names.
func mergees(n *yaml.Node) []*yaml.Node {
	n = deref(n)
	if n.Kind != yaml.SequenceNode {
		return []*yaml.Node{n}
	}
	all := make([]*yaml.Node, len(n.Content))
	for i, m := range n.Content {
		all[i] = deref(m)
	}
	return all
}

func deref(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// mapping returns a mapping node's entries: its own first, then those of merge keys that it does not override.
func (d *document) mapping(n *yaml.Node) *mapping {
	if m, ok := d.maps[n]; ok {
		return m
	}
	m := &mapping{index: make(map[string]int, len(n.Content)/2)}
	add := func(p pair) {
		if _, ok := m.index[p.key]; !ok {
			m.index[p.key] = len(m.pairs)
			m.pairs = append(m.pairs, p)
		}
	}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if deref(k).Value == mergeKey {
			merged = append(merged, mergees(v)...)
			continue
		}
		add(pair{key: deref(k).Value, at: k, value: value{doc: d, node: deref(v), at: v}})
	}
	for _, from := range merged {
		for _, p := range d.mapping(from).pairs {
			add(p)
		}
	}
	d.maps[n] = m
	return m
}
