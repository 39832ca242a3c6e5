package lcm

// Templates answers the questions that mgmt drivers have about the templates of a request's flavour. Only the infra
// driver knows their language.
type Templates interface {
	// Resources lists the names that resources can have in the inventory; nil when the templates cannot be read, which
	// Infra.Validate reports.
	Resources() []string
	// Replaces names the properties of a VDU's machines that another package or flavour changes and that the VIM cannot
	// change on the machines that it has. It returns nil for a request that keeps both.
	Replaces(vdu string) []string
	// TakesKey says whether the templates put the public part of the instance's SSHKey into machines.
	TakesKey() bool
}

// Resources lists the names that resources can have in the inventory; nil when they are not known.
func (r Request) Resources() []string {
	if r.Templates == nil {
		return nil
	}
	return r.Templates.Resources()
}

// Replaces names the properties by which the VIM would replace the machines of a VDU.
func (r Request) Replaces(vdu string) []string {
	if r.Templates == nil {
		return nil
	}
	return r.Templates.Replaces(vdu)
}

// TakesKey says whether the templates put the public part of the instance's SSHKey into machines.
func (r Request) TakesKey() bool { return r.Templates != nil && r.Templates.TakesKey() }
