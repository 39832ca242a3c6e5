package coreutils

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

func cat(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "")
	if !ok {
		return 1
	}
	out := p.Out()
	return each(p, f.Args, func(_ string, r io.Reader) error {
		_, err := io.Copy(out, struct{ io.Reader }{r})
		return err
	})
}

// oldCount turns head -5 and tail -5 into -n 5.
func oldCount(p *process.Proc) {
	for i, a := range p.Args {
		if i > 0 && len(a) > 1 && a[0] == '-' && p.Args[i-1] != "-n" && p.Args[i-1] != "-c" &&
			strings.Trim(a[1:], "0123456789") == "" {
			p.Args = slices.Concat(p.Args[:i], []string{"-n" + a[1:]}, p.Args[i+1:])
			return
		}
	}
}

func head(_ context.Context, p *process.Proc) int {
	oldCount(p)
	f, ok := p.Options(false, "n:", "lines:=n")
	if !ok {
		return 1
	}
	w := output(p)
	st := each(p, f.Args, func(_ string, r io.Reader) error {
		n := f.Num("n", 10)
		return lines(r, func(l string, ended bool) bool {
			_, _ = w.WriteString(l)
			if ended {
				_ = w.WriteByte('\n')
			}
			n--
			return n > 0
		})
	})
	return flush(w, st)
}

func tail(_ context.Context, p *process.Proc) int {
	oldCount(p)
	f, ok := p.Options(false, "n:c:", "lines:=n", "bytes:=c")
	if !ok {
		return 1
	}
	return each(p, f.Args, func(_ string, r io.Reader) error {
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		_, err = p.Out().Write(ending(data, f))
		return err
	})
}

// ending is the part of data that tail prints.
func ending(data []byte, f *process.Flags) []byte {
	parts, count := bytes.SplitAfter(data, []byte("\n")), "10"
	if len(parts[len(parts)-1]) == 0 {
		parts = parts[:len(parts)-1]
	}
	if f.Has("n") {
		count = f.Val("n")
	}
	if f.Has("c") {
		parts, count = bytes.SplitAfter(data, nil), f.Val("c")
	}
	n, _ := strconv.Atoi(strings.TrimLeft(count, "+-"))
	if strings.HasPrefix(count, "+") {
		return bytes.Join(parts[min(max(n-1, 0), len(parts)):], nil)
	}
	return bytes.Join(parts[max(len(parts)-n, 0):], nil)
}

func wc(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "lc", "lines=l", "bytes=c")
	if !ok || len(f.Vals) != 1 {
		return p.Errorf("wc: one of -l and -c is simulated\n")
	}
	return each(p, f.Args, func(name string, r io.Reader) error {
		data, err := io.ReadAll(r)
		n := len(data)
		if f.Has("l") {
			n = bytes.Count(data, []byte("\n"))
		}
		p.Printf("%s\n", strings.TrimSpace(strconv.Itoa(n)+" "+strings.TrimPrefix(name, "-")))
		return err
	})
}

func tee(ctx context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "a", "append=a")
	if !ok {
		return 1
	}
	outs, status := []io.Writer{p.Out()}, 0
	flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if f.Has("a") {
		flag = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	for _, n := range f.Args {
		fd, err := p.Open(n, flag, 0o666)
		if err != nil {
			status = fail(p, n, err)
			continue
		}
		defer fd.Close()
		outs = append(outs, fd.Writer(ctx))
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := p.In().Read(buf)
		for _, o := range outs {
			if _, werr := o.Write(buf[:n]); werr != nil {
				status = 1
			}
		}
		if err != nil {
			return status
		}
	}
}

// ranges parses a list of cut: 1,3-5,7-.
func ranges(t string) (out [][2]int, ok bool) {
	for part := range strings.SplitSeq(t, ",") {
		a, b, dash := strings.Cut(part, "-")
		lo, err := strconv.Atoi(a)
		hi := lo
		if dash {
			hi = 1 << 30
			if b != "" && err == nil {
				hi, err = strconv.Atoi(b)
			}
		}
		if err != nil || lo < 1 {
			return nil, false
		}
		out = append(out, [2]int{lo, hi})
	}
	return out, true
}

func cut(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "d:f:c:", "delimiter:=d", "fields:=f", "characters:=c")
	if !ok {
		return 1
	}
	rs, good := ranges(f.Val("f") + f.Val("c"))
	if !good {
		return p.Errorf("cut: you must specify a list of bytes, characters, or fields\n")
	}
	delim := "\t"
	if f.Has("d") {
		delim = f.Val("d")
	}
	if f.Has("c") {
		delim = ""
	}
	w := output(p)
	st := each(p, f.Args, func(_ string, r io.Reader) error {
		return lines(r, func(l string, _ bool) bool {
			parts := strings.Split(l, delim)
			if len(parts) > 1 {
				i := 0
				parts = slices.DeleteFunc(parts, func(string) bool {
					i++
					return !slices.ContainsFunc(rs, func(r [2]int) bool { return i >= r[0] && i <= r[1] })
				})
			}
			_, _ = w.WriteString(strings.Join(parts, delim) + "\n")
			return true
		})
	})
	return flush(w, st)
}

// tr replaces or deletes characters; ranges, and \n, \r and \t among them.
func tr(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(true, "d", "delete=d")
	if !ok || len(f.Args) != 2-b2i(f.Has("d")) {
		return p.Errorf("tr: missing operand\n")
	}
	data, err := io.ReadAll(p.In())
	if err != nil {
		return 1
	}
	from, to := trSet(f.Args[0]), []rune(nil)
	if !f.Has("d") {
		to = trSet(f.Args[1])
	}
	out := strings.Map(func(r rune) rune {
		i := slices.Index(from, r)
		switch {
		case i < 0:
			return r
		case len(to) == 0:
			return -1
		}
		return to[min(i, len(to)-1)]
	}, string(data))
	_, _ = io.WriteString(p.Out(), out)
	return 0
}

func trSet(t string) (out []rune) {
	in := []rune(strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t").Replace(t))
	for i := 0; i < len(in); i++ {
		if i+2 < len(in) && in[i+1] == '-' {
			for r := in[i]; r <= in[i+2]; r++ {
				out = append(out, r)
			}
			i += 2
			continue
		}
		out = append(out, in[i])
	}
	return out
}

func seq(_ context.Context, p *process.Proc) int {
	first, last := 1, 0
	var err error
	switch a := p.Args[1:]; len(a) {
	case 1:
		last, err = strconv.Atoi(a[0])
	case 2:
		if first, err = strconv.Atoi(a[0]); err == nil {
			last, err = strconv.Atoi(a[1])
		}
	default:
		return p.Errorf("seq: one or two numbers are simulated\n")
	}
	if err != nil {
		return p.Errorf("seq: %v\n", err)
	}
	w := output(p)
	for i := first; i <= last; i++ {
		_, _ = w.WriteString(strconv.Itoa(i) + "\n")
	}
	return flush(w, 0)
}

func sha256sum(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "")
	if !ok {
		return 1
	}
	return each(p, f.Args, func(name string, r io.Reader) error {
		h := sha256.New()
		_, err := io.Copy(h, r)
		if err == nil {
			p.Printf("%s  %s\n", process.Published(hex.EncodeToString(h.Sum(nil))), name)
		}
		return err
	})
}

func base64Text(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "dw:", "decode=d", "wrap:=w")
	if !ok {
		return 1
	}
	return each(p, f.Args, func(_ string, r io.Reader) error {
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if f.Has("d") {
			out, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(string(data), "\n", ""))
			_, _ = p.Out().Write(out)
			return err
		}
		text, n := base64.StdEncoding.EncodeToString(data), f.Num("w", 76)
		if n == 0 {
			p.Printf("%s", text)
		}
		for n > 0 && text != "" {
			k := min(n, len(text))
			p.Printf("%s\n", text[:k])
			text = text[k:]
		}
		return nil
	})
}
