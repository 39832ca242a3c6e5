package sol

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// RawPairs is the JSON text of KeyValuePairs, which is decoded when a part of it is needed: a decoded object takes
// several times the memory of its text. "" is an absent object.
//
// Raw makes the text, compact and with sorted names. Objects with the same content have the same text.
type RawPairs string

// Raw returns the JSON text. An object without members is an absent one.
func (kv KeyValuePairs) Raw() (RawPairs, error) {
	if len(kv) == 0 {
		return "", nil
	}
	raw, err := json.Marshal(kv)
	if err != nil {
		return "", fmt.Errorf("encode an object: %w", err)
	}
	return RawPairs(raw), nil
}

// Decode returns the object; nil when it is absent.
func (p RawPairs) Decode() (KeyValuePairs, error) {
	var kv KeyValuePairs
	if p == "" {
		return kv, nil
	}
	if err := json.Unmarshal([]byte(p), &kv); err != nil {
		return nil, fmt.Errorf("decode an object: %w", err)
	}
	return kv, nil
}

// Member returns the JSON text of the value of a member; nil when the object does not have it.
func (p RawPairs) Member(name string) json.RawMessage {
	for n, value := range p.Members() {
		if n == name {
			return json.RawMessage(value)
		}
	}
	return nil
}

// Members returns the names of the members, and the JSON texts of their values.
func (p RawPairs) Members() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		_, rest := cutToken(string(p)) // the brace
		for {
			var name, value string
			if name, rest = cutToken(rest); name == "," {
				name, rest = cutToken(rest)
			}
			if !strings.HasPrefix(name, `"`) {
				return // the end
			}
			_, rest = cutToken(rest) // the colon
			if value, rest = cutValue(rest); !yield(textOf(name), value) {
				return
			}
		}
	}
}

// MarshalJSON implements json.Marshaler.
func (p RawPairs) MarshalJSON() ([]byte, error) {
	if p == "" {
		return []byte("null"), nil
	}
	return []byte(p), nil
}

// UnmarshalJSON implements json.Unmarshaler. It keeps the text as it is, so it is for JSON that Raw has made. Requests
// are decoded as KeyValuePairs.
func (p *RawPairs) UnmarshalJSON(raw []byte) error {
	switch {
	case string(raw) == "null":
		*p = ""
	case raw[0] != '{':
		return errors.New("the value is not a JSON object")
	default:
		*p = RawPairs(raw)
	}
	return nil
}

// sizeOfText is SizeOf of the value of a JSON text, which it does not decode.
func sizeOfText(text string, limit int) (n int) {
	for token, rest := cutToken(text); token != "" && n <= limit; token, rest = cutToken(rest) {
		switch token[0] {
		case '}', ']', ',', ':':
			continue
		case '"':
			n += len(textOf(token))
			if next, _ := cutToken(rest); next == ":" { // it is a name
				continue
			}
		}
		n += ValueSize
	}
	return n
}

// cutValue returns the JSON text of the first value in a text, and the rest of the text.
func cutValue(text string) (value, rest string) {
	depth := 0
	for token, rest := cutToken(text); token != ""; token, rest = cutToken(rest) {
		switch token[0] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth == 0 {
			return strings.TrimLeft(text[:len(text)-len(rest)], space), rest
		}
	}
	return text, ""
}

// space is the white space of JSON.
const space = " \t\r\n"

// cutToken returns the first token in a JSON text, and the rest of the text. At the end of the text the token is "".
func cutToken(text string) (token, rest string) {
	text = strings.TrimLeft(text, space)
	if text == "" {
		return "", ""
	}
	end := 1
	switch text[0] {
	case '{', '}', '[', ']', ',', ':':
	case '"':
		for end < len(text) && text[end] != '"' {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end+1, len(text))
	default: // a number, true, false, or null
		for end < len(text) && !strings.ContainsRune(",:{}[]\""+space, rune(text[end])) {
			end++
		}
	}
	return text[:end], text[end:]
}

// textOf returns the text of a token that is a JSON string.
func textOf(token string) string {
	if !strings.Contains(token, `\`) {
		return strings.Trim(token, `"`)
	}
	var out string
	_ = json.Unmarshal([]byte(token), &out) // the token is part of valid JSON
	return out
}
