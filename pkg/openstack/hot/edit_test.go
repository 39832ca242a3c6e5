package hot_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with testdata/name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func parse(t *testing.T, text string) *hot.Template {
	t.Helper()
	tpl, err := hot.Parse("BaseHOT/f/top.yaml", []byte(text))
	require.NoError(t, err)
	return tpl
}

func encode(t *testing.T, tpl *hot.Template) string {
	t.Helper()
	out, err := tpl.Encode()
	require.NoError(t, err)
	return out
}

const styles = `# kept
heat_template_version: 2013-05-23
description: 'single quotes stay'
parameters:
  nfv:
    type: json
resources:
  first:
    type: OS::Heat::RandomString
    properties:
      length: 010
      on: yes
      text: "a: b"
      script: |
        #!/bin/sh
        echo "$HOME"
  VDU1:
    type: vdu.yaml
    depends_on: first
    properties:
      flavor: { get_param: [ nfv, VDU, VDU1, computeFlavourId ] }
      volume: { get_param: [ nfv, VDU, VDU1-VirtualStorage, vcImageId ] }
      subnet: { get_param: [ nfv, CP, VDU1_CP1, fixed_ips, 0, subnet ] }
      short: { get_param: [ nfv, VDU1, name ] }
      other: { get_param: [ other, VDU, VDU1, name ] }
      plain: m1.tiny
      number: 3
      deep:
        - { get_param: [ nfv, VDU, VDU1, name ] }
      peer: { get_resource: first }
  last:
    type: OS::Heat::RandomString
    depends_on: [ VDU1, first ]
`

// TestExpand: a package author's values must reach Heat as written, whatever they look like, and only the names that
// stand for a VNFC get an index.
func TestExpand(t *testing.T) {
	t.Parallel()
	original := parse(t, styles)
	before := encode(t, original)
	tpl := original.Clone()
	tpl.Expand("VDU1", 2)
	golden(t, "expand.yaml", encode(t, tpl))
	require.Equal(t, []string{"first", "VDU1-0", "VDU1-1", "last"}, tpl.Resources())
	require.Equal(t, before, encode(t, original), "the shared template is untouched")

	none := original.Clone()
	none.Expand("VDU1", 0)
	require.Equal(t, []string{"first", "last"}, none.Resources())
	none.Expand("absent", 3)
	require.Equal(t, []string{"first", "last"}, none.Resources())
}

func TestParams(t *testing.T) {
	t.Parallel()
	require.Equal(t, [][]any{
		{"VDU", "VDU1", "computeFlavourId"},
		{"VDU", "VDU1-VirtualStorage", "vcImageId"},
		{"CP", "VDU1_CP1", "fixed_ips", 0, "subnet"},
		{"VDU1", "name"},
		{"VDU", "VDU1", "name"},
	}, parse(t, styles).Params())
}

func TestUseNetwork(t *testing.T) {
	t.Parallel()
	tpl := parse(t, `heat_template_version: 2013-05-23
resources:
  internalVL1:
    type: OS::Neutron::Net
  subnet1:
    type: OS::Neutron::Subnet
    properties: { network: { get_resource: internalVL1 }, cidr: 10.0.0.0/24 }
  VDU1:
    type: vdu.yaml
    depends_on: [ subnet1, other ]
    properties: { net: { get_resource: internalVL1 } }
  other:
    type: OS::Neutron::Port
    depends_on: subnet1
    properties: { network: { get_resource: internalVL1 } }
outputs:
  net: { value: { get_resource: internalVL1 } }
`)
	require.True(t, tpl.UseNetwork("internalVL1", "net-1-id"))
	golden(t, "use_network.yaml", encode(t, tpl))
	require.Empty(t, tpl.Dangling())
	require.False(t, tpl.UseNetwork("internalVL1", "net-1-id"))
}

func TestDangling(t *testing.T) {
	t.Parallel()
	tpl := parse(t, `heat_template_version: 2013-05-23
resources:
  a: { type: T, properties: { x: { get_attr: [ VDU1, ip ] }, y: { get_resource: b }, z: { get_resource: VDU1 } } }
  b: { type: T }
`)
	require.Equal(t, []string{"VDU1"}, tpl.Dangling())
}

// TestAliases: an edit of one VNFC must not show in another that shares the text by an alias.
func TestAliases(t *testing.T) {
	t.Parallel()
	tpl := parse(t, `heat_template_version: 2013-05-23
resources:
  A:
    type: vdu.yaml
    properties: &p { flavor: { get_param: [ nfv, VDU, A, computeFlavourId ] } }
  B:
    type: vdu.yaml
    properties: *p
`)
	tpl.Expand("A", 1)
	golden(t, "aliases.yaml", encode(t, tpl))
}

func bundle() fstest.MapFS {
	return fstest.MapFS{
		"BaseHOT/simple/b.yaml": {Data: []byte("heat_template_version: 2013-05-23\nresources: {}\n")},
		"BaseHOT/simple/a.yml": {
			Data: []byte("heat_template_version: 2013-05-23\nresources: { x: { type: n.yaml } }\n"),
		},
		"BaseHOT/simple/readme.txt":       {Data: []byte("no template")},
		"BaseHOT/simple/nested/n.yaml":    {Data: []byte("heat_template_version: 2013-05-23\n")},
		"BaseHOT/simple/nested/notes.txt": {Data: []byte("no template")},
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	var c hot.Cache
	b, err := c.Load(bundle(), "simple")
	require.NoError(t, err)
	require.Equal(t, "BaseHOT/simple/a.yml", b.Path, "the first by name")
	require.Equal(t, map[string]string{"n.yaml": "heat_template_version: 2013-05-23\n"}, b.Files)

	again, err := c.Load(bundle(), "simple")
	require.NoError(t, err)
	require.Same(t, b, again, "the same content is parsed once")
	changed := bundle()
	changed["BaseHOT/simple/nested/n.yaml"] = &fstest.MapFile{Data: []byte("heat_template_version: 2018-08-31\n")}
	other, err := c.Load(changed, "simple")
	require.NoError(t, err)
	require.NotSame(t, b, other, "other content is not taken for the same")
}

// hashedFiles are files that are known by a hash. It counts how often they are opened.
type hashedFiles struct {
	fstest.MapFS
	hash   string
	opened *int
}

func (f hashedFiles) ContentHash() string { return f.hash }

func (f hashedFiles) Open(name string) (fs.File, error) {
	*f.opened++
	return f.MapFS.Open(name)
}

func TestLoadReadsFilesWithAHashOnce(t *testing.T) {
	t.Parallel()
	var c hot.Cache
	opened := 0
	files := hashedFiles{bundle(), "h1", &opened}
	b, err := c.Load(files, "simple")
	require.NoError(t, err)
	require.Positive(t, opened)
	opened = 0
	again, err := c.Load(files, "simple")
	require.NoError(t, err)
	require.Same(t, b, again)
	require.Zero(t, opened)
	_, err = c.Load(files, "complex")
	require.Error(t, err, "another flavour")

	changed := bundle()
	changed["BaseHOT/simple/nested/n.yaml"] = &fstest.MapFile{Data: []byte("heat_template_version: 2018-08-31\n")}
	other, err := c.Load(hashedFiles{changed, "h2", &opened}, "simple")
	require.NoError(t, err)
	require.NotSame(t, b, other)
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	bomb := "heat_template_version: 2013-05-23\na: &a [1,1,1,1,1,1,1,1,1,1]\n"
	for _, p := range []string{"b a", "c b", "d c", "e d", "f e", "g f"} {
		n, o := p[:1], p[2:]
		bomb += n + ": &" + n + " [*" + o + ",*" + o + ",*" + o + ",*" + o + ",*" + o + ",*" + o + ",*" + o + ",*" + o +
			"]\n"
	}
	for name, tt := range map[string]struct {
		flavour string
		change  func(fstest.MapFS)
		want    string
	}{
		"no flavour folder":    {"complex", nil, "no base HOT"},
		"flavour with a slash": {"../x", nil, "cannot be the name of a folder"},
		"nested flavour":       {"simple/nested", nil, "cannot be the name of a folder"},
		"flavour of nothing":   {"", nil, "cannot be the name of a folder"},
		"not YAML": {
			"simple", func(f fstest.MapFS) { f["BaseHOT/simple/a.yml"].Data = []byte("a: [") }, "not YAML",
		},
		"empty": {"simple", func(f fstest.MapFS) { f["BaseHOT/simple/a.yml"].Data = nil }, "empty"},
		"not a template": {
			"simple", func(f fstest.MapFS) { f["BaseHOT/simple/a.yml"].Data = []byte("- a") }, "heat_template_version",
		},
		"resources a list": {"simple", func(f fstest.MapFS) {
			f["BaseHOT/simple/a.yml"].Data = []byte("heat_template_version: 1\nresources: [a]")
		}, "not a map"},
		"alias bomb": {"simple", func(f fstest.MapFS) {
			f["BaseHOT/simple/a.yml"].Data = []byte(bomb)
		}, "when its aliases are resolved"},
		"alias of itself": {"simple", func(f fstest.MapFS) {
			f["BaseHOT/simple/a.yml"].Data = []byte("heat_template_version: 1\na: &a [*a]")
		}, "a.yml"},
		"broken nested": {
			"simple", func(f fstest.MapFS) { f["BaseHOT/simple/nested/n.yaml"].Data = []byte("x: {") }, "nested/n.yaml",
		},
		"nested file missing": {
			"simple", func(f fstest.MapFS) { delete(f, "BaseHOT/simple/nested/n.yaml") }, `"n.yaml", which is not in`,
		},
		"template far too big": {
			"simple", func(f fstest.MapFS) { f["BaseHOT/simple/a.yml"].Data = make([]byte, 3<<20) }, "larger than",
		},
		"templates far too big": {"simple", func(f fstest.MapFS) { tooMuch(f) }, "together"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := bundle()
			if tt.change != nil {
				tt.change(f)
			}
			var c hot.Cache
			_, err := c.Load(f, tt.flavour)
			var e *hot.Error
			require.ErrorAs(t, err, &e)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func tooMuch(f fstest.MapFS) {
	for _, n := range []string{"1", "2", "3", "4", "5"} {
		f["BaseHOT/simple/nested/"+n+".yaml"] = &fstest.MapFile{Data: make([]byte, 2<<20)}
	}
}

// FuzzParse: a template can be edited and written again, or the error names the file.
func FuzzParse(f *testing.F) {
	f.Add([]byte(styles))
	f.Add([]byte("heat_template_version: 2013-05-23\nresources: { a: &x { type: t, properties: *x } }"))
	f.Add([]byte("heat_template_version: 2013-05-23\nresources: {VDU1: {type: OS::Heat::ResourceGroup, properties: " +
		"{count: 2, resource_def: {type: x.yaml, properties: {a: {get_param: [nfv, VDU, '%index%']}}}}}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		tpl, err := hot.Parse("f.yaml", text)
		if err != nil {
			requireFile(t, err, "f.yaml")
			return
		}
		for _, name := range tpl.Resources() {
			c := tpl.Clone()
			c.Expand(name, 2)
			c.UseNetwork(name+"-0", "id")
			c.Params()
			c.Dangling()
			out, err := c.Encode() // values that cannot be written are an error, not a panic
			if err == nil {
				_, err = hot.Parse("f.yaml", []byte(out))
				require.NoError(t, err, "Heat must be able to read it: %s", out)
			}
		}
	})
}

// FuzzLoad: a flavour of two templates is loaded, or the error names a file of the package.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(styles), []byte("heat_template_version: 2013-05-23\nparameters: {a: {type: string}}\n"))
	f.Fuzz(func(t *testing.T, top, nested []byte) {
		var c hot.Cache
		b, err := c.Load(fstest.MapFS{
			"BaseHOT/simple/top.yaml": {Data: top}, "BaseHOT/simple/nested/n.yaml": {Data: nested},
		}, "simple")
		if err != nil {
			requireFile(t, err, "BaseHOT/simple")
			return
		}
		require.Contains(t, b.Files, "n.yaml")
		for _, name := range b.Template.Resources() {
			b.Group(b.Template, name)
		}
	})
}

func requireFile(t *testing.T, err error, prefix string) {
	t.Helper()
	var e *hot.Error
	require.ErrorAs(t, err, &e)
	require.True(t, strings.HasPrefix(e.File, prefix), e.File)
	require.NotEmpty(t, e.Problem)
}
