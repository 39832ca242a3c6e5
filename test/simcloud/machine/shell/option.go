package shell

import "sort"

// setFlag switches a one-letter option of set; false if there is none.
func (o *options) setFlag(c byte, on bool) bool {
	switch c {
	case 'e':
		o.errexit = on
	case 'u':
		o.nounset = on
	case 'x':
		o.xtrace = on
	case 'f':
		o.noglob = on
	case 'a':
		o.allexport = on
	case 'n':
		o.noexec = on
	case 'E':
		o.errtrace = on
	case 'T':
		o.functrace = on
	case 'm':
		o.monitor = on
	case 'v':
		o.verbose = on
	case 'C':
		o.noclobber = on
	case 'P':
		o.physical = on
	case 'h', 'b', 'B', 'H', 'k', 'p', 't':
	default:
		return false
	}
	return true
}

var longFlags = map[string]byte{
	"errexit": 'e', "nounset": 'u', "xtrace": 'x', "noglob": 'f', "allexport": 'a', "noexec": 'n', "errtrace": 'E',
	"functrace": 'T', "monitor": 'm', "verbose": 'v', "noclobber": 'C', "physical": 'P', "hashall": 'h', "notify": 'b',
	"braceexpand": 'B', "histexpand": 'H', "privileged": 'p',
}

// setName switches an option of set -o; false if there is none.
func (o *options) setName(name string, on bool) bool {
	switch name {
	case "pipefail":
		o.pipefail = on
		return true
	case "posix", "vi", "emacs", "history", "ignoreeof", "nolog", "interactive-comments":
		return true
	}
	c, ok := longFlags[name]
	return ok && o.setFlag(c, on)
}

// get tells whether an option of set -o is on.
func (o *options) get(name string) bool {
	switch name {
	case "errexit":
		return o.errexit
	case "nounset":
		return o.nounset
	case "xtrace":
		return o.xtrace
	case "noglob":
		return o.noglob
	case "allexport":
		return o.allexport
	case "errtrace":
		return o.errtrace
	case "monitor":
		return o.monitor
	case "noclobber":
		return o.noclobber
	case "pipefail":
		return o.pipefail
	}
	return false
}

func (o *options) names() []string {
	names := []string{"pipefail"}
	for n := range longFlags {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

func (o *options) shopt(name string) *bool {
	switch name {
	case "nullglob":
		return &o.nullglob
	case "dotglob":
		return &o.dotglob
	case "extglob":
		return &o.extglob
	case "globstar":
		return &o.globstar
	case "nocaseglob":
		return &o.nocaseglob
	case "nocasematch":
		return &o.nocasematch
	case "inherit_errexit":
		return &o.inheritErrexit
	case "lastpipe":
		return &o.lastpipe
	case "failglob":
		return &o.failglob
	}
	return nil
}

// harmless are shopt options that change nothing a script of ours could see.
var harmless = map[string]bool{
	"expand_aliases": true, "checkwinsize": true, "cmdhist": true, "histappend": true, "sourcepath": true, "huponexit": true,
	"progcomp": true, "promptvars": true, "interactive_comments": true, "extquote": true, "force_fignore": true, "execfail": true,
}

func (o *options) shoptName(name string, on bool) bool {
	if b := o.shopt(name); b != nil {
		*b = on
		return true
	}
	return harmless[name]
}

// optFlags is the value of $-.
func (s *Shell) optFlags() string {
	out := []byte{}
	for _, f := range []struct {
		c  byte
		on bool
	}{
		{'a', s.opt.allexport},
		{'e', s.opt.errexit},
		{'f', s.opt.noglob},
		{'h', !s.posix},
		{'m', s.opt.monitor},
		{'u', s.opt.nounset},
		{'x', s.opt.xtrace},
		{'B', !s.posix},
		{'C', s.opt.noclobber},
		{'E', s.opt.errtrace},
	} {
		if f.on {
			out = append(out, f.c)
		}
	}
	return string(out)
}
