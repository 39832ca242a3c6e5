package sol

import (
	"encoding/json"
	"unicode/utf8"
)

// SizeOf returns the size of a decoded JSON value as text without white space and without escapes. It stops counting
// beyond limit.
func SizeOf(v any, limit int) int {
	switch v := v.(type) {
	case nil, bool:
		return len("null")
	case string:
		return len(v) + len(`""`)
	case json.Number:
		return len(v)
	case []any:
		n := len("[]")
		for _, e := range v {
			if n += SizeOf(e, limit-n) + len(","); n > limit {
				break
			}
		}
		return n
	case KeyValuePairs:
		return SizeOf(map[string]any(v), limit)
	case map[string]any:
		n := len("{}")
		for name, e := range v {
			if n += len(name) + len(`"":,`) + SizeOf(e, limit-n); n > limit {
				break
			}
		}
		return n
	default: // a number
		return 2 * utf8.UTFMax
	}
}
