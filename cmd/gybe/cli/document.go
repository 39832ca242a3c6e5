package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxIncluded bounds how deep files include each other.
const maxIncluded = 5

// fileError is an error about a place in a file. It has no values of the file: they can be secrets.
type fileError struct {
	line, column int
	err          error
}

// Error implements error.
func (e *fileError) Error() string {
	return fmt.Sprintf("line %d, column %d: %v", e.line, e.column, e.err)
}

// Unwrap returns the reason.
func (e *fileError) Unwrap() error { return e.err }

// readDocument reads a parameter file as people write it, and returns it in JSON: JSON with comments (#, // and /* */)
// and trailing commas, or YAML. "-" is standard input. In texts that are values, ${NAME} is the value of an environment
// variable, and a text that is @FILE is the content of a file: another document if its name ends with .json, .yaml or
// .yml, or else a text. $${ and @@ stand for ${ and @. Names of files begin at the file that they are in.
func (a *app) readDocument(name string) ([]byte, error) {
	name = strings.TrimPrefix(name, "@")
	raw, err := a.readFile(name)
	if err != nil {
		return nil, err
	}
	d := document{app: a, dir: filepath.Dir(name), yaml: isYAML(name)}
	out, err := d.convert(raw)
	if err != nil {
		return nil, failWith(ExitRejected, "%s: %w", documentName(name), err)
	}
	return out, nil
}

// documentName is the name of a file in errors.
func documentName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

// wrongType says which member of a document has a value of the wrong type, without the value.
func wrongType(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%s is a value of the kind %s", cmp.Or(wrong.Field, "it"), wrong.Value)
	}
	return "a value has the wrong type"
}

func isYAML(name string) bool { return slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(name)) }

// document is a parameter file.
type document struct {
	app   *app
	dir   string // where the names of files begin
	depth int    // how many files include this one
	yaml  bool   // also if it begins like JSON
}

func (d document) convert(raw []byte) ([]byte, error) {
	raw = bytes.TrimPrefix(raw, []byte("\uFEFF"))
	if !utf8.Valid(raw) {
		return nil, errors.New("it is not text in UTF-8")
	}
	plain := withoutComments(raw)
	begin := bytes.TrimSpace(plain)
	switch {
	case len(begin) == 0:
		return nil, errors.New("it is empty")
	case d.yaml || begin[0] != '{' && begin[0] != '[':
		return d.fromYAML(raw)
	}
	return d.fromJSON(plain)
}

// withoutComments replaces comments and trailing commas of JSON by spaces, so that all places stay the same.
func withoutComments(raw []byte) []byte {
	out := slices.Clone(raw)
	comma, second := -1, false // the last comma, if only spaces follow it so far; the next one is the second
	for i := 0; i < len(out); i++ {
		var end int // of a comment
		switch c := out[i]; {
		case c == '"':
			i = stringEnd(out, i) - 1
			comma, second = -1, false
			continue
		case c == '#', bytes.HasPrefix(out[i:], []byte("//")):
			end = lineEnd(out, i)
		case bytes.HasPrefix(out[i:], []byte("/*")):
			end = len(out)
			if n := bytes.Index(out[i+2:], []byte("*/")); n >= 0 {
				end = i + 2 + n + 2
			}
		case c == ',':
			if comma = i; second {
				comma = -1 // an error, and not a trailing comma
			}
			second = true
			continue
		case c == '}' || c == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma, second = -1, false
			continue
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			continue
		default:
			comma, second = -1, false
			continue
		}
		for ; i < end; i++ {
			if out[i] != '\n' && out[i] != '\r' {
				out[i] = ' '
			}
		}
		i = end - 1
	}
	return out
}

// stringEnd is the place after the string that begins at i. One without an end ends with its line.
func stringEnd(raw []byte, i int) int {
	for i++; i < len(raw) && raw[i] != '\n'; i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return min(i, len(raw))
}

func lineEnd(raw []byte, i int) int {
	if n := bytes.IndexByte(raw[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(raw)
}

// at is an error about the place with an offset.
func at(raw []byte, offset int, err error) error {
	before := raw[:min(max(offset, 0), len(raw))]
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return &fileError{line: bytes.Count(before, []byte("\n")) + 1, column: column, err: err}
}

// fromJSON expands the strings of a JSON text that are values.
func (d document) fromJSON(raw []byte) ([]byte, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(raw, &whole); err != nil {
		if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, at(raw, int(wrong.Offset)-1, err)
		}
		return nil, err
	}
	var out bytes.Buffer
	for i := 0; i < len(raw); {
		if raw[i] != '"' {
			out.WriteByte(raw[i])
			i++
			continue
		}
		end := stringEnd(raw, i)
		var text string
		if err := json.Unmarshal(raw[i:end], &text); err != nil {
			return nil, at(raw, i, errors.New("this string cannot be read"))
		}
		if bytes.HasPrefix(bytes.TrimLeft(raw[end:], " \t\r\n"), []byte(":")) {
			out.Write(raw[i:end]) // the name of a member
		} else {
			value, err := d.expand(text)
			if err != nil {
				return nil, at(raw, i, err)
			}
			out.Write(value)
		}
		i = end
	}
	return out.Bytes(), nil
}

var variable = regexp.MustCompile(`\$\$\{|\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// expand returns what a text stands for, in JSON.
func (d document) expand(text string) ([]byte, error) {
	if name, ok := strings.CutPrefix(text, "@"); ok && name != "" {
		if !strings.HasPrefix(name, "@") {
			return d.include(name)
		}
		text = name
	}
	var missing []string
	text = variable.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$${" {
			return "${"
		}
		name := found[2 : len(found)-1]
		value, ok := d.app.env.lookup(name)
		if !ok {
			missing = append(missing, name)
		}
		return value
	})
	if len(missing) > 0 {
		return nil, fmt.Errorf("the environment variable %s is not set; write $${%s} for a text that is not a variable",
			missing[0], missing[0])
	}
	return json.Marshal(text)
}

// include reads the file that a text names.
func (d document) include(name string) ([]byte, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(d.dir, name)
	}
	raw, err := os.ReadFile(name)
	// The text can be a secret that begins with @, so errors do not have it.
	if err != nil {
		why := "it cannot be read"
		if errors.Is(err, fs.ErrNotExist) {
			why = "there is no such file"
		}
		return nil, fmt.Errorf(
			"a text that begins with @ names a file, and %s; write @@ for a text that begins with @", why,
		)
	}
	if !isYAML(name) && filepath.Ext(name) != ".json" {
		if !utf8.Valid(raw) {
			return nil, errors.New("the file that is named here is not text in UTF-8")
		}
		return json.Marshal(string(raw))
	}
	if d.depth++; d.depth > maxIncluded {
		return nil, fmt.Errorf("files include each other more than %d times", maxIncluded)
	}
	d.dir, d.yaml = filepath.Dir(name), isYAML(name)
	out, err := d.convert(raw)
	if err != nil {
		return nil, fmt.Errorf("in the file that is named here: %w", err)
	}
	return out, nil
}
