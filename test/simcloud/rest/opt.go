package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Opt is a member of a request that may be absent, null or a value; the three mean different things in updates.
type Opt[T any] struct {
	// Set tells whether the member was there at all, Null whether it was null.
	Set, Null bool
	V         T
}

// Some is a member that was given.
func Some[T any](v T) Opt[T] { return Opt[T]{Set: true, V: v} }

// UnmarshalJSON notes that the member was there.
func (o *Opt[T]) UnmarshalJSON(b []byte) error {
	o.Set = true
	if bytes.Equal(b, []byte("null")) {
		o.Null = true
		return nil
	}
	if err := json.Unmarshal(b, &o.V); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return nil
}

// Convert copies a JSON-like value into a typed one by way of JSON.
func Convert(from, into any) error {
	b, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("convert: %w", err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("convert: %w", err)
	}
	return nil
}
