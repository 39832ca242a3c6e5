package ubuntu

import (
	"bufio"
	"context"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// aptCall is a parsed command line of apt-get or apt.
type aptCall struct {
	verb   string
	names  []string
	flags  map[string]bool
	config map[string]string
}

func parseApt(args []string) aptCall {
	c := aptCall{flags: map[string]bool{}, config: map[string]string{}}
	set := func(kv string) {
		k, v, _ := strings.Cut(kv, "=")
		c.config[strings.ToLower(k)] = v
	}
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-o" || a == "-t" || a == "-c":
			if i++; i < len(args) && a == "-o" {
				set(args[i])
			}
		case strings.HasPrefix(a, "-o"):
			set(a[2:])
		case strings.HasPrefix(a, "--"):
			c.flags[strings.TrimPrefix(a, "--")] = true
		case strings.HasPrefix(a, "-"):
			for _, f := range a[1:] {
				c.flags[string(f)] = true
			}
		case c.verb == "":
			c.verb = a
		default:
			c.names = append(c.names, a)
		}
	}
	c.flags["y"] = c.flags["y"] || c.flags["yes"] || c.flags["assume-yes"]
	return c
}

// lockDpkg takes the lock of the package system, waiting as DPkg::Lock::Timeout says.
func (o *OS) lockDpkg(ctx context.Context, p *process.Proc, c aptCall) bool {
	if needRoot(p) {
		p.Errorf("E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)\nE: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), are you root?\n")
		return false
	}
	select {
	case o.dpkg <- struct{}{}:
		return true
	default:
	}
	if n, err := strconv.Atoi(c.config["dpkg::lock::timeout"]); err == nil && n != 0 {
		if n < 0 {
			n = 3600
		}
		wait, cancel := o.Sys.Clock.WithTimeout(ctx, time.Duration(n)*time.Second)
		defer cancel()
		select {
		case o.dpkg <- struct{}{}:
			return true
		case <-wait.Done():
		}
	}
	p.Errorf("E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1234 (apt-get)\nN: Be aware that removing the lock file is not a solution and may break your system.\n" +
		"E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?\n")
	return false
}

func (o *OS) unlockDpkg() { <-o.dpkg }

func (o *OS) aptGet(ctx context.Context, p *process.Proc) int {
	c := parseApt(p.Args[1:])
	switch c.verb {
	case "update", "install", "upgrade", "dist-upgrade", "full-upgrade", "remove", "purge", "autoremove", "clean", "autoclean", "reinstall":
		if !o.lockDpkg(ctx, p, c) {
			return 100
		}
		defer o.unlockDpkg()
	}
	switch c.verb {
	case "update":
		return o.aptUpdate(p)
	case "install", "reinstall":
		return o.aptInstall(ctx, p, c)
	case "remove", "purge", "autoremove":
		return o.aptRemove(ctx, p, c)
	case "upgrade", "dist-upgrade", "full-upgrade", "clean", "autoclean", "check":
		p.Printf("Reading package lists...\nBuilding dependency tree...\nReading state information...\n0 upgraded, 0 newly installed, 0 to remove and 0 not upgraded.\n")
		return 0
	case "list":
		return o.aptList(p, c)
	case "policy", "show", "madison", "search":
		p.Args = append([]string{"apt-cache", c.verb}, c.names...)
		return o.aptCache(ctx, p)
	case "download":
		return 0
	case "":
		p.Printf("apt 2.4.12 (amd64)\n")
		return 0
	}
	p.Errorf("E: Invalid operation %s\n", c.verb)
	return 100
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
			p.Printf("Err:%d %s %s InRelease\n  The following signatures couldn't be verified because the public key is not available: NO_PUBKEY 234654DA9A296436\n", i+1, s.url, s.suite)
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
	var todo []candidate
	add := func(cd candidate, asked bool) {
		if slices.ContainsFunc(todo, func(t candidate) bool { return t.pkg.name == cd.pkg.name }) {
			return
		}
		if have := o.Installed(cd.pkg.name); have == cd.version || !asked && have != "" {
			if asked {
				p.Printf("%s is already the newest version (%s).\n", cd.pkg.name, have)
				if c.flags["reinstall"] {
					todo = append(todo, cd)
				}
			}
			return
		}
		todo = append(todo, cd)
	}
	bad := false
	for _, n := range c.names {
		if strings.HasSuffix(n, ".deb") {
			continue
		}
		cd, ok := o.choose(p, strings.TrimSuffix(n, "+"))
		if !ok {
			bad = true
			continue
		}
		o.mu.Lock()
		held := o.held[cd.pkg.name] && o.pkgs[cd.pkg.name] != "" && o.pkgs[cd.pkg.name] != cd.version
		pinned := strings.Contains(n, "=")
		o.mu.Unlock()
		if held && !pinned && !c.flags["allow-change-held-packages"] {
			p.Printf("%s is already the newest version (%s).\n", cd.pkg.name, o.Installed(cd.pkg.name))
			continue
		}
		if held && !c.flags["allow-change-held-packages"] {
			p.Errorf("E: Held packages were changed and -y was used without --allow-change-held-packages.\n")
			return 100
		}
		if have := o.Installed(cd.pkg.name); have != "" && compareVersions(have, cd.version) > 0 && pinned && !c.flags["allow-downgrades"] && c.flags["y"] {
			p.Errorf("E: Packages were downgraded and -y was used without --allow-downgrades.\n")
			return 100
		}
		add(cd, true)
		for _, d := range cd.pkg.depends {
			if dc := o.candidates(d); len(dc) > 0 {
				add(dc[0], false)
			}
		}
	}
	if bad {
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
	if len(todo) > len(c.names) && !c.flags["y"] && !c.flags["qq"] {
		p.Printf("Do you want to continue? [Y/n] ")
		answer, _ := bufio.NewReader(io.LimitReader(p.In(), 100)).ReadString('\n')
		if a := strings.ToLower(strings.TrimSpace(answer)); answer == "" || a != "" && a != "y" && a != "yes" {
			p.Printf("Abort.\n")
			return 1
		}
	}
	if c.flags["s"] || c.flags["simulate"] || c.flags["download-only"] || c.flags["d"] {
		return 0
	}
	if slices.Contains(names, "kubeadm") && !o.delay(ctx, "prepare") {
		return 1
	}
	for _, cd := range todo {
		p.Printf("Selecting previously unselected package %s.\nUnpacking %s (%s) ...\n", cd.pkg.name, cd.pkg.name, cd.version)
		o.unpack(cd)
	}
	for _, cd := range todo {
		p.Printf("Setting up %s (%s) ...\n", cd.pkg.name, cd.version)
		for u := range cd.pkg.units {
			if cd.pkg.start {
				o.enable(u)
				p.Printf("Created symlink %s → /lib/systemd/system/%s.service.\n", wants(u), u)
				if err := o.StartUnit(ctx, u); err != nil && ctx.Err() == nil {
					p.Errorf("Job for %s.service failed because the control process exited with error code.\n", u)
				}
			}
		}
	}
	return 0
}

func (o *OS) aptRemove(ctx context.Context, p *process.Proc, c aptCall) int {
	p.Printf("Reading package lists...\nBuilding dependency tree...\nReading state information...\n")
	for _, n := range c.names {
		if o.Installed(n) == "" {
			p.Printf("Package '%s' is not installed, so not removed\n", n)
			continue
		}
		for _, cd := range append(o.candidates(n), candidate{}) {
			for u := range cd.pkg.units {
				_ = o.StopUnit(ctx, u)
				_ = o.root().Remove(wants(u))
				_ = o.root().Remove("/usr/lib/systemd/system/" + u + ".service")
			}
			for _, f := range cd.pkg.files {
				if !path.IsAbs(f) {
					f = "/usr/bin/" + f
				}
				_ = o.root().Remove(f)
			}
			if c.verb == "purge" || c.flags["purge"] {
				for f := range cd.pkg.conf {
					_ = o.root().Remove(f)
				}
			}
			break
		}
		p.Printf("Removing %s (%s) ...\n", n, o.Installed(n))
		o.mu.Lock()
		delete(o.pkgs, n)
		delete(o.held, n)
		o.mu.Unlock()
	}
	return 0
}

func (o *OS) aptList(p *process.Proc, c aptCall) int {
	p.Printf("Listing...\n")
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, n := range slices.Sorted(maps.Keys(o.pkgs)) {
		if len(c.names) > 0 && !slices.ContainsFunc(c.names, func(pat string) bool { ok, _ := path.Match(pat, n); return ok }) {
			continue
		}
		p.Printf("%s/jammy,now %s amd64 [installed]\n", n, o.pkgs[n])
	}
	return 0
}

func (o *OS) aptCache(_ context.Context, p *process.Proc) int {
	c := parseApt(p.Args[1:])
	switch c.verb {
	case "madison":
		status := 0
		for _, n := range c.names {
			cands := o.candidates(n)
			if len(cands) == 0 {
				p.Errorf("N: Unable to locate package %s\n", n)
			}
			for _, cd := range cands {
				p.Printf("%10s | %s | %s %s Packages\n", n, cd.version, cd.src.url, cd.src.suite)
			}
		}
		return status
	case "policy":
		for _, n := range c.names {
			cands := o.candidates(n)
			have := o.Installed(n)
			if have == "" {
				have = "(none)"
			}
			cand := "(none)"
			if len(cands) > 0 {
				cand = cands[0].version
			} else if have == "(none)" {
				p.Errorf("N: Unable to locate package %s\n", n)
				continue
			}
			p.Printf("%s:\n  Installed: %s\n  Candidate: %s\n  Version table:\n", n, have, cand)
			for _, cd := range cands {
				p.Printf("     %s 500\n        500 %s %s Packages\n", cd.version, cd.src.url, cd.src.suite)
			}
		}
		return 0
	case "show", "search":
		for _, n := range c.names {
			cands := o.candidates(n)
			if len(cands) == 0 {
				p.Errorf("N: Unable to locate package %s\nE: No packages found\n", n)
				return 100
			}
			p.Printf("Package: %s\nVersion: %s\nDepends: %s\n\n", n, cands[0].version, strings.Join(cands[0].pkg.depends, ", "))
		}
		return 0
	}
	p.Errorf("E: Invalid operation %s\n", c.verb)
	return 100
}
