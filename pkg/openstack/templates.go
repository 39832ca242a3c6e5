package openstack

import (
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/preview"
)

// Templates implements lcm.Infra.
func (d *Driver) Templates(r lcm.Request) lcm.Templates {
	t := preview.Templates{}
	if r.Package == nil || r.Flavour == nil {
		return t
	}
	t.Now, _ = d.templates.Load(r.Package, r.Flavour.ID) // Validate reports templates that cannot be read
	if r.Previous != nil && r.Previous.Flavour != nil && r.Previous.Package != nil {
		t.Previous, _ = d.templates.Load(r.Previous.Package, r.Previous.Flavour.ID)
	}
	return t
}
