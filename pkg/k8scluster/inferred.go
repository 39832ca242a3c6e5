package k8scluster

import (
	"regexp"
)

// A package that was made before manifests existed has a script without a manifest. Its capabilities are inferred from
// the text of the script, here and nowhere else, by the rules that its author knew: a script in which GYBE_PHASE occurs
// is run in phases. Comments do not count. See docs/adr/024.

var (
	comment         = regexp.MustCompile(`(?m)^[ \t]*#.*$`)
	mentionsPhase   = regexp.MustCompile(`\bGYBE_PHASE\b`)
	mentionsUpgrade = regexp.MustCompile(`\bupgrade\b`)
	// defaultVersion is where such a script names the version that it installs by default.
	defaultVersion = regexp.MustCompile(
		`K8S_VERSION=["']?\$\{K8S_VERSION:-["']?(v?1\.[0-9]{1,3}(?:\.[0-9]{1,3})?)["']?\}`,
	)
)

// infer takes the capabilities from the text of a script that has no manifest.
func (s *installScript) infer() {
	code := comment.ReplaceAll(s.content, nil)
	if m := defaultVersion.FindSubmatch(code); m != nil {
		s.kubernetes = string(m[1])
	}
	if !mentionsPhase.Match(code) {
		return
	}
	s.phases = requiredPhases
	if mentionsUpgrade.Match(code) {
		s.phases = append(append([]string{}, requiredPhases...), phaseUpgrade)
	}
}
