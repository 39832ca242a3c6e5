package hot

import (
	"encoding/json"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// MaxSize is the largest template in bytes, as the service is configured by default.
const MaxSize = 524288

// maxNodes bounds what aliases can blow up to.
const maxNodes = 200_000

// ParseYAML reads a YAML (or JSON) document into plain values. Dates stay the text they were.
func ParseYAML(text string) (any, error) {
	if len(text) > MaxSize {
		const format = "Request limit exceeded: Template size (%d bytes) exceeds maximum allowed size (%d bytes)."
		return nil, errf("RequestLimitExceeded", format, len(text), MaxSize)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, invalid("Error parsing template: %v", err)
	}
	if doc.Kind == 0 {
		return nil, nil
	}
	budget := maxNodes
	return fromNode(&doc, &budget)
}

func fromNode(n *yaml.Node, budget *int) (any, error) {
	if *budget--; *budget < 0 {
		return nil, invalid("Error parsing template: the document is too large")
	}
	switch n.Kind {
	default:
		return scalar(n), nil
	case yaml.DocumentNode:
		return fromNode(n.Content[0], budget)
	case yaml.AliasNode:
		return fromNode(n.Alias, budget)
	case yaml.SequenceNode:
		out := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			v, err := fromNode(c, budget)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case yaml.MappingNode:
		out := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := fromNode(n.Content[i+1], budget)
			if err != nil {
				return nil, err
			}
			if m, ok := v.(map[string]any); ok && n.Content[i].ShortTag() == "!!merge" {
				for k, x := range m {
					if _, there := out[k]; !there {
						out[k] = x
					}
				}
				continue
			}
			out[n.Content[i].Value] = v
		}
		return out, nil
	}
}

func scalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int":
		if i, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 0, 64); err == nil {
			return int(i)
		}
	case "!!float":
		if f, err := strconv.ParseFloat(n.Value, 64); err == nil {
			return f
		}
	}
	return n.Value
}

// FromJSON turns what encoding/json decoded into plain values: whole numbers become int.
func FromJSON(v any) any {
	return Map(v, func(v any) any {
		if f, ok := v.(float64); ok && float64(int(f)) == f {
			return int(f)
		}
		return v
	})
}

// JSON is the text the service writes a value as.
func JSON(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Copy returns a deep copy of a plain value.
func Copy(v any) any { return Map(v, func(v any) any { return v }) }

// Map returns a deep copy of a plain value in which leaf has replaced everything that is not a list or a map.
func Map(v any, leaf func(any) any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = Map(v[i], leaf)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = Map(v[k], leaf)
		}
		return out
	}
	return leaf(v)
}
