package hot

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

// Limits on what is read from a package. Heat itself refuses templates above 512 KiB unless it is configured otherwise.
const (
	maxFile  = 2 << 20 // bytes of one template
	maxFiles = 200     // templates of one flavour
	maxTotal = 8 << 20 // bytes of all templates of one flavour
	maxNodes = 200_000 // YAML nodes of one template after aliases are resolved
	maxKept  = 64      // flavours in a cache
)

// Bundle is what Heat needs for one deployment flavour. It is shared: Template.Clone before editing.
type Bundle struct {
	// Path is the top template's path from the package root.
	Path     string
	Template *Template
	// Files holds the nested templates by bare file name, as they are in the package.
	Files map[string]string

	nested map[string]*Template // Files, parsed; never edited
}

// Cache keeps parsed bundles by the content of their files. Its zero value is ready; it is safe for
// concurrent use.
type Cache struct {
	mu     sync.Mutex
	kept   map[[sha256.Size]byte]*Bundle
	age    [][sha256.Size]byte // oldest first
	hashed map[hashed][sha256.Size]byte
}

// hashed names a flavour of a package whose files are known by their hash.
type hashed struct{ contentHash, flavour string }

// Load reads BaseHOT/<flavour>/: the first .yaml or .yml file by name is the template, the ones in nested/ are its
// files. It returns an *Error when the package is at fault.
func (c *Cache) Load(fsys fs.FS, flavour string) (*Bundle, error) {
	f, ok := fsys.(interface{ ContentHash() string })
	if !ok {
		_, b, err := c.load(fsys, flavour)
		return b, err
	}
	name := hashed{f.ContentHash(), flavour}
	if b := c.named(name); b != nil {
		return b, nil
	}
	key, b, err := c.load(fsys, flavour)
	if err != nil {
		return nil, err
	}
	c.name(name, key)
	return b, nil
}

// load reads the files, and parses them if no bundle of the same content is kept.
func (c *Cache) load(fsys fs.FS, flavour string) ([sha256.Size]byte, *Bundle, error) {
	raw, err := read(fsys, flavour)
	if err != nil {
		return [sha256.Size]byte{}, nil, err
	}
	key := raw.digest()
	if b := c.get(key); b != nil {
		return key, b, nil
	}
	b, err := raw.parse()
	if err != nil {
		return key, nil, err
	}
	c.put(key, b)
	return key, b, nil
}

// named returns the bundle of a flavour whose files were read before; nil if it is not kept.
func (c *Cache) named(n hashed) *Bundle {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept[c.hashed[n]]
}

// name notes which bundle a flavour has.
func (c *Cache) name(n hashed, key [sha256.Size]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hashed == nil || len(c.hashed) >= maxKept {
		c.hashed = map[hashed][sha256.Size]byte{}
	}
	c.hashed[n] = key
}

func (c *Cache) get(key [sha256.Size]byte) *Bundle {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept[key]
}

func (c *Cache) put(key [sha256.Size]byte, b *Bundle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = map[[sha256.Size]byte]*Bundle{}
	}
	if _, ok := c.kept[key]; ok {
		return
	}
	if len(c.age) >= maxKept {
		delete(c.kept, c.age[0])
		c.age = c.age[1:]
	}
	c.kept[key] = b
	c.age = append(c.age, key)
}

// source is the unparsed content of a flavour's templates.
type source struct {
	path   string
	top    []byte
	nested string
	files  map[string]string
}

func (s *source) digest() [sha256.Size]byte {
	h := sha256.New()
	add := func(name, text string) { _, _ = fmt.Fprintf(h, "%d %s %d %s", len(name), name, len(text), text) }
	add(s.path, string(s.top))
	for _, n := range s.names() {
		add(n, s.files[n])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

func (s *source) names() []string {
	names := make([]string, 0, len(s.files))
	for n := range s.files {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func read(fsys fs.FS, flavour string) (*source, error) {
	dir := path.Join("BaseHOT", flavour)
	if flavour == "" || !fs.ValidPath(dir) || path.Dir(dir) != "BaseHOT" {
		return nil, bad("BaseHOT", "flavour %q cannot be the name of a folder", flavour)
	}
	tops, err := templates(fsys, dir)
	if err != nil {
		return nil, err
	}
	if len(tops) == 0 {
		return nil, bad(dir, "the package has no base HOT (a .yaml file) here for flavour %s", flavour)
	}
	s := &source{path: path.Join(dir, tops[0]), nested: path.Join(dir, "nested"), files: map[string]string{}}
	total := 0
	get := func(name string) ([]byte, error) {
		b, err := readFile(fsys, name)
		if total += len(b); err == nil && total > maxTotal {
			return nil, bad(dir, "the templates are larger than %d bytes together", maxTotal)
		}
		return b, err
	}
	if s.top, err = get(s.path); err != nil {
		return nil, err
	}
	nested, err := templates(fsys, s.nested)
	if err != nil {
		return nil, err
	}
	for _, n := range nested {
		b, err := get(path.Join(s.nested, n))
		if err != nil {
			return nil, err
		}
		s.files[n] = string(b)
	}
	return s, nil
}

// templates lists the YAML files of a folder by name; a folder that is not there has none.
func templates(fsys fs.FS, dir string) ([]string, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s of the package: %w", dir, err)
	}
	var out []string
	for _, e := range entries {
		if e.Type().IsRegular() && isYAML(e.Name()) {
			out = append(out, e.Name())
		}
	}
	if len(out) > maxFiles {
		return nil, bad(dir, "there are more than %d templates", maxFiles)
	}
	slices.Sort(out)
	return out, nil
}

func isYAML(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

func readFile(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open %s of the package: %w", name, err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s of the package: %w", name, err)
	}
	if len(b) > maxFile {
		return nil, bad(name, "the template is larger than %d bytes", maxFile)
	}
	return b, nil
}

// parse checks all templates and makes trees of them.
func (s *source) parse() (*Bundle, error) {
	top, err := Parse(s.path, s.top)
	if err != nil {
		return nil, err
	}
	b := &Bundle{Path: s.path, Template: top, Files: s.files, nested: map[string]*Template{}}
	if err := s.complete(s.path, top); err != nil {
		return nil, err
	}
	for _, n := range s.names() {
		name := path.Join(s.nested, n)
		t, err := Parse(name, []byte(s.files[n]))
		if err != nil {
			return nil, err
		}
		if err := s.complete(name, t); err != nil {
			return nil, err
		}
		b.nested[n] = t
	}
	return b, nil
}

// NewBundle parses templates: the top template, and nested ones by their names. Path is the name of the top template in
// errors, which are *Error.
func NewBundle(path, top string, nested map[string]string) (*Bundle, error) {
	return (&source{path: path, top: []byte(top), files: nested}).parse()
}

// complete checks that the nested templates that t names are there.
func (s *source) complete(file string, t *Template) error {
	for _, ref := range t.nestedTypes() {
		if _, ok := s.files[ref]; !ok {
			return bad(file, "it uses the nested template %q, which is not in %s", ref, s.nested)
		}
	}
	return nil
}
