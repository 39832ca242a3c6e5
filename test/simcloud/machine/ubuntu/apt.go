package ubuntu

import (
	"context"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// aptCall is a parsed command line of apt-get.
type aptCall struct {
	*process.Flags
	verb    string
	names   []string
	timeout int // seconds to wait for the lock
}

func parseApt(p *process.Proc) (c aptCall, ok bool) {
	f, ok := p.Options(false, "qyo:", "yes=y", "allow-change-held-packages=held", "no-install-recommends=nr")
	if !ok || len(f.Args) == 0 {
		return c, false
	}
	c = aptCall{Flags: f, verb: f.Args[0], names: f.Args[1:]}
	for _, o := range f.Vals["o"] {
		if v, ok := strings.CutPrefix(o, "DPkg::Lock::Timeout="); ok {
			c.timeout, _ = strconv.Atoi(v)
		}
	}
	return c, true
}

// lockDpkg takes the lock of the package system, waiting as DPkg::Lock::Timeout says.
func (o *OS) lockDpkg(ctx context.Context, p *process.Proc, timeout int) bool {
	if needRoot(p) {
		p.Errorf(
			"E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)\n" +
				"E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), are you root?\n",
		)
		return false
	}
	select {
	case o.dpkg <- struct{}{}:
		return true
	default:
	}
	if timeout > 0 {
		wait, cancel := o.Sys.Clock.WithTimeout(ctx, time.Duration(timeout)*time.Second)
		defer cancel()
		select {
		case o.dpkg <- struct{}{}:
			return true
		case <-wait.Done():
		}
	}
	p.Errorf("E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1234 (apt-get)\n" +
		"N: Be aware that removing the lock file is not a solution and may break your system.\n" +
		"E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?\n")
	return false
}

func (o *OS) unlockDpkg() { <-o.dpkg }

func (o *OS) aptGet(ctx context.Context, p *process.Proc) int {
	c, ok := parseApt(p)
	if !ok || c.verb != "update" && c.verb != "install" {
		p.Errorf("E: update and install are simulated\n")
		return 100
	}
	if !o.lockDpkg(ctx, p, c.timeout) {
		return 100
	}
	defer o.unlockDpkg()
	if c.verb == "update" {
		return o.aptUpdate(p)
	}
	return o.aptInstall(ctx, p, c)
}

func (o *OS) aptUpdate(p *process.Proc) int {
	status, warned := 0, false
	fresh := map[string]bool{}
	for i, s := range o.sources() {
		pkgs, known := s.archive()
		host, _ := hostPath(s.url)
		switch {
		case !known:
			p.Printf("Err:%d %s %s InRelease\n  Could not resolve '%s'\n", i+1, s.url, s.suite, host)
			p.Errorf("W: Failed to fetch %s/dists/%s/InRelease  Could not resolve '%s'\n", s.url, s.suite, host)
			warned = true
		case pkgs == nil:
			p.Printf("Err:%d %s %s Release\n  404  Not Found\n", i+1, s.url, s.suite)
			p.Errorf("E: The repository '%s %s Release' does not have a Release file.\n", s.url, s.suite)
			status = 100
		case !o.signed(s):
			p.Printf(
				"Err:%d %s %s InRelease\n  The following signatures couldn't be verified because the public key is "+
					"not available: NO_PUBKEY 234654DA9A296436\n",
				i+1, s.url, s.suite,
			)
			p.Errorf("E: The repository '%s %s InRelease' is not signed.\n", s.url, s.suite)
			status = 100
		default:
			p.Printf("Get:%d %s %s InRelease [1,186 B]\n", i+1, s.url, s.suite)
			fresh[s.url+" "+s.suite] = true
		}
	}
	o.mu.Lock()
	maps.Copy(o.lists, fresh)
	o.mu.Unlock()
	p.Printf("Reading package lists...\n")
	if warned {
		p.Errorf("W: Some index files failed to download. They have been ignored, or old ones used instead.\n")
	}
	return status
}

// signed reports whether the key that signs a source is known to apt. Which key it is, is not looked at.
func (o *OS) signed(s source) bool {
	host, _ := hostPath(s.url)
	if s.trusted || strings.HasSuffix(host, "ubuntu.com") {
		return true
	}
	v := o.root()
	if s.signedBy != "" {
		b, err := v.ReadFile(s.signedBy)
		// An armored key must have the name .asc, a binary one must not be armored.
		armored := strings.HasPrefix(string(b), "-----BEGIN PGP")
		return err == nil && len(b) > 0 && armored == strings.HasSuffix(s.signedBy, ".asc")
	}
	l, _ := v.ReadDir("/etc/apt/trusted.gpg.d")
	return len(l) > 0
}

// choose finds the candidate that name, name=version or name=1.2.* means.
func (o *OS) choose(p *process.Proc, spec string) (candidate, bool) {
	name, want, pinned := strings.Cut(spec, "=")
	cands := o.candidates(name)
	if len(cands) == 0 {
		if v := o.Installed(name); v != "" {
			return candidate{pkg{name: name}, v, source{}}, true
		}
		p.Errorf("E: Unable to locate package %s\n", name)
		return candidate{}, false
	}
	if !pinned {
		return cands[0], true
	}
	for _, c := range cands {
		if ok, _ := path.Match(want, c.version); ok || c.version == want {
			return c, true
		}
	}
	p.Errorf("E: Version '%s' for '%s' was not found\n", want, name)
	return candidate{}, false
}

func (o *OS) aptInstall(ctx context.Context, p *process.Proc, c aptCall) int {
	p.Printf("Reading package lists...\nBuilding dependency tree...\nReading state information...\n")
	todo, ok := o.toInstall(p, c)
	if !ok {
		return 100
	}
	var names []string
	for _, cd := range todo {
		names = append(names, cd.pkg.name)
	}
	if len(todo) > 0 {
		p.Printf("The following NEW packages will be installed:\n  %s\n", strings.Join(names, " "))
	}
	p.Printf("0 upgraded, %d newly installed, 0 to remove and 0 not upgraded.\n", len(todo))
	if len(todo) > len(c.names) && !c.Has("y") {
		p.Errorf("Do you want to continue? [Y/n] Abort.\n")
		return 1
	}
	if slices.Contains(names, "kubeadm") && !o.delay(ctx, "prepare") {
		return 1
	}
	for _, cd := range todo {
		p.Printf("Selecting previously unselected package %s.\nUnpacking %s (%s) ...\n", cd.pkg.name, cd.pkg.name,
			cd.version)
		o.unpack(cd)
	}
	for _, cd := range todo {
		p.Printf("Setting up %s (%s) ...\n", cd.pkg.name, cd.version)
		o.startUnits(ctx, p, cd)
	}
	return 0
}

// toInstall are the packages that are asked for, and what they depend on, as far as they are missing.
func (o *OS) toInstall(p *process.Proc, c aptCall) (todo []candidate, ok bool) {
	add := func(cd candidate, asked bool) {
		have := o.Installed(cd.pkg.name)
		if have == "" || asked && have != cd.version {
			if !slices.ContainsFunc(todo, func(t candidate) bool { return t.pkg.name == cd.pkg.name }) {
				todo = append(todo, cd)
			}
		} else if asked {
			p.Printf("%s is already the newest version (%s).\n", cd.pkg.name, have)
		}
	}
	ok = true
	for _, n := range c.names {
		cd, found := o.choose(p, n)
		if !found {
			ok = false
			continue
		}
		o.mu.Lock()
		held := o.held[cd.pkg.name] && o.pkgs[cd.pkg.name] != "" && o.pkgs[cd.pkg.name] != cd.version
		o.mu.Unlock()
		if held && !c.Has("held") {
			p.Errorf("E: Held packages were changed and -y was used without --allow-change-held-packages.\n")
			return nil, false
		}
		if have := o.Installed(cd.pkg.name); have != "" && compareVersions(have, cd.version) > 0 {
			p.Errorf("E: Packages were downgraded and -y was used without --allow-downgrades.\n")
			return nil, false
		}
		add(cd, true)
		for _, d := range cd.pkg.depends {
			if dc := o.candidates(d); len(dc) > 0 {
				add(dc[0], false)
			}
		}
	}
	return todo, ok
}

// startUnits enables and starts the services that a package brings.
func (o *OS) startUnits(ctx context.Context, p *process.Proc, cd candidate) {
	for u := range cd.pkg.units {
		if !cd.pkg.start {
			continue
		}
		o.enable(u)
		p.Printf("Created symlink %s → /lib/systemd/system/%s.service.\n", wants(u), u)
		if err := o.StartUnit(ctx, u); err != nil && ctx.Err() == nil {
			p.Errorf("Job for %s.service failed because the control process exited with error code.\n", u)
		}
	}
}

func (o *OS) aptCache(_ context.Context, p *process.Proc) int {
	if len(p.Args) != 3 || p.Args[1] != "madison" {
		p.Errorf("E: madison PACKAGE is simulated\n")
		return 100
	}
	cands := o.candidates(p.Args[2])
	if len(cands) == 0 {
		p.Errorf("N: Unable to locate package %s\n", p.Args[2])
	}
	for _, cd := range cands {
		p.Printf("%10s | %s | %s %s Packages\n", p.Args[2], cd.version, cd.src.url, cd.src.suite)
	}
	return 0
}
