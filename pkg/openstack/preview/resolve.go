package preview

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The costs of values in a budget, in bytes beside those of texts.
const (
	costOfValue    = 32
	costOfTemplate = 512 // of one use of a template, and of a resource
)

// maxText bounds a text that is put together.
const maxText = 1 << 20

// budget bounds the work of a rendering: values and texts can double at every level of a stack.
type budget struct{ spent int }

func (b *budget) spend(n int) { b.spent += n }

// exhausted says that the budget is used up. The values that were rendered since are not complete then.
func (b *budget) exhausted() bool { return b.spent > maxWork }

// weigh spends the cost of a value that is used in several places, and is not copied.
func (b *budget) weigh(v any) {
	b.spend(costOfValue)
	if b.exhausted() {
		return
	}
	switch v := v.(type) {
	case string:
		b.spend(len(v) / costOfValue)
	case map[string]any:
		for _, e := range v {
			b.weigh(e)
		}
	case []any:
		for _, e := range v {
			b.weigh(e)
		}
	}
}

// resolve replaces get_param by values; texts that are put together from known ones are known, too.
func (b *budget) resolve(v any, params map[string]any) any {
	b.spend(costOfValue)
	if b.exhausted() {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		if arg, ok := v["get_param"]; ok && len(v) == 1 {
			value := getParam(b.resolve(arg, params), params)
			b.weigh(value)
			return value
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = b.resolve(e, params)
		}
		if s, ok := b.joined(out); ok {
			return s
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = b.resolve(e, params)
		}
		return out
	case map[any]any: // keys that are no texts
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[fmt.Sprint(k)] = b.resolve(e, params)
		}
		return out
	}
	return v
}

// getParam follows the path of a get_param; nil when it leads nowhere.
func getParam(arg any, params map[string]any) any {
	path, ok := arg.([]any)
	if !ok {
		path = []any{arg}
	}
	var at any = params
	for _, step := range path {
		switch v := at.(type) {
		case map[string]any:
			at = v[fmt.Sprint(step)]
		case []any:
			i := number(step, -1)
			if i < 0 || i >= len(v) {
				return nil
			}
			at = v[i]
		default:
			return nil
		}
	}
	return at
}

// joined is the text of a list_join or str_replace whose parts are known. One that would be too long is not known.
func (b *budget) joined(f map[string]any) (string, bool) {
	text, ok := "", false
	if args, isJoin := f["list_join"].([]any); isJoin && len(f) == 1 && len(args) == 2 {
		text, ok = listJoin(args)
	} else if args, isReplace := f["str_replace"].(map[string]any); isReplace && len(f) == 1 {
		text, ok = strReplace(args)
	}
	b.spend(len(text))
	return text, ok
}

func listJoin(args []any) (string, bool) {
	sep, isText := args[0].(string)
	list, isList := args[1].([]any)
	if !isText || !isList {
		return "", false
	}
	size := 0
	words := make([]string, len(list))
	for i, w := range list {
		s, known := w.(string)
		if size += len(sep) + len(s); !known || size > maxText {
			return "", false
		}
		words[i] = s
	}
	return strings.Join(words, sep), true
}

func strReplace(args map[string]any) (string, bool) {
	text, known := args["template"].(string)
	params, _ := args["params"].(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(params)) {
		s, isText := params[k].(string)
		if known = known && isText; !known || len(text)+strings.Count(text, k)*(len(s)-len(k)) > maxText {
			return "", false
		}
		text = strings.ReplaceAll(text, k, s)
	}
	return text, known
}

// indexed puts a member's number in the place of %index%.
func (b *budget) indexed(v any, i string) any {
	b.spend(costOfValue)
	if b.exhausted() {
		return nil
	}
	switch v := v.(type) {
	case string:
		if !strings.Contains(v, "%index%") {
			b.spend(len(v) / costOfValue)
			return v
		}
		b.spend(len(v))
		return strings.ReplaceAll(v, "%index%", i)
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = b.indexed(e, i)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for n, e := range v {
			out[n] = b.indexed(e, i)
		}
		return out
	}
	return v
}
