package coreutils

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/benhoyt/goawk/interp"
	"github.com/benhoyt/goawk/parser"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// awk runs GoAWK. Input files are read as one stream (FILENAME stays empty), output may go to files of the machine;
// commands and getline from files are refused.
func awk(ctx context.Context, p *process.Proc) int {
	f, ok := p.Options(true, "F:v:", "field-separator:=F", "assign:=v")
	if !ok {
		return 2
	}
	if len(f.Args) == 0 {
		p.Errorf("usage: awk [-F fs][-v var=value] prog [file ...]\n")
		return 2
	}
	out := &awkOutput{p: p, open: map[string]*process.FD{}}
	defer out.close()
	funcs := map[string]any{"__print": out.print}
	prog, err := parser.ParseProgram([]byte(redirectPrints(f.Args[0])), &parser.ParserConfig{Funcs: funcs})
	if err != nil {
		p.Errorf("awk: %v\n", err)
		return 2
	}
	stdin, files := p.In(), f.Args[1:]
	if len(files) > 0 {
		text, err := joinFiles(p, files)
		if err != nil {
			p.Errorf("awk: cannot open %v\n", err)
			return 2
		}
		stdin = bytes.NewReader(text)
	}
	w := output(p)
	conf := &interp.Config{
		Stdin: stdin, Output: w, Error: p.Err(), Argv0: "awk", Funcs: funcs, NoExec: true, NoFileReads: true,
		NoFileWrites: true, Environ: []string{},
	}
	escapes := strings.NewReplacer(`\t`, "\t", `\n`, "\n", `\\`, `\`)
	if f.Has("F") {
		conf.Vars = append(conf.Vars, "FS", escapes.Replace(f.Val("F")))
	}
	for _, v := range f.Vals["v"] {
		name, value, _ := strings.Cut(v, "=")
		conf.Vars = append(conf.Vars, name, escapes.Replace(value))
	}
	for name, value := range p.Env {
		conf.Environ = append(conf.Environ, name, value)
	}
	ip, err := interp.New(prog)
	if err != nil {
		p.Errorf("awk: %v\n", err)
		return 2
	}
	status, err := ip.ExecuteContext(ctx, conf)
	if err != nil && ctx.Err() == nil {
		p.Errorf("awk: %v\n", err)
		status = 2
	}
	return flush(w, status)
}

// joinFiles is the content of files, each with a newline at its end.
func joinFiles(p *process.Proc, names []string) ([]byte, error) {
	var out []byte
	for _, name := range names {
		b, err := readAll(p, name)
		if err != nil {
			return nil, fmt.Errorf("%s (%s)", name, process.Reason(err))
		}
		if len(b) > 0 && b[len(b)-1] != '\n' {
			b = append(b, '\n')
		}
		out = append(out, b...)
	}
	return out, nil
}

// redirection is print or printf with its arguments, > or >>, the file (a string or a variable), and the end of the
// statement.
var redirection = regexp.MustCompile(
	`\b(printf?)\b((?:[^;{}\n"<>]|"(?:[^"\\]|\\.)*")*)(>>?)\s*(\w+|"[^"]*")(\s*(?:[;}\n]|$))`)

// redirectPrints rewrites print … > file into a call of our own function: GoAWK would write to the real disk.
func redirectPrints(src string) string {
	return redirection.ReplaceAllStringFunc(src, func(statement string) string {
		m := redirection.FindStringSubmatch(statement)
		verb, args, mode, file, end := m[1], strings.TrimSpace(m[2]), m[3], m[4], m[5]
		switch {
		case verb == "printf":
			return fmt.Sprintf("__print(%q, %s, OFS, \"\", sprintf(%s))%s", mode, file, args, end)
		case args == "":
			args = "$0"
		}
		return fmt.Sprintf("__print(%q, %s, OFS, ORS, %s)%s", mode, file, args, end)
	})
}

// awkOutput is where print > file goes.
type awkOutput struct {
	p    *process.Proc
	open map[string]*process.FD
}

// print writes values to a file, which the first call opens.
func (o *awkOutput) print(mode, name, separator, end string, values ...string) (int, error) {
	fd := o.open[name]
	if fd == nil {
		flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
		if mode == ">>" {
			flag = os.O_WRONLY | os.O_CREATE | os.O_APPEND
		}
		var err error
		if fd, err = o.p.Open(name, flag, 0o666); err != nil {
			return 0, fmt.Errorf("cannot open \"%s\" for output: %s", name, process.Reason(err))
		}
		o.open[name] = fd
	}
	return io.WriteString(fd.Writer(o.p.Context()), strings.Join(values, separator)+end)
}

func (o *awkOutput) close() {
	for _, fd := range o.open {
		fd.Close()
	}
}
