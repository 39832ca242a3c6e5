package shell

import (
	"errors"
	"hash/maphash"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// script is a parsed script. Its tree is never changed after parse returned it.
type script struct {
	src   string
	posix bool
	file  *syntax.File
	// reads: the builtins read or mapfile are called. background: a command runs in the background.
	reads, background bool
	funcs             map[string]bool
}

// Variables that stand for what the interpreter takes from the host: the process ids.
const (
	pidVar   = "__PID"
	ppidVar  = "__PPID"
	umaskVar = "__UMASK"
)

// connectCommand is what a redirection from /dev/tcp becomes: a command with the path as its argument.
const connectCommand = "__connect"

// maxParsed bounds the cache of parsed scripts; it is emptied when full.
const maxParsed = 512

// parsed keeps scripts seen before: hundreds of machines run the same ones.
var parsed = struct {
	mu   sync.Mutex
	seed maphash.Seed
	m    map[uint64]*script
}{seed: maphash.MakeSeed(), m: map[uint64]*script{}}

func newParser(posix bool) *syntax.Parser {
	if posix {
		return syntax.NewParser(syntax.Variant(syntax.LangPOSIX))
	}
	return syntax.NewParser(syntax.Variant(syntax.LangBash))
}

func parse(src string, posix bool) (*script, error) {
	h := maphash.String(parsed.seed, src)
	parsed.mu.Lock()
	sc := parsed.m[h]
	parsed.mu.Unlock()
	if sc != nil && sc.src == src && sc.posix == posix {
		return sc, nil
	}
	file, err := newParser(posix).Parse(strings.NewReader(src), "")
	if err != nil {
		return nil, err
	}
	sc = &script{src: src, posix: posix, file: file, funcs: map[string]bool{}}
	if err := sc.adapt(file); err != nil {
		return nil, err
	}
	parsed.mu.Lock()
	defer parsed.mu.Unlock()
	if len(parsed.m) >= maxParsed {
		clear(parsed.m)
	}
	parsed.m[h] = sc
	return sc, nil
}

var errProcSubst = errors.New("process substitution is not simulated")

// adapt replaces what the interpreter would take from the host, and notes what the shell must prepare.
func (sc *script) adapt(root syntax.Node) (err error) {
	syntax.Walk(root, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ProcSubst:
			err = errProcSubst
		case *syntax.FuncDecl:
			if n.Name != nil {
				sc.funcs[n.Name.Value] = true
			}
		case *syntax.ParamExp:
			if n.Param != nil && n.Param.Value == "$" {
				n.Param.Value = pidVar
			} else if n.Param != nil && n.Param.Value == "PPID" {
				n.Param.Value = ppidVar
			}
		case *syntax.Stmt:
			sc.background = sc.background || n.Background
			connect(n)
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				switch n.Args[0].Lit() {
				case "read", "mapfile", "readarray":
					sc.reads = true
				}
			}
		}
		return true
	})
	return err
}

// connect turns ": </dev/tcp/HOST/PORT", of which scripts use only the exit status, into a command.
func connect(st *syntax.Stmt) {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) != 1 || len(st.Redirs) != 1 {
		return
	}
	if call.Args[0].Lit() != ":" || st.Redirs[0].Op != syntax.RdrIn {
		return
	}
	target := st.Redirs[0].Word
	if len(target.Parts) == 0 {
		return
	}
	if lit, ok := target.Parts[0].(*syntax.Lit); !ok || !strings.HasPrefix(lit.Value, "/dev/tcp/") {
		return
	}
	name := &syntax.Word{
		Parts: []syntax.WordPart{&syntax.Lit{ValuePos: call.Pos(), ValueEnd: call.End(), Value: connectCommand}},
	}
	st.Cmd, st.Redirs = &syntax.CallExpr{Args: []*syntax.Word{name, target}}, nil
}

// syntaxText is the reason and the line of a parse error.
func syntaxText(err error) (text string, line int) {
	if pe, ok := errors.AsType[syntax.ParseError](err); ok {
		return pe.Text, int(pe.Pos.Line())
	}
	return err.Error(), 1
}
