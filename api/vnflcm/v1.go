package vnflcm

import (
	"errors"
	"net/url"
	"slices"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/admission"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/selector"
	v1 "github.com/gybe-nfv/gybe/pkg/sol/v1"
)

// The lists of version 1 with their default exclusions.
var (
	instancesV1 = selector.New[v1.VnfInstance](
		"vnfConfigurableProperties", "vimConnectionInfo", "instantiatedVnfInfo", "metadata", "extensions",
	)
	operationsV1 = selector.New[v1.VnfLcmOpOcc](
		"operationParams", "error", "resourceChanges", "changedInfo", "changedExtConnectivity",
		"modificationsTriggeredByVnfPkgChange",
	)
)

// tasksOfLater are the tasks that version 1 does not have.
var tasksOfLater = []sol.LcmOperationType{
	sol.LcmOperationChangeVnfpkg, sol.LcmOperationCreateSnapshot, sol.LcmOperationRevertToSnapshot,
}

// translated is the form of version 1.
type translated struct{}

func (translated) has(k *lcm.OperationKind) bool { return !slices.Contains(tasksOfLater, k.Type) }

func (translated) instance(d *lcm.InstanceDocument, buf *buffer) *lcm.Document {
	buf = buf.of(&d.Document, len(d.Params))
	buf.text = v1.InstanceBrief(buf.text, d.Brief, d.ID, d.VnfPkgID)
	brief := len(buf.text)
	if d.Details != nil {
		buf.text = v1.Instance(buf.text, d.Details, d.Params)
		buf.document.Details = buf.text[brief:]
	}
	buf.document.Brief = buf.text[:brief]
	return &buf.document
}

func (translated) operation(d *lcm.OperationDocument, buf *buffer) *lcm.Document {
	if d.Details == nil {
		return &d.Document
	}
	buf = buf.of(&d.Document, 0)
	buf.text = v1.Operation(buf.text, d.Details)
	buf.document.Details = buf.text
	return &buf.document
}

// of returns an empty buffer with enough memory for a document and some more bytes.
func (b *buffer) of(d *lcm.Document, more int) *buffer {
	if b == nil {
		b = &buffer{}
	}
	if size := len(d.Brief) + v1.BriefAdded + len(d.Details) + len(d.Details)/8 + more; cap(b.text) < size {
		b.text = make([]byte, 0, size)
	}
	b.document, b.text = *d, b.text[:0]
	return b
}

func (translated) request(
	r *frame.Request, s *admission.Service, k *lcm.OperationKind, id string,
) (pointer func(string) string, err error) {
	var names instanceNames
	if !k.Instantiates() && v1.NamesParts(r.Raw) {
		i, err := s.Instance(r.Context(), id)
		if err != nil {
			return nil, err
		}
		if i.Instantiated != nil {
			names.info = *i.Instantiated
		}
	}
	translate := v1.Request
	if k.Type == sol.LcmOperationHeal {
		translate = v1.HealRequest
	}
	t, err := translate(r.Raw, names)
	if e, ok := errors.AsType[*v1.Error](err); ok {
		return nil, lcm.Unprocessable(lcm.InvalidParam{Pointer: e.Pointer, Detail: e.Detail})
	}
	if err != nil {
		return nil, err
	}
	r.Raw = t.Body
	return t.Pointer, nil
}

// instanceNames are the names of the parts of an instance.
type instanceNames struct{ info sol.InstantiatedVnfInfo }

// VNFC implements v1.Names.
func (n instanceNames) VNFC(resourceInfoID string) (string, bool) {
	for _, c := range n.info.VnfcInfo {
		if c.VnfcResourceInfoID == resourceInfoID {
			return c.ID, true
		}
	}
	return "", false
}

// CpConfig implements v1.Names.
func (n instanceNames) CpConfig(extCpInfoID string) (string, bool) {
	for _, cp := range n.info.ExtCpInfo {
		if cp.ID == extCpInfoID && cp.CpConfigID != "" {
			return cp.CpConfigID, true
		}
	}
	return "", false
}

// CpConfigOf implements v1.Names. A CPD whose connection points have several configurations has none for all.
func (n instanceNames) CpConfigOf(cpdID string) (key string, ok bool) {
	for _, cp := range n.info.ExtCpInfo {
		switch {
		case cp.CpdID != cpdID || cp.CpConfigID == "":
		case ok && cp.CpConfigID != key:
			return "", false
		default:
			key, ok = cp.CpConfigID, true
		}
	}
	return key, ok
}

// relative makes URLs without scheme and host, which instances of version 1 have in links, as in OpenStack Tacker.
func relative(f *frame.Frame) func(path string) string {
	return func(path string) string {
		u, err := url.Parse(f.URL(path))
		if err != nil {
			return path // the setting has been checked
		}
		return u.Path
	}
}
