package objects

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// The bounds of one manifest file.
const (
	MaxFile    = 4 << 20 // bytes
	MaxObjects = 1000
	maxNesting = 8 // lists inside lists
)

// Parse reads the objects of a manifest file, YAML or JSON, which may have several documents. The items of an object of
// kind List (or of another kind that ends with List) take its place. Documents without content are ignored. The error
// is CodeUnprocessable and says the file, the number of the document (from 1) and the line.
func Parse(file string, data []byte) ([]*unstructured.Unstructured, error) {
	if len(data) > MaxFile {
		return nil, invalidFile(file, fmt.Sprintf("it is larger than %d MiB", MaxFile>>20))
	}
	var out []*unstructured.Unstructured
	for n, d := range split(data) {
		place := fmt.Sprintf("document %d, line %d", n+1, d.line)
		content, err := d.decode()
		if err != nil {
			text, line := d.explain(err)
			return nil, invalidFile(file, fmt.Sprintf("document %d, line %d: %s", n+1, line, text))
		}
		if content == nil {
			continue
		}
		found, err := flatten(content, 0)
		if err != nil {
			return nil, invalidFile(file, place+": "+err.Error())
		}
		if out = append(out, found...); len(out) > MaxObjects {
			return nil, invalidFile(file, fmt.Sprintf("it has more than %d objects", MaxObjects))
		}
	}
	return out, nil
}

func invalidFile(file, text string) error {
	e := lcm.Errorf(lcm.CodeUnprocessable, "%s: %s", file, text)
	e.Title = "Invalid manifest"
	return e.WithHint("correct the manifest in the VNF package; `kubectl apply --dry-run=client -f` checks a file")
}

// document is one of the documents of a file.
type document struct {
	line int // of the file, from 1, at which text begins
	text []byte
}

// split separates the documents of a file, without those that have only comments and directives.
func split(data []byte) []document {
	var out []document
	line, cur, content := 0, document{line: 1}, false
	end := func(next int) {
		if content {
			out = append(out, cur)
		}
		cur, content = document{line: next}, false
	}
	for raw := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		line++
		text := bytes.TrimRight(raw, "\r\n \t")
		rest, separates := bytes.CutPrefix(text, []byte("---"))
		switch {
		case separates && (len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t'):
			end(line)
			text = bytes.TrimSpace(rest)
		case string(text) == "...":
			end(line + 1)
			continue
		}
		if !content && len(cur.text) == 0 && len(text) == 0 {
			cur.line = line + 1 // an error names the first line that has text
			continue
		}
		if t := bytes.TrimSpace(text); len(t) > 0 && t[0] != '#' && (content || t[0] != '%') {
			content = true
		}
		if separates {
			cur.text = append(cur.text, text...)
			cur.text = append(cur.text, '\n')
			continue
		}
		cur.text = append(cur.text, raw...)
	}
	end(line)
	return out
}

// decode returns the content of a document; nil if it is null.
func (d document) decode() (map[string]any, error) {
	j := d.text
	if !json.Valid(j) { // JSON may be indented with tabs, which YAML does not allow
		var err error
		if j, err = yaml.YAMLToJSON(d.text); err != nil {
			return nil, err
		}
	}
	var v any
	if err := utiljson.Unmarshal(j, &v); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return v, nil
	}
	return nil, fmt.Errorf("an object is expected, not %.40q", strings.TrimSpace(string(j)))
}

var lineOf = regexp.MustCompile(`line (\d+): ?`)

// explain returns the text of a parser's error without its place, and the line of the file.
func (d document) explain(err error) (text string, line int) {
	text, line = err.Error(), d.line
	if m := lineOf.FindStringSubmatchIndex(text); m != nil {
		if n, err := strconv.Atoi(text[m[2]:m[3]]); err == nil {
			line += n - 1
		}
		text = text[m[1]:]
	}
	text = strings.TrimPrefix(strings.TrimPrefix(text, "error converting YAML to JSON: "), "yaml: ")
	return text, line
}

// flatten returns the object, or the items of a list.
func flatten(content map[string]any, depth int) ([]*unstructured.Unstructured, error) {
	kind, _ := content["kind"].(string)
	items, has := content["items"].([]any)
	if !strings.HasSuffix(kind, "List") || content["items"] != nil && !has || !has && kind != "List" {
		u := &unstructured.Unstructured{Object: content}
		return []*unstructured.Unstructured{u}, checkObject(u)
	}
	if depth == maxNesting {
		return nil, fmt.Errorf("lists are nested more than %d times", maxNesting)
	}
	var out []*unstructured.Unstructured
	for n, item := range items {
		m, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("item %d of the %s is not an object", n+1, kind)
		}
		found, err := flatten(m, depth+1)
		if err != nil {
			return nil, fmt.Errorf("item %d of the %s: %w", n+1, kind, err)
		}
		out = append(out, found...)
	}
	return out, nil
}

// checkObject refuses objects that cannot be applied, or not twice.
func checkObject(u *unstructured.Unstructured) error {
	text := func(fields ...string) string {
		s, _, _ := unstructured.NestedString(u.Object, fields...)
		return s
	}
	if v := text("apiVersion"); v == "" || strings.Count(v, "/") > 1 {
		return errors.New("apiVersion must be a text such as v1 or apps/v1")
	}
	if text("kind") == "" {
		return errors.New("kind is missing")
	}
	if text("metadata", "name") == "" {
		why := "metadata.name is missing"
		if text("metadata", "generateName") != "" {
			why += ": an object with metadata.generateName would be created again at every attempt"
		}
		return fmt.Errorf("%s: %s", u.GetKind(), why)
	}
	if ns, _, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "namespace"); ns != nil {
		if _, ok := ns.(string); !ok {
			return fmt.Errorf("%s %s: metadata.namespace is not a text", u.GetKind(), u.GetName())
		}
	}
	for _, member := range []string{"labels", "annotations"} {
		m, _, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", member)
		if m == nil {
			continue
		}
		if _, _, err := unstructured.NestedStringMap(u.Object, "metadata", member); err != nil {
			return fmt.Errorf("%s %s: the values of metadata.%s must be texts (put numbers and true into quotes)",
				u.GetKind(), u.GetName(), member)
		}
	}
	return nil
}
