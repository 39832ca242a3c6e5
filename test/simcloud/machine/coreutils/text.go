package coreutils

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

func cat(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "nbsAEtTvuei", "number=n", "show-all=A", "squeeze-blank=s")
	if !ok {
		return 1
	}
	out := p.Out()
	if !f.has("n") && !f.has("s") && !f.has("A") && !f.has("E") && !f.has("T") {
		return each(p, f.args, func(_ string, r io.Reader) error {
			_, err := io.Copy(out, struct{ io.Reader }{r})
			return err
		})
	}
	w, n, blank := output(p), 0, false
	st := each(p, f.args, func(_ string, r io.Reader) error {
		return lines(r, func(l string, ended bool) bool {
			if f.has("s") && l == "" && blank {
				return true
			}
			blank = l == ""
			if n++; f.has("n") {
				_, _ = fmt.Fprintf(w, "%6d\t", n)
			}
			if f.has("A") || f.has("T") {
				l = strings.ReplaceAll(l, "\t", "^I")
			}
			_, _ = w.WriteString(l)
			if f.has("A") || f.has("E") {
				_ = w.WriteByte('$')
			}
			if ended {
				_ = w.WriteByte('\n')
			}
			return true
		})
	})
	return flush(w, st)
}

// oldCount turns head -5 and tail -5 into -n 5.
func oldCount(p *process.Proc) {
	for i, a := range p.Args {
		if i > 0 && (p.Args[i-1] == "-n" || p.Args[i-1] == "-c") {
			continue
		}
		if i > 0 && len(a) > 1 && (a[0] == '-' || a[0] == '+' && p.Name() == "tail") && strings.Trim(a[1:], "0123456789") == "" {
			n := a[1:]
			if a[0] == '+' {
				n = a
			}
			p.Args = slices.Concat(p.Args[:i], []string{"-n" + n}, p.Args[i+1:])
			return
		}
	}
}

func head(_ context.Context, p *process.Proc) int {
	oldCount(p)
	f, ok := options(p, false, "n:c:qvz", "lines:=n", "bytes:=c", "quiet=q")
	if !ok {
		return 1
	}
	w := output(p)
	st := each(p, f.args, func(name string, r io.Reader) error {
		if len(f.args) > 1 && !f.has("q") {
			_, _ = fmt.Fprintf(w, "==> %s <==\n", name)
		}
		if f.has("c") {
			n, err := size(f.val("c"))
			if err != nil {
				return err
			}
			_, err = io.CopyN(w, r, n)
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		n := f.num("n", 10)
		if n < 0 {
			var all []string
			err := lines(r, func(l string, _ bool) bool { all = append(all, l); return true })
			for _, l := range all[:max(0, len(all)+n)] {
				_, _ = w.WriteString(l + "\n")
			}
			return err
		}
		if n == 0 {
			return nil
		}
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

// size parses 10, 4k, 1M.
func size(t string) (int64, error) {
	mult := int64(1)
	t = strings.TrimSuffix(strings.TrimSuffix(t, "B"), "i")
	if t != "" {
		switch t[len(t)-1] {
		case 'k', 'K':
			mult = 1 << 10
		case 'm', 'M':
			mult = 1 << 20
		case 'g', 'G':
			mult = 1 << 30
		case 'b':
			mult = 512
		}
		if mult > 1 {
			t = t[:len(t)-1]
		}
	}
	n, err := strconv.ParseInt(t, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("invalid number: ‘%s’", t)
	}
	return n * mult, nil
}

// followEvery is how often tail -f looks for more, in real time.
const followEvery = 20 * time.Millisecond

func tail(ctx context.Context, p *process.Proc) int {
	oldCount(p)
	f, ok := options(p, false, "n:c:fFqvs:z", "lines:=n", "bytes:=c", "follow?=f", "retry=F", "quiet=q", "pid:=pid", "sleep-interval:=s")
	if !ok {
		return 1
	}
	out := p.Out()
	st := each(p, f.args, func(name string, r io.Reader) error {
		if len(f.args) > 1 && !f.has("q") {
			_, _ = fmt.Fprintf(out, "==> %s <==\n", name)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if _, err := out.Write(ending(data, f)); err != nil {
			return err
		}
		return nil
	})
	if st != 0 || !f.has("f") && !f.has("F") || len(f.args) != 1 {
		return st
	}
	return follow(ctx, p, f, out)
}

// ending is the part of data that tail prints.
func ending(data []byte, f *flags) []byte {
	if c := f.val("c"); c != "" {
		n, err := size(strings.TrimPrefix(c, "+"))
		if err != nil {
			return nil
		}
		total := int64(len(data))
		if c[0] == '+' {
			return data[min(max(n-1, 0), total):]
		}
		return data[max(total-max(n, -n), 0):]
	}
	count := "10"
	if f.has("n") {
		count = f.val("n")
	}
	n, _ := strconv.Atoi(strings.TrimLeft(count, "+-"))
	all := strings.SplitAfter(string(data), "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	if strings.HasPrefix(count, "+") {
		return []byte(strings.Join(all[min(max(n-1, 0), len(all)):], ""))
	}
	return []byte(strings.Join(all[max(len(all)-n, 0):], ""))
}

func follow(ctx context.Context, p *process.Proc, f *flags, out io.Writer) int {
	name := f.args[0]
	off := int64(-1)
	pid := f.num("pid", 0)
	for {
		alive := pid == 0
		for _, q := range p.Sys.Procs() {
			alive = alive || q.PID == pid
		}
		if fd, err := p.Open(name, os.O_RDONLY, 0); err == nil {
			if file := fd.File(); file != nil {
				end := file.Stat().Size()
				if off < 0 || end < off {
					off = end
				}
				if end > off {
					b := make([]byte, end-off)
					n, _ := file.ReadAt(b, off)
					off += int64(n)
					if _, err := out.Write(b[:n]); err != nil {
						fd.Close()
						return 1
					}
				}
			}
			fd.Close()
		}
		if !alive {
			return 0
		}
		select {
		case <-ctx.Done():
			return 1
		case <-time.After(followEvery):
		}
	}
}

func wc(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "lwcmL", "lines=l", "words=w", "bytes=c", "chars=m")
	if !ok {
		return 1
	}
	kinds := "lwc"
	if len(f.on) > 0 {
		kinds = f.given("lwmcL")
	}
	var total [5]int
	w := output(p)
	width := countWidth(p, f.args)
	show := func(c [5]int, name string) {
		var cols []string
		for _, k := range kinds {
			cols = append(cols, strconv.Itoa(c[strings.IndexRune("lwmcL", k)]))
		}
		line := ""
		for _, c := range cols {
			if line != "" {
				line += " "
			}
			if len(kinds) > 1 {
				line += fmt.Sprintf("%*s", width, c)
			} else {
				line += c
			}
		}
		if name != "" && name != "-" {
			line += " " + name
		}
		_, _ = w.WriteString(line + "\n")
	}
	st := each(p, f.args, func(name string, r io.Reader) error {
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		t := string(data)
		c := [5]int{strings.Count(t, "\n"), len(strings.Fields(t)), utf8.RuneCount(data), len(data), 0}
		for l := range strings.Lines(t) {
			c[4] = max(c[4], utf8.RuneCountInString(strings.TrimSuffix(l, "\n")))
		}
		for i := range c {
			total[i] += c[i]
		}
		if len(f.args) == 0 {
			name = ""
		}
		show(c, name)
		return nil
	})
	if len(f.args) > 1 {
		show(total, "total")
	}
	return flush(w, st)
}

// countWidth is how wide wc makes its columns: as the sizes of the files need, 7 if there is anything but files.
func countWidth(p *process.Proc, names []string) int {
	total := int64(0)
	for _, n := range names {
		i, err := p.FS().Stat(p.Abs(n))
		if err != nil || !i.Mode().IsRegular() {
			return 7
		}
		total += i.Size()
	}
	if len(names) == 0 {
		return 7
	}
	return len(strconv.FormatInt(total, 10))
}

func uniq(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "cduif:s:w:", "count=c", "repeated=d", "unique=u", "ignore-case=i")
	if !ok {
		return 1
	}
	in, st := slurp(p, f.args[:min(1, len(f.args))])
	w := output(p)
	key := func(l string) string {
		if n := f.num("f", 0); n > 0 {
			l = strings.Join(strings.Fields(l)[min(n, len(strings.Fields(l))):], " ")
		}
		l = l[min(f.num("s", 0), len(l)):]
		if n := f.num("w", -1); n >= 0 {
			l = l[:min(n, len(l))]
		}
		if f.has("i") {
			l = strings.ToLower(l)
		}
		return l
	}
	for i := 0; i < len(in); {
		j := i + 1
		for j < len(in) && key(in[j]) == key(in[i]) {
			j++
		}
		n := j - i
		if (!f.has("d") || n > 1) && (!f.has("u") || n == 1) {
			if f.has("c") {
				_, _ = fmt.Fprintf(w, "%7d ", n)
			}
			_, _ = w.WriteString(in[i] + "\n")
		}
		i = j
	}
	return flush(w, st)
}

func tee(ctx context.Context, p *process.Proc) int {
	f, ok := options(p, false, "aip", "append=a", "ignore-interrupts=i")
	if !ok {
		return 1
	}
	outs, status := []io.Writer{p.Out()}, 0
	flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if f.has("a") {
		flag = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	for _, n := range f.args {
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
