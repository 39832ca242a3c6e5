// Package hot reads and edits the Heat templates of a VNF package (BaseHOT/<flavour>/).
//
// A template is kept as a YAML tree with its order and scalar styles, because Heat gives meaning to what a
// decoder would lose (a version such as 2013-05-23 is a date to YAML) and because users compare what they wrote
// with what was sent. Everything is bounded: templates come from packages, which are untrusted.
package hot
