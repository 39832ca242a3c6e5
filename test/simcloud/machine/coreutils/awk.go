package coreutils

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/benhoyt/goawk/interp"
	"github.com/benhoyt/goawk/lexer"
	"github.com/benhoyt/goawk/parser"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// awk runs GoAWK. Input files are read as one stream (FILENAME stays empty), output may go to files of the machine;
// commands and getline from files are refused.
func awk(ctx context.Context, p *process.Proc) int {
	f, ok := p.Options(true, "F:v:f:W:", "field-separator:=F", "assign:=v", "file:=f", "version=version", "posix=posix")
	if !ok {
		return 2
	}
	if f.Has("version") {
		p.Printf("mawk 1.3.4 20200120\n")
		return 0
	}
	var files strings.Builder
	for _, n := range f.Vals["f"] {
		b, err := readAll(p, n)
		if err != nil {
			p.Errorf("awk: cannot open %s (%s)\n", n, process.Reason(err))
			return 2
		}
		files.Write(append(b, '\n'))
	}
	src := files.String()
	if !f.Has("f") {
		if len(f.Args) == 0 {
			p.Errorf("usage: awk [-F fs][-v var=value][prog | -f progfile][file ...]\n")
			return 2
		}
		src, f.Args = f.Args[0], f.Args[1:]
	}
	out := &awkOutput{p: p, open: map[string]*process.FD{}}
	defer out.close()
	funcs := map[string]any{"__write": out.write}
	prog, err := parser.ParseProgram([]byte(redirectPrints(src)), &parser.ParserConfig{Funcs: funcs})
	if err != nil {
		p.Errorf("awk: %v\n", err)
		return 2
	}
	vars := []string{}
	if f.Has("F") {
		fs := f.Val("F")
		if fs == "t" {
			fs = "\t"
		}
		vars = append(vars, "FS", unescapeFS(fs))
	}
	for _, v := range f.Vals["v"] {
		name, value, _ := strings.Cut(v, "=")
		vars = append(vars, name, unescapeFS(value))
	}
	var in []io.Reader
	var dones []func()
	status := 0
	for _, n := range f.Args {
		if name, value, ok := strings.Cut(n, "="); ok && !strings.Contains(name, "/") && len(in) == 0 {
			vars = append(vars, name, value)
			continue
		}
		r, done, err := open(p, n)
		if err != nil {
			p.Errorf("awk: cannot open %s (%s)\n", n, process.Reason(err))
			status = 2
			continue
		}
		in, dones = append(in, r, endLine{}), append(dones, done)
	}
	defer func() {
		for _, d := range dones {
			d()
		}
	}()
	stdin := p.In()
	if len(in) > 0 {
		stdin = joinInputs(in)
	} else if status != 0 {
		return status
	}
	environ := []string{}
	for k, v := range p.Env {
		environ = append(environ, k, v)
	}
	w := output(p)
	ip, err := interp.New(prog)
	if err != nil {
		p.Errorf("awk: %v\n", err)
		return 2
	}
	code, err := ip.ExecuteContext(ctx, &interp.Config{
		Stdin: stdin, Output: w, Error: p.Err(), Argv0: "awk", Vars: vars, Funcs: funcs, NoExec: true,
		NoFileReads: true, NoFileWrites: true, Environ: environ,
	})
	if err != nil && ctx.Err() == nil {
		p.Errorf("awk: %v\n", err)
		return flush(w, 2)
	}
	return flush(w, max(code, status))
}

func unescapeFS(t string) string {
	return strings.NewReplacer(`\t`, "\t", `\n`, "\n", `\\`, `\`).Replace(t)
}

// endLine separates inputs whose last line has no newline; joinInputs looks for it.
type endLine struct{}

// Read never gives anything.
func (endLine) Read([]byte) (int, error) { return 0, io.EOF }

// joinInputs chains inputs, ending each with a newline.
func joinInputs(in []io.Reader) io.Reader {
	var parts []io.Reader
	for _, r := range in {
		if _, ok := r.(endLine); ok {
			continue
		}
		parts = append(parts, &newlineEnded{r: r})
	}
	return io.MultiReader(parts...)
}

type newlineEnded struct {
	r    io.Reader
	last byte
	done bool
}

// Read implements io.Reader.
func (n *newlineEnded) Read(b []byte) (int, error) {
	if n.done {
		return 0, io.EOF
	}
	k, err := n.r.Read(b)
	if k > 0 {
		n.last = b[k-1]
	}
	if errors.Is(err, io.EOF) {
		n.done = true
		if k == 0 && n.last != '\n' && n.last != 0 {
			b[0] = '\n'
			return 1, nil
		}
		n.done = k == 0
		err = nil
		if k == 0 {
			err = io.EOF
		}
	}
	return k, err
}

// awkOutput is where print > file goes.
type awkOutput struct {
	p    *process.Proc
	open map[string]*process.FD
}

func (o *awkOutput) write(mode, name, text string) (int, error) {
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
	return io.WriteString(fd.Writer(o.p.Context()), text)
}

func (o *awkOutput) close() {
	for _, fd := range o.open {
		fd.Close()
	}
}

type awkToken struct {
	tok lexer.Token
	at  int
	val string
}

// redirectPrints rewrites print … > file into a call of our own function: GoAWK would write to the real disk.
func redirectPrints(src string) string {
	starts := []int{0}
	for i := range len(src) {
		if src[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	lex := lexer.NewLexer([]byte(src))
	var toks []awkToken
	prev := lexer.NEWLINE
	for {
		pos, tok, val := lex.Scan()
		if (tok == lexer.DIV || tok == lexer.DIV_ASSIGN) && !operandEnd(prev) {
			pos, tok, val = lex.ScanRegex()
		}
		at := len(src)
		if pos.Line <= len(starts) {
			at = min(starts[pos.Line-1]+pos.Column-1, len(src))
		}
		toks = append(toks, awkToken{tok, at, val})
		prev = tok
		if tok == lexer.EOF || tok == lexer.ILLEGAL {
			break
		}
	}
	var out bytes.Buffer
	last := 0
	for i := 0; i < len(toks); i++ {
		if toks[i].tok != lexer.PRINT && toks[i].tok != lexer.PRINTF {
			continue
		}
		depth, redir, end := 0, -1, len(toks)-1
		var commas []int
		for j := i + 1; j < len(toks); j++ {
			switch toks[j].tok {
			case lexer.LPAREN, lexer.LBRACKET:
				depth++
				continue
			case lexer.RPAREN, lexer.RBRACKET:
				depth--
				continue
			default:
			}
			if depth > 0 {
				continue
			}
			switch toks[j].tok {
			case lexer.GREATER, lexer.APPEND:
				redir = j
			case lexer.COMMA:
				if redir < 0 {
					commas = append(commas, j)
				}
			case lexer.SEMICOLON, lexer.RBRACE, lexer.NEWLINE, lexer.EOF:
				end = j
			default:
			}
			if end == j {
				break
			}
		}
		if redir < 0 {
			continue
		}
		args := printArgs(src, toks, i, redir, commas)
		text := "(" + strings.Join(args, ") OFS (") + ") ORS"
		if toks[i].tok == lexer.PRINTF {
			text = "sprintf(" + strings.Join(args, ", ") + ")"
		}
		out.WriteString(src[last:toks[i].at])
		mode := ">"
		if toks[redir].tok == lexer.APPEND {
			mode = ">>"
		}
		fmt.Fprintf(&out, "__write(%q, %s, %s)", mode, strings.TrimSpace(src[toks[redir+1].at:toks[end].at]), text)
		last = toks[end].at
		i = end
	}
	out.WriteString(src[last:])
	return out.String()
}

// printArgs are the expressions between print and the redirection, $0 without any.
func printArgs(src string, toks []awkToken, print, redir int, commas []int) []string {
	first, last := print+1, redir
	if first == last {
		return []string{"$0"}
	}
	if len(commas) == 0 && toks[first].tok == lexer.LPAREN && toks[last-1].tok == lexer.RPAREN {
		// print(a, b) > f: the parentheses belong to print.
		depth := 0
		for j := first + 1; j < last-1; j++ {
			switch toks[j].tok {
			case lexer.LPAREN, lexer.LBRACKET:
				depth++
			case lexer.RPAREN, lexer.RBRACKET:
				depth--
			case lexer.COMMA:
				if depth == 0 {
					commas = append(commas, j)
				}
			default:
			}
		}
		if len(commas) > 0 {
			first, last = first+1, last-1
		}
	}
	var out []string
	for _, c := range append(commas, last) {
		out = append(out, strings.TrimSpace(src[toks[first].at:toks[c].at]))
		first = c + 1
	}
	return out
}

// operandEnd reports whether a / after the token divides rather than starts an expression.
func operandEnd(t lexer.Token) bool {
	switch t {
	case lexer.NAME, lexer.NUMBER, lexer.STRING, lexer.RPAREN, lexer.RBRACKET, lexer.DOLLAR, lexer.INCR, lexer.DECR,
		lexer.REGEX:
		return true
	default:
		return false
	}
}
