package coreutils

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

func du(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "shkmbacxd:", "summarize=s", "human-readable=h", "bytes=b", "apparent-size=A", "max-depth:=d")
	if !ok {
		return 1
	}
	names := f.args
	if len(names) == 0 {
		names = []string{"."}
	}
	status := 0
	for _, n := range names {
		total := int64(0)
		status = max(status, tree(p, n, true, func(_ string, i memfs.Info) error { total += i.Size(); return nil }))
		switch {
		case f.has("b"):
			p.Printf("%d\t%s\n", total, n)
		case f.has("h"):
			p.Printf("%s\t%s\n", human(total), n)
		case f.has("m"):
			p.Printf("%d\t%s\n", (total+1<<20-1)>>20, n)
		default:
			p.Printf("%d\t%s\n", (total+1023)>>10, n)
		}
	}
	return status
}

func df(_ context.Context, p *process.Proc) int {
	if _, ok := options(p, false, "hkmTPit:x:a", "human-readable=h", "output?=o", "type:=t", "portability=P"); !ok {
		return 1
	}
	p.Printf("Filesystem     1K-blocks    Used Available Use%% Mounted on\n/dev/vda1       20145724 2097152  18032188  11%% /\n")
	if b, err := p.Sys.FS.As(memfs.Root).ReadFile("/proc/mounts"); err == nil {
		for l := range strings.Lines(string(b)) {
			if c := strings.Fields(l); len(c) > 2 && strings.HasPrefix(c[0], "/dev/vd") && c[1] != "/" {
				p.Printf("%-14s %9d %7d %9d %3d%% %s\n", c[0], 1048576, 24, 1048552, 1, c[1])
			}
		}
	}
	return 0
}

func dd(_ context.Context, p *process.Proc) int {
	opt := map[string]string{}
	for _, a := range p.Args[1:] {
		k, v, _ := strings.Cut(a, "=")
		opt[k] = v
	}
	bs := int64(512)
	if v := opt["bs"]; v != "" {
		n, err := size(v)
		if err != nil {
			return p.Errorf("dd: %v\n", err)
		}
		bs = n
	}
	src := "-"
	if opt["if"] != "" {
		src = opt["if"]
	}
	r, done, err := open(p, src)
	if err != nil {
		return p.Errorf("dd: failed to open '%s': %s\n", src, process.Reason(err))
	}
	defer done()
	limit := int64(1) << 40
	if v := opt["count"]; v != "" {
		n, err := size(v)
		if err != nil {
			return p.Errorf("dd: %v\n", err)
		}
		limit = n * bs
	}
	w := p.Out()
	if o := opt["of"]; o != "" {
		fd, err := p.Open(o, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
		if err != nil {
			return p.Errorf("dd: failed to open '%s': %s\n", o, process.Reason(err))
		}
		defer fd.Close()
		w = fd.Writer(p.Context())
	}
	buf, total := make([]byte, 32<<10), int64(0)
	for total < limit {
		n, err := r.Read(buf[:min(int64(len(buf)), limit-total)])
		total += int64(n)
		if _, werr := w.Write(buf[:n]); werr != nil {
			return p.Errorf("dd: error writing: %s\n", process.Reason(werr))
		}
		if err != nil {
			break
		}
	}
	if opt["status"] != "none" {
		p.Errorf("%d+0 records in\n%d+0 records out\n%d bytes copied, 0 s, 0 B/s\n", total/max(bs, 1), total/max(bs, 1), total)
	}
	return 0
}

func cmpFiles(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "slbn:", "silent=s", "quiet=s")
	if !ok || len(f.args) < 1 {
		return 2
	}
	if len(f.args) == 1 {
		f.args = append(f.args, "-")
	}
	var data [2][]byte
	for i := range 2 {
		b, err := readAll(p, f.args[i])
		if err != nil {
			if !f.has("s") {
				fail(p, f.args[i], err)
			}
			return 2
		}
		data[i] = b
	}
	if bytes.Equal(data[0], data[1]) {
		return 0
	}
	if !f.has("s") {
		n, line := 0, 1
		for n < min(len(data[0]), len(data[1])) && data[0][n] == data[1][n] {
			if data[0][n] == '\n' {
				line++
			}
			n++
		}
		if n == min(len(data[0]), len(data[1])) {
			short := f.args[b2i(len(data[1]) < len(data[0]))]
			p.Errorf("cmp: EOF on %s after byte %d\n", short, n)
		} else {
			p.Printf("%s %s differ: byte %d, line %d\n", f.args[0], f.args[1], n+1, line)
		}
	}
	return 1
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func diff(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "qubwBrNsU:", "brief=q", "unified?=u", "ignore-all-space=w", "recursive=r", "new-file=N")
	if !ok || len(f.args) != 2 {
		return 2
	}
	var in [2][]string
	for i := range 2 {
		b, err := readAll(p, f.args[i])
		if err != nil {
			if f.has("N") {
				continue
			}
			fail(p, f.args[i], err)
			return 2
		}
		in[i] = strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	}
	if slices.Equal(in[0], in[1]) {
		return 0
	}
	if f.has("q") {
		p.Printf("Files %s and %s differ\n", f.args[0], f.args[1])
		return 1
	}
	// Only the changed middle is shown: good for reading, not for patch(1).
	a, b := in[0], in[1]
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	if f.has("u") {
		p.Printf("--- %s\n+++ %s\n@@ -%d,%d +%d,%d @@\n", f.args[0], f.args[1], start+1, len(a)-start-end, start+1, len(b)-start-end)
	} else {
		p.Printf("%d,%dc%d,%d\n", start+1, len(a)-end, start+1, len(b)-end)
	}
	del, add, sep := "< ", "> ", "---\n"
	if f.has("u") {
		del, add, sep = "-", "+", ""
	}
	for _, l := range a[start : len(a)-end] {
		p.Printf("%s%s\n", del, l)
	}
	p.Printf("%s", sep)
	for _, l := range b[start : len(b)-end] {
		p.Printf("%s%s\n", add, l)
	}
	return 1
}

func file(_ context.Context, p *process.Proc) int {
	for _, n := range p.Args[1:] {
		b, err := p.ReadFile(n)
		what := "ASCII text"
		switch {
		case err != nil:
			what = "cannot open `" + n + "' (" + process.Reason(err) + ")"
		case bytes.HasPrefix(b, []byte("\x7fELF")):
			what = "ELF 64-bit LSB pie executable, x86-64"
		case len(b) == 0:
			what = "empty"
		}
		p.Printf("%s: %s\n", n, what)
	}
	return 0
}
