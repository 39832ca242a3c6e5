package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v4"
)

// maxNodes bounds a YAML document with its aliases.
const maxNodes = 100_000

// fromYAML makes JSON of a YAML document.
func (d document) fromYAML(raw []byte) ([]byte, error) {
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	var root, next yaml.Node
	if err := dec.Decode(&root); err != nil {
		return nil, err
	}
	if err := dec.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, errors.New("it has more than one YAML document")
	}
	w := yamlWriter{document: d}
	err := w.write(&root)
	return w.out.Bytes(), err
}

// yamlWriter writes the nodes of a YAML document as JSON.
type yamlWriter struct {
	document
	out   bytes.Buffer
	nodes int
}

func (w *yamlWriter) write(n *yaml.Node) error {
	if w.nodes++; w.nodes > maxNodes {
		return w.at(n, fmt.Errorf("the document has more than %d values", maxNodes))
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return w.write(n.Content[0])
	case yaml.AliasNode:
		return w.write(n.Alias)
	case yaml.SequenceNode:
		return w.sequence(n)
	case yaml.MappingNode:
		return w.mapping(n)
	case yaml.ScalarNode, yaml.StreamNode:
	}
	return w.scalar(n)
}

func (w *yamlWriter) sequence(n *yaml.Node) error {
	w.out.WriteByte('[')
	for i, item := range n.Content {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.write(item); err != nil {
			return err
		}
	}
	w.out.WriteByte(']')
	return nil
}

func (w *yamlWriter) mapping(n *yaml.Node) error {
	seen := map[string]bool{}
	w.out.WriteByte('{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode:
			return w.at(key, errors.New("the name of a member is not a text"))
		case key.ShortTag() == "!!merge":
			return w.at(key, errors.New("<< is not supported: write the members here"))
		case seen[key.Value]:
			return w.at(key, fmt.Errorf("there is another member %q", key.Value))
		}
		seen[key.Value] = true
		name, err := json.Marshal(key.Value)
		if err != nil {
			return w.at(key, err)
		}
		if i > 0 {
			w.out.WriteByte(',')
		}
		w.out.Write(name)
		w.out.WriteByte(':')
		if err := w.write(n.Content[i+1]); err != nil {
			return err
		}
	}
	w.out.WriteByte('}')
	return nil
}

// scalar writes numbers, truth values and null as such, and all else as a text.
func (w *yamlWriter) scalar(n *yaml.Node) error {
	var value []byte
	var err error
	switch n.ShortTag() {
	case "!!int", "!!float", "!!bool", "!!null":
		var v any
		if err = n.Decode(&v); err == nil {
			value, err = json.Marshal(v)
		}
		if err != nil {
			err = errors.New("this value has no form in JSON")
		}
	default:
		value, err = w.expand(n.Value)
	}
	if err != nil {
		return w.at(n, err)
	}
	w.out.Write(value)
	return nil
}

func (w *yamlWriter) at(n *yaml.Node, err error) error {
	return &fileError{line: n.Line, column: n.Column, err: err}
}
