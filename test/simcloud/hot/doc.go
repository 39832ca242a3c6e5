// Package hot is the template language of the orchestration service: parsing, parameters, conditions, functions and the
// references between resources. It knows nothing of stacks and resource types.
//
// Values are nil, bool, int, float64, string, []any and map[string]any.
package hot

import "fmt"

// Error is a template or parameter that is refused. Kind is the service's name for it.
type Error struct {
	Kind    string
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func errf(kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Invalid is the error of an invalid template.
func Invalid(format string, args ...any) *Error { return invalid(format, args...) }

func invalid(format string, args ...any) *Error {
	return errf("StackValidationFailed", format, args...)
}
