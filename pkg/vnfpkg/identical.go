package vnfpkg

import "github.com/gybe-nfv/gybe/pkg/lcm"

// IdenticalError reports content that is the same as that of an ONBOARDED package of the project. It wraps
// CodeConflict.
type IdenticalError struct {
	// PackageID is that package.
	PackageID string
	err       *lcm.Error
}

// Error implements error.
func (e *IdenticalError) Error() string { return e.err.Error() }

// Unwrap returns the lcm.Error.
func (e *IdenticalError) Unwrap() error { return e.err }

// identical makes the error for content that a package has. The content is published all the same, so that a file that
// the file system has damaged is repaired; Run removes it if the other package was deleted during this time.
func identical(other *Package) error {
	return &IdenticalError{PackageID: other.ID, err: &lcm.Error{
		Code: lcm.CodeConflict, Title: "The VNF package is onboarded already",
		Detail: "the content is identical to that of the onboarded VNF package " + other.ID,
		Hint:   "use that package, and delete this one",
	}}
}
