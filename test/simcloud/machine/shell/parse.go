package shell

import (
	"errors"
	"hash/maphash"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// parsed keeps the trees of scripts seen before: hundreds of machines run the same ones. Trees are never changed.
var parsed = struct {
	mu   sync.Mutex
	seed maphash.Seed
	m    map[uint64]*entry
}{seed: maphash.MakeSeed(), m: map[uint64]*entry{}}

type entry struct {
	src   string
	posix bool
	file  *syntax.File
}

// maxParsed bounds the cache; it is emptied when full.
const maxParsed = 512

func newParser(posix bool) *syntax.Parser {
	if posix {
		return syntax.NewParser(syntax.Variant(syntax.LangPOSIX))
	}
	return syntax.NewParser(syntax.Variant(syntax.LangBash))
}

func parse(src string, posix bool) (*syntax.File, error) {
	h := maphash.String(parsed.seed, src)
	parsed.mu.Lock()
	e := parsed.m[h]
	parsed.mu.Unlock()
	if e != nil && e.src == src && e.posix == posix {
		return e.file, nil
	}
	file, err := newParser(posix).Parse(strings.NewReader(src), "")
	if err != nil {
		return nil, err
	}
	rewrite(file)
	parsed.mu.Lock()
	defer parsed.mu.Unlock()
	if len(parsed.m) >= maxParsed {
		clear(parsed.m)
	}
	parsed.m[h] = &entry{src, posix, file}
	return file, nil
}

func asParseError(err error) (syntax.ParseError, bool) {
	var pe syntax.ParseError
	ok := errors.As(err, &pe)
	return pe, ok
}

func syntaxText(err error) string {
	if pe, ok := asParseError(err); ok {
		return pe.Text
	}
	return err.Error()
}

// Names that stand for expansions that mvdan.cc/sh gets wrong: the size of an associative array and ${x@Q}.
const (
	sizeOf  = "__size_of__"
	quoteOf = "__quote_of__"
)

// rewrite replaces those expansions by such names; Shell.special knows them.
func rewrite(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		pe, ok := n.(*syntax.ParamExp)
		if !ok || pe.Param == nil || !syntax.ValidName(pe.Param.Value) {
			return true
		}
		if w, isWord := pe.Index.(*syntax.Word); pe.Length && isWord && (w.Lit() == "@" || w.Lit() == "*") {
			pe.Param.Value, pe.Length, pe.Index = sizeOf+pe.Param.Value, false, nil
		}
		if pe.Exp != nil && pe.Exp.Op == syntax.OtherParamOps && pe.Exp.Word.Lit() == "Q" && pe.Index == nil {
			pe.Param.Value, pe.Exp = quoteOf+pe.Param.Value, nil
		}
		return true
	})
}
