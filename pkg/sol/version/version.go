// Package version parses the Version header of SOL013 and selects the version
// of an API that answers a request.
package version

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Header is the name of the HTTP header in requests and responses.
const Header = "Version"

// maxLength limits a header value; real ones have about 10 bytes.
const maxLength = 256

// Version is an API version identifier: MAJOR.MINOR.PATCH with an optional
// implementation part, e.g. 2.0.0-impl:example.com:product:1.
type Version struct {
	Major, Minor, Patch uint
	// Impl is the text after "-impl:", empty without such a part.
	Impl string
}

var (
	// ErrMissing reports that the header is absent or empty; the answer is 400.
	ErrMissing = errors.New("the Version header is missing")
	// ErrMalformed reports that the header does not follow the grammar; 400.
	ErrMalformed = errors.New("the Version header is malformed")
	// ErrUnsupported reports that the version is not served; 406.
	ErrUnsupported = errors.New("the version is not supported")
)

// Parse reads a version identifier. Errors match ErrMissing or ErrMalformed.
func Parse(s string) (Version, error) {
	if s == "" {
		return Version{}, ErrMissing
	}
	if len(s) > maxLength {
		return Version{}, fmt.Errorf("%w: longer than %d bytes", ErrMalformed, maxLength)
	}
	core, impl, hasImpl := strings.Cut(s, "-")
	var v Version
	if hasImpl {
		name, ok := strings.CutPrefix(impl, "impl:")
		if !ok || !validImpl(name) {
			return Version{}, fmt.Errorf(
				"%w: after MAJOR.MINOR.PATCH only -impl:<name> may follow, not %.40q",
				ErrMalformed,
				"-"+impl,
			)
		}
		v.Impl = name
	}
	parts := strings.Split(core, ".")
	if len(parts) != 3 {
		return Version{}, fmt.Errorf("%w: %.40q is not MAJOR.MINOR.PATCH", ErrMalformed, core)
	}
	for i, into := range []*uint{&v.Major, &v.Minor, &v.Patch} {
		n, ok := number(parts[i])
		if !ok {
			return Version{}, fmt.Errorf("%w: %.40q is not MAJOR.MINOR.PATCH", ErrMalformed, core)
		}
		*into = n
	}
	if v.Major == 0 {
		return Version{}, fmt.Errorf("%w: MAJOR starts at 1", ErrMalformed)
	}
	return v, nil
}

// MustParse is Parse for constants; it panics on an error.
func MustParse(s string) Version {
	v, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return v
}

// String writes the identifier as it is sent.
func (v Version) String() string {
	if v.Impl == "" {
		return v.Core()
	}
	return v.Core() + "-impl:" + v.Impl
}

// Core writes MAJOR.MINOR.PATCH only.
func (v Version) Core() string {
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
}

// Negotiate reads a request's header and returns the supported version that it
// names. The implementation part of the request does not take part in the
// comparison: it describes the client. Errors match ErrMissing,
// ErrMalformed or ErrUnsupported.
func Negotiate(header string, supported ...Version) (Version, error) {
	wanted, err := Parse(header)
	if err != nil {
		return Version{}, err
	}
	names := make([]string, 0, len(supported))
	for _, s := range supported {
		if s.Major == wanted.Major && s.Minor == wanted.Minor && s.Patch == wanted.Patch {
			return s, nil
		}
		names = append(names, s.String())
	}
	return Version{}, fmt.Errorf(
		"%w: %s was asked for, %s can be served",
		ErrUnsupported,
		wanted.Core(),
		strings.Join(names, ", "),
	)
}

func number(s string) (uint, bool) {
	if s == "" || len(s) > 6 || (len(s) > 1 && s[0] == '0') {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(s, 10, 32)
	return uint(n), err == nil
}

func validImpl(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' || s[i] == ',' || s[i] == '"' {
			return false
		}
	}
	return true
}
