package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// read writes files, reads the one with a name as a parameter file, and returns it.
func read(t *testing.T, name string, files map[string]string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	for file, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	a := &app{env: &Env{
		Stdin:   strings.NewReader(files["-"]),
		Environ: []string{"NET0_ID=6a3aeb3a", `QUOTED=a"b\c ${NET0_ID}`, "EMPTY="},
	}}
	if name != "-" {
		name = filepath.Join(dir, name)
	}
	raw, err := a.readDocument(name)
	return string(raw), err
}

func TestParameterFilesAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text, want string
	}{
		"a.json": {
			"\uFEFF{\t\"vimId\": \"05ef\", #Set the uuid of the VIM to use\n /* more\n */" +
				" \"n\": [1.50, true, null,], // last\n}",
			`{"vimId": "05ef", "n": [1.50, true, null]}`,
		},
		"strings.json": {
			`["a # b", "http://x/*y*/", "c,]", "\"//", "$${NET0_ID}", "@@a", "@", "$1 ${1}"]`,
			`["a # b", "http://x/*y*/", "c,]", "\"//", "${NET0_ID}", "@a", "@", "$1 ${1}"]`,
		},
		"variables.json": {
			`{"${NET0_ID}": "id-${NET0_ID}-${EMPTY}", "q": "${QUOTED}"}`,
			`{"${NET0_ID}": "id-6a3aeb3a-", "q": "a\"b\\c ${NET0_ID}"}`,
		},
		"a.yaml": {
			"# comment\nflavourId: simple\nextVirtualLinks:\n" +
				"- &a {id: \"1\", resourceId: '${NET0_ID}', day: 2026-01-02}\n" +
				"n: [1, 1.5, yes, true, ~, *a]\n",
			`{"flavourId": "simple", "extVirtualLinks": [{"id": "1", "resourceId": "6a3aeb3a", "day": "2026-01-02"}],
			"n": [1, 1.5, "yes", true, null, {"id": "1", "resourceId": "6a3aeb3a", "day": "2026-01-02"}]}`,
		},
		"without-ending": {"a: b", `{"a": "b"}`},
		"-":              {`{"a": "${NET0_ID}"}`, `{"a": "6a3aeb3a"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(t, name, map[string]string{name: tt.text, "-": tt.text})
			require.NoError(t, err)
			require.JSONEq(t, tt.want, got)
		})
	}
}

// TestParameterFilesIncludeOthers relative to the file that names them.
func TestParameterFilesIncludeOthers(t *testing.T) {
	t.Parallel()
	got, err := read(t, "a.json", map[string]string{
		"a.json": `{"ca": "@ca.pem", "inner": "@sub/b.yaml"}`, "ca.pem": "-----BEGIN ${X}\n",
		"sub/b.yaml": "links: '@c.json'\n", "sub/c.json": `["${NET0_ID}",]`,
	})
	require.NoError(t, err)
	require.JSONEq(t, `{"ca": "-----BEGIN ${X}\n", "inner": {"links": ["6a3aeb3a"]}}`, got)
}

// TestErrorsOfParameterFiles name the place, and no value of the file.
func TestErrorsOfParameterFiles(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		file, text, want string
	}{
		"syntax": {"a.json", "{\n  \"a\": }", "a.json: line 2, column 8: invalid character '}'"},
		"comma":  {"a.json", "{\n  \"a\": 1,,\n}", "a.json: line 2, column 10: "},
		"end":    {"a.json", "{\"a\": \"geheim", "a.json: line 1, column "},
		"variable": {
			"a.json", "{\"p\": \"geheim\",\n \"a\": \"x${UNSET}\"}",
			"column 7: the environment variable UNSET ",
		},
		"variable YAML": {
			"a.yaml", "p: geheim\na:\n  - ${UNSET}",
			"line 3, column 5: the environment variable UNSET ",
		},
		"YAML":            {"a.yaml", "a: geheim\n b: c", "line 2"},
		"double member":   {"a.yaml", "a: 1\na: 2", `another member "a"`},
		"no file":         {"a.json", `{"password": "@geheim"}`, "line 1, column 14: a text that begins with @ names a file, and "},
		"includes itself": {"a.json", `["@a.json"]`, "files include each other more than 5 times"},
		"two documents":   {"a.yaml", "a: 1\n---\nb: 2", "more than one YAML document"},
		"not text":        {"a.json", "{\"a\": \"\xff\"}", "not text in UTF-8"},
		"empty":           {"a.json", " # nothing\n", "it is empty"},
		"no number":       {"a.yaml", "a: .inf", "line 1, column 4: this value has no form in JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := read(t, tt.file, map[string]string{tt.file: tt.text})
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "geheim")
		})
	}
}
