package ubuntu

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

func (o *OS) aptMark(_ context.Context, p *process.Proc) int {
	c := parseApt(p.Args[1:])
	o.mu.Lock()
	defer o.mu.Unlock()
	switch c.verb {
	case "hold", "unhold":
		if needRoot(p) {
			p.Errorf("E: Could not create temporary file for /var/lib/apt/extended_states - mkstemp (13: Permission denied)\n")
			return 100
		}
		for _, n := range c.names {
			if o.pkgs[n] == "" {
				p.Errorf("E: Can't select installed nor candidate version from package '%s' as it has neither of them\n", n)
				return 100
			}
			switch hold := c.verb == "hold"; {
			case hold && o.held[n]:
				p.Printf("%s was already set on hold.\n", n)
			case hold:
				o.held[n] = true
				p.Printf("%s set on hold.\n", n)
			default:
				delete(o.held, n)
				p.Printf("Canceled hold on %s.\n", n)
			}
		}
	case "showhold":
		for _, n := range slices.Sorted(maps.Keys(o.held)) {
			p.Printf("%s\n", n)
		}
	case "auto", "manual", "showmanual", "showauto":
	default:
		p.Errorf("E: Invalid operation %s\n", c.verb)
		return 100
	}
	return 0
}

func (o *OS) runDpkg(ctx context.Context, p *process.Proc) int {
	args := p.Args[1:]
	if len(args) == 0 {
		p.Errorf("dpkg: error: need an action option\n")
		return 2
	}
	name := args[len(args)-1]
	switch a := args[0]; {
	case a == "--print-architecture":
		p.Printf("amd64\n")
	case a == "--print-foreign-architectures":
	case slices.Contains(args, "--configure"):
		if !o.lockDpkg(ctx, p, aptCall{}) {
			return 2
		}
		o.unlockDpkg()
	case a == "--compare-versions" && len(args) == 4:
		r := compareVersions(args[1], args[3])
		ok := map[string]bool{"lt": r < 0, "le": r <= 0, "eq": r == 0, "ne": r != 0, "ge": r >= 0, "gt": r > 0}[args[2]]
		return b2i(!ok)
	case a == "-l" || a == "--list":
		o.mu.Lock()
		defer o.mu.Unlock()
		found := len(args) == 1
		p.Printf("Desired=Unknown/Install/Remove/Purge/Hold\n||/ Name           Version      Architecture Description\n")
		for _, n := range slices.Sorted(maps.Keys(o.pkgs)) {
			match := len(args) == 1
			for _, pat := range args[1:] {
				ok, _ := path.Match(pat, n)
				match = match || ok
			}
			if match {
				found = true
				mark := "ii"
				if o.held[n] {
					mark = "hi"
				}
				p.Printf("%s  %-14s %-12s amd64        %s\n", mark, n, o.pkgs[n], n)
			}
		}
		if !found {
			return p.Errorf("dpkg-query: no packages found matching %s\n", name)
		}
	case a == "-s" || a == "--status":
		v := o.Installed(name)
		if v == "" {
			return p.Errorf("dpkg-query: package '%s' is not installed and no information is available\n", name)
		}
		p.Printf("Package: %s\nStatus: install ok installed\nVersion: %s\n", name, v)
	case a == "-L" || a == "--listfiles":
		if o.Installed(name) == "" {
			return p.Errorf("dpkg-query: package '%s' is not installed\n", name)
		}
		for _, f := range append(ubuntuArchive[name].files, kubernetesArchive("1.34")[name].files...) {
			if !path.IsAbs(f) {
				f = "/usr/bin/" + f
			}
			p.Printf("%s\n", f)
		}
	case a == "-i" || a == "--install":
		if needRoot(p) {
			p.Errorf("dpkg: error: requested operation requires superuser privilege\n")
			return 2
		}
	case a == "--get-selections":
		o.mu.Lock()
		defer o.mu.Unlock()
		for _, n := range slices.Sorted(maps.Keys(o.pkgs)) {
			p.Printf("%s\t\t%s\n", n, map[bool]string{true: "hold", false: "install"}[o.held[n]])
		}
	case a == "-W" || a == "--show" || strings.HasPrefix(a, "-f") || strings.HasPrefix(a, "--showformat"):
		return o.dpkgQuery(ctx, p)
	default:
		p.Errorf("dpkg: error: unknown option %s\n", a)
		return 2
	}
	return 0
}

func (o *OS) dpkgQuery(ctx context.Context, p *process.Proc) int {
	format, names := "${Package}\t${Version}\n", []string{}
	for i := 1; i < len(p.Args); i++ {
		switch a := p.Args[i]; {
		case a == "-W" || a == "--show":
		case a == "-f" || a == "--showformat":
			if i++; i < len(p.Args) {
				format = p.Args[i]
			}
		case strings.HasPrefix(a, "-f="):
			format = a[3:]
		case strings.HasPrefix(a, "-f"):
			format = a[2:]
		case strings.HasPrefix(a, "--showformat="):
			format = a[13:]
		case strings.HasPrefix(a, "-"):
			return o.runDpkg(ctx, p)
		default:
			names = append(names, a)
		}
	}
	status := 0
	for _, n := range names {
		v := o.Installed(n)
		if v == "" {
			status = p.Errorf("dpkg-query: no packages found matching %s\n", n)
			continue
		}
		p.Printf("%s", strings.NewReplacer("${Package}", n, "${binary:Package}", n, "${Version}", v, "${Status}", "install ok installed", "${db:Status-Status}", "installed",
			"${db:Status-Abbrev}", "ii ", "${Architecture}", "amd64", `\n`, "\n", `\t`, "\t").Replace(format))
	}
	return status
}

func (o *OS) aptKey(_ context.Context, p *process.Proc) int {
	if len(p.Args) > 1 && p.Args[1] == "add" {
		b, err := p.ReadFile(p.Args[len(p.Args)-1])
		if err != nil || len(b) == 0 {
			p.Errorf("gpg: no valid OpenPGP data found.\n")
			return 2
		}
		_ = o.root().WriteFile("/etc/apt/trusted.gpg.d/added.gpg", b, 0o644)
		p.Errorf("Warning: apt-key is deprecated. Manage keyring files in trusted.gpg.d instead (see apt-key(8)).\n")
		p.Printf("OK\n")
	}
	return 0
}

func (o *OS) addAptRepository(_ context.Context, p *process.Proc) int {
	if needRoot(p) {
		return p.Errorf("Error: must run as root\n")
	}
	line := p.Args[len(p.Args)-1]
	if strings.HasPrefix(line, "deb ") {
		name := fmt.Sprintf("/etc/apt/sources.list.d/archive_uri-%d.list", len(line))
		_ = o.root().WriteFile(name, []byte(line+"\n"), 0o644)
	}
	return 0
}
