package hot

import "fmt"

// Error says what is wrong with the templates of a flavour, in words for the author of the package.
type Error struct {
	// File is the path from the package root; a folder when the problem is what it lacks.
	File string
	// Problem is one sentence without a full stop.
	Problem string
}

// Error joins file and problem.
func (e *Error) Error() string { return e.File + ": " + e.Problem }

func bad(file, format string, args ...any) *Error {
	return &Error{File: file, Problem: fmt.Sprintf(format, args...)}
}
