package vnflcm

import (
	"strings"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/admission"
)

// form translates between the data types of a version and those of the domain, which are the ones of version 2.
type form interface {
	// has says whether the version has the task of a kind.
	has(k *lcm.OperationKind) bool
	// instance and operation return documents in the form of the version. They do not change the given ones. The
	// documents are valid until the next call with the same buffer, which may be nil.
	instance(d *lcm.InstanceDocument, buf *buffer) *lcm.Document
	operation(d *lcm.OperationDocument, buf *buffer) *lcm.Document
	// request brings the body of a task on the instance with an id to the form of the domain. pointer translates the
	// pointers of errors back; nil leaves them as they are.
	request(r *frame.Request, s *admission.Service, k *lcm.OperationKind, id string) (
		pointer func(string) string, err error)
}

// has says whether the edition has the task of a kind.
func (a *edition) has(k *lcm.OperationKind) bool { return a.form.has(k) }

// buffer is memory for the documents of a list, one after the other.
type buffer struct {
	document lcm.Document
	text     []byte
}

// native is the form of version 2.
type native struct{}

func (native) has(*lcm.OperationKind) bool { return true }

func (native) instance(d *lcm.InstanceDocument, _ *buffer) *lcm.Document { return &d.Document }

func (native) operation(d *lcm.OperationDocument, _ *buffer) *lcm.Document { return &d.Document }

func (native) request(*frame.Request, *admission.Service, *lcm.OperationKind, string) (func(string) string, error) {
	return nil, nil //nolint:nilnil // nothing is translated
}

// pointedAt returns an error whose pointers lead into the request as it was sent.
func pointedAt(err error, pointer func(string) string) error {
	if err == nil || pointer == nil {
		return err
	}
	e := *lcm.AsError(err)
	e.Params = nil
	for _, p := range lcm.AsError(err).Params {
		place := pointer(p.Pointer)
		if place != p.Pointer {
			e.Detail = strings.ReplaceAll(e.Detail, p.Pointer+": ", place+": ")
		}
		e.Params = append(e.Params, lcm.InvalidParam{Pointer: place, Detail: p.Detail})
	}
	return &e
}
