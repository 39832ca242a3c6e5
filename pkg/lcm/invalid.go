package lcm

import (
	"cmp"
	"slices"
	"strings"
)

// Unprocessable makes the error of a request whose members are wrong; nil when none is.
func Unprocessable(bad ...InvalidParam) error {
	if len(bad) == 0 {
		return nil
	}
	slices.SortStableFunc(bad, func(a, b InvalidParam) int { return strings.Compare(a.Pointer, b.Pointer) })
	details := make([]string, len(bad))
	for i, b := range bad {
		details[i] = cmp.Or(b.Pointer, "the body") + ": " + b.Detail
	}
	return &Error{
		Code: CodeUnprocessable, Title: "Invalid parameters", Detail: strings.Join(details, "; "), Params: bad,
	}
}

// Escape makes a member name fit for a JSON pointer (RFC 6901).
func Escape(member string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(member)
}

// PointAt gives err a pointer to the member that caused it. A fault of ours, or of what we need, is no member's.
func PointAt(err error, pointer string) error {
	e := *AsError(err)
	ours := e.Code == CodeInternal || e.Code == CodeUnavailable || e.Code == CodeTimeout
	if len(e.Params) == 0 && !ours {
		e.Params = []InvalidParam{{Pointer: pointer, Detail: e.Detail}}
	}
	return &e
}
