package shell

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// errReadOnly is what setting a read-only variable gives.
var errReadOnly = errors.New("readonly variable")

// scope is one level of variables: the globals, a function's locals, or the assignments in front of a command.
type scope struct {
	vars map[string]expand.Variable
	up   *scope
	fn   bool
}

func (sc *scope) find(name string) (*scope, bool) {
	for ; sc != nil; sc = sc.up {
		if _, ok := sc.vars[name]; ok {
			return sc, true
		}
	}
	return nil, false
}

func (sc *scope) clone() *scope {
	if sc == nil {
		return nil
	}
	return &scope{vars: maps.Clone(sc.vars), up: sc.up.clone(), fn: sc.fn}
}

func str(s string) expand.Variable { return expand.Variable{Set: true, Kind: expand.String, Str: s} }

func list(l []string) expand.Variable {
	if l == nil {
		l = []string{}
	}
	return expand.Variable{Set: true, Kind: expand.Indexed, List: l}
}

// environ is the shell's variables as the expand package wants them.
type environ struct{ *Shell }

// Get implements expand.Environ.
func (e environ) Get(name string) expand.Variable { return e.get(name) }

// Each implements expand.Environ.
func (e environ) Each(f func(string, expand.Variable) bool) {
	for name, v := range e.all() {
		if !f(name, v) {
			return
		}
	}
}

// Set implements expand.WriteEnviron.
func (e environ) Set(name string, v expand.Variable) error { return e.set(name, v) }

func (s *Shell) all() map[string]expand.Variable {
	out := map[string]expand.Variable{}
	var chain []*scope
	for sc := s.scope; sc != nil; sc = sc.up {
		chain = append(chain, sc)
	}
	for _, sc := range slices.Backward(chain) {
		maps.Copy(out, sc.vars)
	}
	return out
}

// get looks a variable up, special parameters first.
func (s *Shell) get(name string) expand.Variable {
	if v, ok := s.special(name); ok {
		return v
	}
	if sc, ok := s.scope.find(name); ok {
		return sc.vars[name]
	}
	return expand.Variable{}
}

func (s *Shell) special(name string) (expand.Variable, bool) {
	switch name {
	case "#":
		return str(strconv.Itoa(len(s.params))), true
	case "@", "*":
		return list(s.params), true
	case "?":
		return str(strconv.Itoa(s.last)), true
	case "-":
		return str(s.optFlags()), true
	case "$":
		return str(strconv.Itoa(s.mainPID)), true
	case "!":
		if s.bgPID == 0 {
			return expand.Variable{}, false
		}
		return str(strconv.Itoa(s.bgPID)), true
	case "0":
		return str(s.name0), true
	case "PPID":
		return str(strconv.Itoa(s.ppid)), true
	case "LINENO":
		return str(strconv.Itoa(s.line)), true
	}
	if name[0] >= '1' && name[0] <= '9' {
		if n, err := strconv.Atoi(name); err == nil {
			if n <= len(s.params) {
				return str(s.params[n-1]), true
			}
			return expand.Variable{}, true
		}
	}
	if s.posix {
		return expand.Variable{}, false
	}
	if n, ok := strings.CutPrefix(name, sizeOf); ok {
		_, v := s.resolve(n)
		if !v.Declared() && s.opt.nounset {
			return v, true
		}
		size := len(v.List) + len(v.Map)
		if v.Kind == expand.String && v.Set {
			size = 1
		}
		return str(strconv.Itoa(size)), true
	}
	if n, ok := strings.CutPrefix(name, quoteOf); ok {
		v := s.get(n)
		if v.Set {
			return str(quoteSingle(v.String())), true
		}
		return v, true
	}
	switch name {
	case "BASHPID":
		return str(strconv.Itoa(s.p.PID)), true
	case "BASH_SUBSHELL":
		return str(strconv.Itoa(s.depth)), true
	case "RANDOM":
		return str(strconv.Itoa(rand.IntN(32768))), true
	case "SRANDOM":
		return str(strconv.FormatUint(uint64(rand.Uint32()), 10)), true
	case "SECONDS":
		return str(strconv.Itoa(int(s.p.Sys.Clock.Now().Sub(s.secondsFrom) / time.Second))), true
	case "EPOCHSECONDS":
		return str(strconv.FormatInt(s.p.Sys.Clock.Now().Unix(), 10)), true
	case "EPOCHREALTIME":
		us := s.p.Sys.Clock.Now().UnixMicro()
		return str(strconv.FormatInt(us/1e6, 10) + "." + strconv.FormatInt(1e6+us%1e6, 10)[1:]), true
	case "FUNCNAME", "BASH_SOURCE", "BASH_LINENO":
		return s.callers(name)
	case "HOSTNAME":
		return str(s.p.Sys.Hostname()), true
	}
	return expand.Variable{}, false
}

// callers gives the call stack arrays, innermost first.
func (s *Shell) callers(name string) (expand.Variable, bool) {
	var l []string
	for _, f := range slices.Backward(s.stack) {
		switch name {
		case "FUNCNAME":
			l = append(l, f.name)
		case "BASH_SOURCE":
			l = append(l, f.file)
		default:
			l = append(l, strconv.Itoa(f.line))
		}
	}
	switch {
	case name == "FUNCNAME" && len(l) == 0:
		return expand.Variable{}, true
	case name == "FUNCNAME":
		if s.fromFile {
			l = append(l, "main")
		}
	case name == "BASH_SOURCE" && s.script != "":
		l = append(l, s.script)
	case name == "BASH_LINENO":
		l = append(l, "0")
	}
	if len(l) == 0 {
		return expand.Variable{}, true
	}
	return list(l), true
}

// set assigns in the innermost scope that has the name, else globally. A variable that is not Set is unset.
func (s *Shell) set(name string, v expand.Variable) error {
	if name == "SECONDS" {
		n, _ := strconv.Atoi(v.Str)
		s.secondsFrom = s.p.Sys.Clock.Now().Add(-time.Duration(n) * time.Second)
	}
	sc, ok := s.scope.find(name)
	if !ok {
		sc = s.globals
	}
	return s.setIn(sc, name, v)
}

func (s *Shell) setIn(sc *scope, name string, v expand.Variable) error {
	prev := sc.vars[name]
	switch {
	case v.Kind == expand.KeepValue:
		v.Kind, v.Str, v.List, v.Map, v.Indexes, v.Set = prev.Kind, prev.Str, prev.List, prev.Map, prev.Indexes, prev.Set
	case prev.ReadOnly:
		return fmt.Errorf("%s: %w", name, errReadOnly)
	case v.Set:
		v.Exported = v.Exported || prev.Exported || s.opt.allexport
	}
	if !v.Set && !v.Declared() && !sc.fn {
		delete(sc.vars, name)
		return nil
	}
	v.Local = sc.fn
	sc.vars[name] = v
	return nil
}

func (s *Shell) setStr(name, value string) {
	if err := s.set(name, s.attribute(name, str(value))); err != nil {
		s.errf("%v", err)
		s.status = 1
	}
}

// attribute applies declare -i, -l and -u to a value about to be assigned.
func (s *Shell) attribute(name string, v expand.Variable) expand.Variable {
	switch a := s.attrs[name]; {
	case a == 0 || v.Kind != expand.String:
	case a == 'l':
		v.Str = strings.ToLower(v.Str)
	case a == 'u':
		v.Str = strings.ToUpper(v.Str)
	case a == 'i':
		v.Str = strconv.Itoa(s.arithText(v.Str))
	}
	return v
}

// arithText evaluates text as an arithmetic expression.
func (s *Shell) arithText(text string) int {
	expr, err := syntax.NewParser().Arithmetic(strings.NewReader(text))
	if err != nil || expr == nil {
		return 0
	}
	return s.arithm(expr)
}

// exported is the environment for a child process.
func (s *Shell) exported() map[string]string {
	env := map[string]string{}
	for name, v := range s.all() {
		if v.Exported && v.Set && v.Kind == expand.String {
			env[name] = v.Str
		}
	}
	return env
}

// resolve follows name references.
func (s *Shell) resolve(name string) (string, expand.Variable) {
	v := s.get(name)
	if n, r := v.Resolve(environ{s}); n != "" {
		return n, r
	}
	return name, v
}

// assign evaluates one NAME=value, NAME+=value, NAME[i]=value or NAME=(…) and returns the name and new value. kind
// forces an array type ("-a", "-A"), "-n" makes a reference.
func (s *Shell) assign(as *syntax.Assign, kind string) (string, expand.Variable) {
	name, prev := as.Name.Value, s.get(as.Name.Value)
	if kind != "-n" {
		name, prev = s.resolve(name)
	}
	switch {
	case as.Array != nil:
		return name, s.assignArray(name, as, prev, kind)
	case as.Index != nil:
		return name, s.assignElem(as, prev)
	}
	value := s.literal(as.Value)
	if !as.Append {
		v := str(value)
		switch {
		case kind == "-n":
			v.Kind = expand.NameRef
		case prev.Kind == expand.Indexed:
			return name, setElem(prev, 0, value)
		}
		return name, s.attribute(name, v)
	}
	switch prev.Kind {
	case expand.Indexed:
		return name, setElem(prev, 0, elem(prev, 0)+value)
	default:
		if s.attrs[name] == 'i' {
			return name, str(strconv.Itoa(s.arithText(prev.Str) + s.arithText(value)))
		}
		return name, s.attribute(name, str(prev.Str+value))
	}
}

func (s *Shell) assignElem(as *syntax.Assign, prev expand.Variable) expand.Variable {
	value := s.literal(as.Value)
	if prev.Kind == expand.Associative {
		key := s.key(as.Index)
		m := maps.Clone(prev.Map)
		if m == nil {
			m = map[string]string{}
		}
		if as.Append {
			value = m[key] + value
		}
		m[key] = value
		prev.Map, prev.Set = m, true
		return prev
	}
	i := s.arithm(as.Index)
	if i < 0 {
		i += top(prev)
	}
	if as.Append {
		value = elem(prev, i) + value
	}
	return setElem(prev, i, value)
}

func (s *Shell) key(index syntax.ArithmExpr) string {
	if w, ok := index.(*syntax.Word); ok {
		return s.literal(w)
	}
	return strconv.Itoa(s.arithm(index))
}

func (s *Shell) assignArray(name string, as *syntax.Assign, prev expand.Variable, kind string) expand.Variable {
	if kind == "-A" || kind == "" && prev.Kind == expand.Associative {
		m := map[string]string{}
		if as.Append {
			m = maps.Clone(prev.Map)
		}
		for _, e := range as.Array.Elems {
			if e.Index != nil {
				m[s.key(e.Index)] = s.literal(e.Value)
			}
		}
		return expand.Variable{Set: true, Kind: expand.Associative, Map: m}
	}
	v := expand.Variable{Set: true, Kind: expand.Indexed, List: []string{}}
	if as.Append {
		switch prev.Kind {
		case expand.Indexed:
			v.List, v.Indexes = slices.Clone(prev.List), slices.Clone(prev.Indexes)
		case expand.String:
			v.List = []string{prev.Str}
		default:
		}
	}
	next := top(v)
	for _, e := range as.Array.Elems {
		if e.Index != nil {
			i := s.arithm(e.Index)
			v, next = setElem(v, i, s.literal(e.Value)), i+1
			continue
		}
		for _, f := range s.fields(e.Value) {
			v, next = setElem(v, next, f), next+1
		}
	}
	_ = name
	return v
}

// top is one more than the highest index.
func top(v expand.Variable) int {
	switch {
	case v.Kind == expand.String:
		return 1
	case len(v.Indexes) > 0:
		return v.Indexes[len(v.Indexes)-1] + 1
	}
	return len(v.List)
}

func elem(v expand.Variable, i int) string {
	if v.Kind == expand.String {
		if i == 0 {
			return v.Str
		}
		return ""
	}
	if v.Indexes != nil {
		j, ok := slices.BinarySearch(v.Indexes, i)
		if !ok {
			return ""
		}
		i = j
	}
	if i < 0 || i >= len(v.List) {
		return ""
	}
	return v.List[i]
}

// setElem returns v as an indexed array with element i set.
func setElem(v expand.Variable, i int, value string) expand.Variable {
	if v.Kind != expand.Indexed {
		if v.Set && v.Kind == expand.String {
			v.List = []string{v.Str}
		} else {
			v.List = nil
		}
		v.Kind, v.Str, v.Indexes = expand.Indexed, "", nil
	}
	v.Set = true
	if i < 0 {
		return v
	}
	v.List, v.Indexes = slices.Clone(v.List), slices.Clone(v.Indexes)
	if v.Indexes == nil && i <= len(v.List) {
		if i == len(v.List) {
			v.List = append(v.List, value)
		} else {
			v.List[i] = value
		}
		return v
	}
	if v.Indexes == nil {
		v.Indexes = make([]int, len(v.List))
		for j := range v.Indexes {
			v.Indexes[j] = j
		}
	}
	j, ok := slices.BinarySearch(v.Indexes, i)
	if ok {
		v.List[j] = value
		return v
	}
	v.Indexes = slices.Insert(v.Indexes, j, i)
	v.List = slices.Insert(v.List, j, value)
	return v
}

// unsetElem removes one element of an array; it answers false if v is none.
func unsetElem(v expand.Variable, key string, index int) (expand.Variable, bool) {
	switch v.Kind {
	case expand.Associative:
		v.Map = maps.Clone(v.Map)
		delete(v.Map, key)
	case expand.Indexed:
		if v.Indexes == nil {
			v.Indexes = make([]int, len(v.List))
			for j := range v.Indexes {
				v.Indexes[j] = j
			}
		}
		if j, ok := slices.BinarySearch(v.Indexes, index); ok {
			v.Indexes = slices.Delete(slices.Clone(v.Indexes), j, j+1)
			v.List = slices.Delete(slices.Clone(v.List), j, j+1)
		}
	default:
		return v, false
	}
	return v, true
}
