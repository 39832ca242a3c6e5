package kubeapi

func (r Resource) path(namespace, name string) string {
	p := r.Prefix()
	if r.Namespaced && namespace != "" {
		p += "/namespaces/" + namespace
	}
	p += "/" + r.Plural
	if name != "" {
		p += "/" + name
	}
	return p
}
