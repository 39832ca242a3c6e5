package ubuntu

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// gpg knows --dearmor and --import; keys are not looked into.
func gpg(_ context.Context, p *process.Proc) int {
	out, in, dearmor, yes := "", "-", false, false
	for i := 1; i < len(p.Args); i++ {
		switch a := p.Args[i]; {
		case a == "-o" || a == "--output":
			if i++; i < len(p.Args) {
				out = p.Args[i]
			}
		case strings.HasPrefix(a, "--output="):
			out = a[len("--output="):]
		case a == "--dearmor" || a == "--dearmour":
			dearmor = true
		case a == "--yes":
			yes = true
		case a == "--keyserver" || a == "--keyring" || a == "--recv-keys" || a == "--homedir":
			i++
		case strings.HasPrefix(a, "-"):
		default:
			in = a
		}
	}
	if !dearmor {
		if slices.Contains(p.Args, "--version") {
			p.Printf("gpg (GnuPG) 2.2.27\n")
		}
		return 0
	}
	b, err := p.ReadFile(in)
	if err != nil {
		p.Errorf("gpg: can't open '%s': %s\n", in, process.Reason(err))
		return 2
	}
	text := string(b)
	if !strings.Contains(text, "BEGIN PGP") {
		p.Errorf("gpg: no valid OpenPGP data found.\n")
		return 2
	}
	var data []byte
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "-----") {
			d, err := base64.StdEncoding.DecodeString(line)
			if err != nil {
				p.Errorf("gpg: invalid radix64 character\n")
				return 2
			}
			data = append(data, d...)
		}
	}
	if out == "" || out == "-" {
		_, _ = p.Out().Write(data)
		return 0
	}
	if _, err := p.FS().Stat(p.Abs(out)); err == nil && !yes {
		p.Errorf("gpg: dearmoring failed: File exists\n")
		return 2
	}
	if err := p.WriteFile(out, data, 0o644); err != nil {
		p.Errorf("gpg: can't create '%s': %s\n", out, process.Reason(err))
		return 2
	}
	return 0
}
