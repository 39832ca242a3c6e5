package ubuntu

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// gpg knows --dearmor; keys are not looked into.
func gpg(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "o:", "output:=o", "dearmor=dearmor", "batch=batch", "yes=yes")
	if !ok || !f.Has("dearmor") {
		return 2
	}
	in := strings.Join(append(f.Args, "-")[:1], "")
	b, err := p.ReadFile(in)
	if err != nil {
		p.Errorf("gpg: can't open '%s': %s\n", in, process.Reason(err))
		return 2
	}
	if !strings.Contains(string(b), "BEGIN PGP") {
		p.Errorf("gpg: no valid OpenPGP data found.\n")
		return 2
	}
	var data []byte
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "-----") {
			d, err := base64.StdEncoding.DecodeString(line)
			if err != nil {
				p.Errorf("gpg: invalid radix64 character\n")
				return 2
			}
			data = append(data, d...)
		}
	}
	out := f.Val("o")
	if out == "" {
		_, _ = p.Out().Write(data)
		return 0
	}
	if _, err := p.FS().Stat(p.Abs(out)); err == nil && !f.Has("yes") {
		p.Errorf("gpg: dearmoring failed: File exists\n")
		return 2
	}
	if err := p.WriteFile(out, data, 0o644); err != nil {
		p.Errorf("gpg: can't create '%s': %s\n", out, process.Reason(err))
		return 2
	}
	return 0
}
