package userdata

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Own is a user-data class of the package, or a program that takes its place.
type Own struct {
	File string // path of its file in the package
	Name string // of the class; "" for a program
}

// IsProgram says that it is a program, which has no class.
func (o Own) IsProgram() bool { return o.Name == "" }

// String is the name of the class, or the file of the program.
func (o Own) String() string { return cmp.Or(o.Name, o.File) }

// Result is what a method of a class of the package has returned. What it leaves out stays as it is.
type Result struct {
	Template   *string        `json:"template"`
	Parameters map[string]any `json:"parameters"`
	Files      map[string]any `json:"files"`
	// Existing is false when the result takes the place of the whole stack, and is not merged into it.
	Existing *bool `json:"existing"`
	// V1 is there for a class of API version 1. Its Parameters take the place of those of the stack, and its template
	// stays as it is.
	V1 *V1 `json:"class_v1"`
}

// V1 describes a user-data class of API version 1.
type V1 struct {
	// Methods are those that it has beside instantiate: "scale", "heal".
	Methods []string `json:"methods"`
}

// The limits of a stack that a class of the package makes.
const (
	maxOwnFiles = 200
	maxOwnText  = 2 << 20 // bytes of one template
	maxOwnTotal = 6 << 20 // bytes of all templates
)

// ParseResult reads what a class has returned. The error says what is wrong with it.
func ParseResult(raw json.RawMessage) (Result, error) {
	var r Result
	err := json.Unmarshal(raw, &r)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return r, fmt.Errorf("the member %q of the result is a JSON %s", wrong.Field, wrong.Value)
	}
	return r, err
}

// Over merges the result into the stack that there is (JSON merge patches, RFC 7396, of the template, the parameters
// and the files); nil is no stack. base is not changed.
func (r Result) Over(base *lcm.AssembledStack) (*lcm.AssembledStack, error) {
	if base == nil || r.Existing != nil && !*r.Existing {
		if r.Template == nil {
			return nil, errors.New("the result has no template, and there is no stack that it could be a change of")
		}
		base = &lcm.AssembledStack{}
	}
	out := &lcm.AssembledStack{
		Template: base.Template, Files: map[string]string{}, OneMethod: base.OneMethod, Methods: base.Methods,
	}
	if r.V1 != nil {
		out.OneMethod, out.Methods = true, r.V1.Methods
	}
	out.Parameters, _ = lcm.MergePatch(copied(base.Parameters), copied(r.Parameters)).(map[string]any)
	if base.Template == "" || r.V1 != nil { // null is a value there, and no patch
		out.Parameters = copied(r.Parameters)
	}
	maps.Copy(out.Files, base.Files)
	for name, text := range r.Files {
		switch v := text.(type) {
		case nil:
			delete(out.Files, name)
		case string:
			out.Files[name] = v
		default:
			return nil, fmt.Errorf("the file %q of the result is not a text", name)
		}
	}
	if r.Template != nil {
		var err error
		if out.Template, err = patched(base.Template, *r.Template); err != nil {
			return nil, err
		}
	}
	return out, checked(out)
}

// patched applies a template as a merge patch to another one; one that there is not is replaced.
func patched(base, patch string) (string, error) {
	if len(patch) > maxOwnText {
		return "", fmt.Errorf("the template of the result is larger than %d bytes", maxOwnText)
	}
	if base == "" {
		return patch, nil
	}
	was, err := PlainYAML([]byte(base))
	if err != nil {
		return "", fmt.Errorf("the template of the stack: %w", err)
	}
	change, err := PlainYAML([]byte(patch))
	if err != nil {
		return "", fmt.Errorf("the template of the result: %w", err)
	}
	if _, ok := change.(map[string]any); !ok {
		return "", errors.New("the template of the result is not a map")
	}
	text, err := json.Marshal(lcm.MergePatch(was, change))
	return string(text), err
}

// checked says what is wrong with a stack.
func checked(s *lcm.AssembledStack) error {
	if len(s.Files) > maxOwnFiles {
		return fmt.Errorf("the result has more than %d files", maxOwnFiles)
	}
	total := len(s.Template)
	for name, text := range s.Files {
		if total += len(text); total > maxOwnTotal {
			return fmt.Errorf("the templates of the result are larger than %d bytes together", maxOwnTotal)
		}
		if _, err := hot.Parse(name, []byte(text)); strings.HasSuffix(name, ".yaml") && err != nil {
			return err
		}
	}
	t, err := hot.Parse("the template of the result", []byte(s.Template))
	if err != nil {
		return err
	}
	if nfv, given := s.Parameters["nfv"]; given {
		if _, ok := nfv.(map[string]any); !ok {
			return errors.New("the parameter nfv of the result is not an object")
		}
	}
	for name := range s.Parameters {
		if !t.Declares(name) {
			return fmt.Errorf("the result has a value for the parameter %s, which its template does not declare", name)
		}
	}
	for _, file := range t.Nested() {
		if _, ok := s.Files[file]; !ok {
			return fmt.Errorf("the template of the result uses the nested template %s, which is not in files", file)
		}
	}
	return nil
}

// FromAssembled is the stack that a class of the package has made.
func FromAssembled(s *lcm.AssembledStack, publicKey string) (*Stack, error) {
	t, err := hot.Parse("the template of the stack", []byte(s.Template))
	if err != nil {
		return nil, err
	}
	out := &Stack{Template: s.Template, Files: maps.Clone(s.Files), NFV: map[string]any{}}
	for name, value := range s.Parameters {
		if nfv, ok := value.(map[string]any); ok && name == "nfv" {
			out.NFV = copied(nfv)
			continue
		}
		if out.Other == nil {
			out.Other = map[string]any{}
		}
		out.Other[name] = value
	}
	out.NoNFV = !t.Declares("nfv")
	if _, given := s.Parameters[ParamPublicKey]; t.Declares(ParamPublicKey) && !given {
		out.PublicKey = &publicKey
	}
	return out, nil
}

// ClassOf is the built-in class whose stacks are like that of a class of the package: Standard when VNFCs have
// resources of their own, named <VDU>-<index>.
func ClassOf(s *lcm.AssembledStack, f *vnfd.Flavour) Class {
	if s == nil || f == nil {
		return Default
	}
	t, err := hot.Parse("the template", []byte(s.Template))
	if err != nil {
		return Default
	}
	for _, r := range t.Resources() {
		if node, _, ok := SplitIndex(r); ok && f.VDU(node) != nil {
			return Standard
		}
	}
	return Default
}

// maxPlain limits the number of values of a YAML file when its aliases are resolved.
const maxPlain = 200_000

// PlainYAML reads a YAML document as values that JSON has: dates become texts, and keys too.
func PlainYAML(text []byte) (any, error) {
	var v any
	if err := yaml.Load(text, &v); err != nil {
		return nil, fmt.Errorf("it is not YAML: %w", err)
	}
	left := maxPlain
	return plain(v, &left)
}

func plain(v any, left *int) (any, error) {
	if *left--; *left < 0 {
		return nil, fmt.Errorf("it has more than %d values when its aliases are resolved", maxPlain)
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, inner := range v {
			p, err := plain(inner, left)
			if err != nil {
				return nil, err
			}
			out[k] = p
		}
		return out, nil
	case map[any]any:
		out := make(map[string]any, len(v))
		for k, inner := range v {
			p, err := plain(inner, left)
			if err != nil {
				return nil, err
			}
			out[fmt.Sprint(k)] = p
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for n, inner := range v {
			p, err := plain(inner, left)
			if err != nil {
				return nil, err
			}
			out[n] = p
		}
		return out, nil
	case time.Time:
		return v.Format(time.DateOnly), nil
	}
	return v, nil
}
