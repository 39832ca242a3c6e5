package shell

import (
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
)

// testClause is [[ … ]]: 0 true, 1 false, 2 error.
func (s *Shell) testClause(x syntax.TestExpr) int {
	switch x := x.(type) {
	case *syntax.Word:
		return b2i(s.literal(x) == "")
	case *syntax.ParenTest:
		return s.testClause(x.X)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsNot {
			return not(s.testClause(x.X))
		}
		w, _ := x.X.(*syntax.Word)
		return b2i(!s.unary(x.Op.String(), s.literal(w)))
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.AndTest:
			if st := s.testClause(x.X); st != 0 {
				return st
			}
			return s.testClause(x.Y)
		case syntax.OrTest:
			if st := s.testClause(x.X); st == 0 {
				return st
			}
			return s.testClause(x.Y)
		default:
		}
		xw, _ := x.X.(*syntax.Word)
		yw, _ := x.Y.(*syntax.Word)
		left := s.literal(xw)
		switch x.Op {
		case syntax.TsMatch, syntax.TsMatchShort:
			return b2i(!s.match(s.pattern(yw), left))
		case syntax.TsNoMatch:
			return b2i(s.match(s.pattern(yw), left))
		case syntax.TsReMatch:
			return s.regexMatch(left, yw)
		default:
		}
		return s.compare(x.Op.String(), left, s.literal(yw), true)
	}
	return 2
}

func not(st int) int {
	if st > 1 {
		return st
	}
	return 1 - st
}

// regexMatch is =~; quoted parts of the expression are literal.
func (s *Shell) regexMatch(text string, w *syntax.Word) int {
	var expr strings.Builder
	for _, part := range w.Parts {
		one := s.literal(&syntax.Word{Parts: []syntax.WordPart{part}})
		switch part.(type) {
		case *syntax.DblQuoted, *syntax.SglQuoted:
			one = regexp.QuoteMeta(one)
		}
		expr.WriteString(one)
	}
	src := expr.String()
	if s.opt.nocasematch {
		src = "(?i)" + src
	}
	re, err := regexp.Compile(src)
	if err != nil {
		return 2
	}
	re.Longest()
	m := re.FindStringSubmatch(text)
	if m == nil {
		_ = s.set("BASH_REMATCH", list(nil))
		return 1
	}
	_ = s.set("BASH_REMATCH", list(m))
	return 0
}

func (s *Shell) compare(op, x, y string, arith bool) int {
	switch op {
	case "=", "==":
		return b2i(x != y)
	case "!=":
		return b2i(x == y)
	case "<":
		return b2i(x >= y)
	case ">":
		return b2i(x <= y)
	case "-nt", "-ot", "-ef":
		return b2i(!s.compareFiles(op, x, y))
	}
	a, ok1 := s.number(x, arith)
	b, ok2 := s.number(y, arith)
	if !ok1 || !ok2 {
		bad := x
		if ok1 {
			bad = y
		}
		s.errf("[: %s: integer expression expected", bad)
		return 2
	}
	switch op {
	case "-eq":
		return b2i(a != b)
	case "-ne":
		return b2i(a == b)
	case "-lt":
		return b2i(a >= b)
	case "-le":
		return b2i(a > b)
	case "-gt":
		return b2i(a <= b)
	case "-ge":
		return b2i(a < b)
	}
	return 2
}

func (s *Shell) number(t string, arith bool) (int, bool) {
	if n, err := strconv.Atoi(strings.TrimSpace(t)); err == nil {
		return n, true
	}
	if arith {
		return s.arithText(t), true
	}
	return 0, false
}

func (s *Shell) compareFiles(op, x, y string) bool {
	v := s.p.FS()
	a, err1 := v.Stat(s.p.Abs(x))
	b, err2 := v.Stat(s.p.Abs(y))
	switch op {
	case "-nt":
		return err1 == nil && (err2 != nil || a.ModTime().After(b.ModTime()))
	case "-ot":
		return err2 == nil && (err1 != nil || a.ModTime().Before(b.ModTime()))
	}
	return err1 == nil && err2 == nil && a.Ino() == b.Ino()
}

func (s *Shell) unary(op, x string) bool {
	switch op {
	case "-z":
		return x == ""
	case "-n":
		return x != ""
	case "-o":
		return s.opt.get(x)
	case "-v":
		return s.isSet(x)
	case "-R":
		return s.get(x).Kind == expand.NameRef
	case "-t":
		n, err := strconv.Atoi(x)
		return err == nil && s.p.TTY && n <= 2 && s.p.FD(n) != nil
	}
	name := s.p.Abs(x)
	if x == "" {
		return false
	}
	v := s.p.FS()
	switch op {
	case "-r":
		return v.Access(name, memfs.Read) == nil
	case "-w":
		return v.Access(name, memfs.Write) == nil
	case "-x":
		return v.Access(name, memfs.Exec) == nil
	case "-h", "-L":
		i, err := v.Lstat(name)
		return err == nil && i.Mode()&fs.ModeSymlink != 0
	}
	if strings.HasPrefix(name, "/dev/fd/") {
		n, _ := strconv.Atoi(name[8:])
		return s.p.FD(n) != nil
	}
	i, err := v.Stat(name)
	if err != nil {
		return false
	}
	m := i.Mode()
	switch op {
	case "-e", "-a":
		return true
	case "-f":
		return m.IsRegular()
	case "-d":
		return m.IsDir()
	case "-s":
		return i.Size() > 0
	case "-c":
		return m&fs.ModeCharDevice != 0
	case "-b":
		return m&fs.ModeDevice != 0 && m&fs.ModeCharDevice == 0
	case "-p":
		return m&fs.ModeNamedPipe != 0
	case "-S":
		return m&fs.ModeSocket != 0
	case "-k":
		return m&fs.ModeSticky != 0
	case "-u":
		return m&fs.ModeSetuid != 0
	case "-g":
		return m&fs.ModeSetgid != 0
	case "-O":
		return int(i.Uid()) == s.p.Cred.UID
	case "-G":
		return int(i.Gid()) == s.p.Cred.GID
	case "-N":
		return true
	}
	return false
}

func (s *Shell) isSet(name string) bool {
	base, sub, ok := strings.Cut(name, "[")
	v := s.get(base)
	if !ok {
		if v.Kind == expand.Indexed {
			return v.Set && (v.Indexes == nil && len(v.List) > 0 || len(v.Indexes) > 0 && v.Indexes[0] == 0)
		}
		return v.Set
	}
	sub = strings.TrimSuffix(sub, "]")
	switch v.Kind {
	case expand.Associative:
		_, ok := v.Map[sub]
		return ok
	case expand.Indexed:
		if sub == "@" || sub == "*" {
			return len(v.List) > 0
		}
		i := s.arithText(sub)
		if v.Indexes == nil {
			return i >= 0 && i < len(v.List)
		}
		return slices.Contains(v.Indexes, i)
	default:
		return v.Set && sub == "0"
	}
}

// classicTest is test and [: args without the brackets.
func (s *Shell) classicTest(args []string) int {
	t := classic{s: s, args: args}
	switch len(args) {
	case 0:
		return 1
	case 1:
		return b2i(args[0] == "")
	case 2:
		if args[0] == "!" {
			return b2i(args[1] != "")
		}
		if isUnary(args[0]) {
			return b2i(!s.unary(args[0], args[1]))
		}
		s.errf("test: %s: unary operator expected", args[0])
		return 2
	case 3:
		if isBinary(args[1]) {
			return s.compare(args[1], args[0], args[2], false)
		}
		if args[0] == "!" {
			return not(s.classicTest(args[1:]))
		}
		if args[0] == "(" && args[2] == ")" {
			return s.classicTest(args[1:2])
		}
	case 4:
		if args[0] == "!" {
			return not(s.classicTest(args[1:]))
		}
	}
	st := t.or()
	if t.err != "" || t.i < len(t.args) {
		if t.err == "" {
			t.err = "too many arguments"
		}
		s.errf("test: %s", t.err)
		return 2
	}
	return st
}

func isUnary(op string) bool {
	return len(op) == 2 && op[0] == '-' && strings.ContainsRune("zneafdrwxshLpScbkugOGNtvoR", rune(op[1]))
}

func isBinary(op string) bool {
	switch op {
	case "=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef":
		return true
	}
	return false
}

// classic parses the long form of test with -a, -o and parentheses.
type classic struct {
	s    *Shell
	args []string
	i    int
	err  string
}

func (t *classic) peek() string {
	if t.i < len(t.args) {
		return t.args[t.i]
	}
	return ""
}

func (t *classic) or() int {
	st := t.and()
	for t.i < len(t.args) && t.peek() == "-o" {
		t.i++
		st = min(st, t.and())
	}
	return st
}

func (t *classic) and() int {
	st := t.not()
	for t.i < len(t.args) && t.peek() == "-a" {
		t.i++
		st = max(st, t.not())
	}
	return st
}

func (t *classic) not() int {
	if t.peek() == "!" && t.i+1 < len(t.args) {
		t.i++
		return not(t.not())
	}
	return t.primary()
}

func (t *classic) primary() int {
	left := len(t.args) - t.i
	switch {
	case left <= 0:
		t.err = "argument expected"
		return 2
	case left >= 3 && isBinary(t.args[t.i+1]):
		a := t.args[t.i : t.i+3]
		t.i += 3
		return t.s.compare(a[1], a[0], a[2], false)
	case t.peek() == "(":
		t.i++
		st := t.or()
		if t.peek() != ")" {
			t.err = "`)' expected"
			return 2
		}
		t.i++
		return st
	case left >= 2 && isUnary(t.peek()):
		a := t.args[t.i : t.i+2]
		t.i += 2
		return b2i(!t.s.unary(a[0], a[1]))
	}
	t.i++
	return b2i(t.args[t.i-1] == "")
}
