package ubuntu

import (
	"context"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// aptMark keeps packages from being upgraded.
func (o *OS) aptMark(_ context.Context, p *process.Proc) int {
	if needRoot(p) || len(p.Args) < 3 || p.Args[1] != "hold" {
		p.Errorf("E: hold PACKAGE is simulated, as root\n")
		return 100
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, n := range p.Args[2:] {
		if o.pkgs[n] == "" {
			p.Errorf("E: Can't select installed nor candidate version from package '%s' as it has neither of them\n", n)
			return 100
		}
		o.held[n] = true
		p.Printf("%s set on hold.\n", n)
	}
	return 0
}

// runDpkg completes the installation of packages, which is nothing but waiting for the lock.
func (o *OS) runDpkg(ctx context.Context, p *process.Proc) int {
	if !slices.Contains(p.Args, "--configure") {
		p.Errorf("dpkg: error: --configure is simulated\n")
		return 2
	}
	if !o.lockDpkg(ctx, p, 0) {
		return 2
	}
	o.unlockDpkg()
	return 0
}

// dpkgQuery is dpkg-query -W -f FORMAT PACKAGE...
func (o *OS) dpkgQuery(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "Wf:", "show=W", "showformat:=f")
	if !ok || !f.Has("W") {
		p.Errorf("dpkg-query: error: -W is simulated\n")
		return 2
	}
	format := "${Package}\t${Version}\\n"
	if f.Has("f") {
		format = strings.TrimPrefix(f.Val("f"), "=")
	}
	status := 0
	for _, n := range f.Args {
		v := o.Installed(n)
		if v == "" {
			status = p.Errorf("dpkg-query: no packages found matching %s\n", n)
			continue
		}
		p.Printf("%s", strings.NewReplacer("${Package}", n, "${Version}", v, "${Status}", "install ok installed", `\n`,
			"\n").Replace(format))
	}
	return status
}
