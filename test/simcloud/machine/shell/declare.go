package shell

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// declare runs declare, local, export, readonly and typeset as the parser found them.
func (s *Shell) declare(cm *syntax.DeclClause) {
	d := declaration{s: s, variant: cm.Variant.Value}
	s.expand = 0
	for _, as := range cm.Args {
		if as.Name == nil {
			for _, f := range s.fields(as.Value) {
				d.text(f)
			}
			continue
		}
		if as.Naked && as.Index == nil && as.Array == nil && as.Value == nil {
			d.text(as.Name.Value)
			continue
		}
		d.one(as)
	}
	if s.ctl != ctlNone {
		return
	}
	if s.opt.xtrace {
		s.trace(d.variant + " …")
	}
	d.finish()
	s.status = d.status
}

// decl is the same as a builtin, for dash and for `builtin declare`.
func decl(s *Shell, args []string) int {
	d := declaration{s: s, variant: args[0]}
	for _, a := range args[1:] {
		d.text(a)
	}
	d.finish()
	return d.status
}

// declaration collects the options of one declaring command and applies it to each name.
type declaration struct {
	s                   *Shell
	variant             string
	array               string
	export, ro, global  bool
	noexport            bool
	print, funcs, names bool
	attr                byte
	reference, any      bool
	status              int
}

// text handles an option, a bare name, or name=value that came out of an expansion.
func (d *declaration) text(a string) {
	if len(a) > 1 && (a[0] == '-' || a[0] == '+') && !d.any {
		on := a[0] == '-'
		for _, c := range []byte(a[1:]) {
			switch c {
			case 'x':
				d.export, d.noexport = on, !on
			case 'r':
				d.ro = on
			case 'g':
				d.global = on
			case 'a', 'A':
				d.array = "-" + string(c)
			case 'n':
				d.reference = on
				if d.variant == "export" {
					d.reference, d.noexport = false, true
				}
			case 'p':
				d.print = true
			case 'f':
				d.funcs = true
			case 'F':
				d.funcs, d.names = true, true
			case 'i', 'l', 'u':
				d.attr = c
			case '-', 't', 'I':
			default:
				d.s.errf("%s: -%c: invalid option", d.variant, c)
				d.status = 2
			}
		}
		return
	}
	name, value, ok := strings.Cut(a, "=")
	as := &syntax.Assign{Name: &syntax.Lit{Value: strings.TrimSuffix(name, "+")}, Naked: !ok, Append: ok && strings.HasSuffix(name, "+")}
	if ok {
		as.Value = &syntax.Word{Parts: []syntax.WordPart{&syntax.SglQuoted{Value: value}}}
	}
	d.one(as)
}

func (d *declaration) one(as *syntax.Assign) {
	d.any = true
	s, name := d.s, as.Name.Value
	if !syntax.ValidName(name) && !d.funcs {
		s.errf("%s: `%s': not a valid identifier", d.variant, name)
		d.status = 1
		return
	}
	if d.funcs {
		d.showFunc(name)
		return
	}
	if d.print {
		if v := s.get(name); v.Declared() {
			s.p.Printf("%s\n", printed(name, v))
		} else {
			s.errf("%s: %s: not found", d.variant, name)
			d.status = 1
		}
		return
	}
	local := d.variant == "local" || s.inFunc > 0 && !d.global && (d.variant == "declare" || d.variant == "typeset")
	target := s.globals
	if sc, ok := s.scope.find(name); ok {
		target = sc
	}
	if local {
		if target = s.funcScope(); target == nil {
			s.errf("local: can only be used in a function")
			d.status = 1
			return
		}
	} else if d.global {
		target = s.globals
	}
	if d.attr != 0 {
		s.attrs[name] = d.attr
	}
	var v expand.Variable
	if as.Naked {
		v = target.vars[name]
		if !v.Declared() || local && !v.Local {
			v = expand.Variable{}
			if d.array == "-a" {
				v.Kind = expand.Indexed
			}
			if d.array == "-A" {
				v.Kind = expand.Associative
			}
		} else {
			v.Kind = expand.KeepValue
		}
	} else {
		kind := d.array
		if d.reference {
			kind = "-n"
		}
		var final string
		if local && !as.Append && !d.reference {
			// A new local does not look at what the name meant outside.
			if _, had := target.vars[name]; !had {
				target.vars[name] = expand.Variable{Local: true}
				if d.array == "-A" {
					target.vars[name] = expand.Variable{Local: true, Kind: expand.Associative}
				}
				defer func() {
					if v := target.vars[name]; !v.Declared() && d.status != 0 {
						delete(target.vars, name)
					}
				}()
			}
		}
		final, v = s.assign(as, kind)
		if final != name && !d.reference {
			name = final
		}
	}
	v.Exported = !d.noexport && (d.export || d.variant == "export" || v.Exported || target.vars[name].Exported && !local)
	v.ReadOnly = d.ro || d.variant == "readonly"
	if v.Kind == expand.KeepValue && target.vars[name].ReadOnly {
		v.ReadOnly = true
	}
	if err := s.setIn(target, name, v); err != nil {
		s.errf("%v", err)
		d.status = 1
		return
	}
	if d.noexport {
		u := target.vars[name]
		u.Exported = false
		target.vars[name] = u
	}
	if as.Naked && !v.Declared() && target.fn {
		target.vars[name] = expand.Variable{Local: true}
	}
}

func (s *Shell) funcScope() *scope {
	for sc := s.scope; sc != nil; sc = sc.up {
		if sc.fn {
			return sc
		}
	}
	return nil
}

func (d *declaration) showFunc(name string) {
	f, ok := d.s.funcs[name]
	if !ok {
		d.status = 1
		return
	}
	if d.names {
		d.s.p.Printf("%s\n", name)
		return
	}
	var b strings.Builder
	_ = syntax.NewPrinter().Print(&b, f.body)
	d.s.p.Printf("%s () \n%s\n", name, b.String())
}

// finish prints all variables if the command named none.
func (d *declaration) finish() {
	if d.any {
		return
	}
	s := d.s
	if d.funcs {
		for _, n := range slices.Sorted(maps.Keys(s.funcs)) {
			if d.names {
				s.p.Printf("declare -f %s\n", n)
			} else {
				d.showFunc(n)
			}
		}
		return
	}
	all := s.all()
	for _, n := range slices.Sorted(maps.Keys(all)) {
		v := all[n]
		if d.variant == "export" || d.export {
			if v.Exported {
				s.p.Printf("declare -x %s=%q\n", n, v.String())
			}
		} else if v.Set {
			s.p.Printf("%s\n", printed(n, v))
		}
	}
}

// printed is a variable as declare -p shows it.
func printed(name string, v expand.Variable) string {
	flags := v.Flags()
	if flags == "" {
		flags = "-"
	}
	dq := func(t string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(t) + `"`
	}
	head := fmt.Sprintf("declare -%s %s", flags, name)
	switch {
	case !v.Set:
		return head
	case v.Kind == expand.Indexed:
		var l []string
		for i, x := range v.List {
			n := i
			if v.Indexes != nil {
				n = v.Indexes[i]
			}
			l = append(l, fmt.Sprintf("[%d]=%s", n, dq(x)))
		}
		return head + "=(" + strings.Join(l, " ") + ")"
	case v.Kind == expand.Associative:
		var l []string
		for _, k := range slices.Sorted(maps.Keys(v.Map)) {
			l = append(l, fmt.Sprintf("[%s]=%s ", k, dq(v.Map[k])))
		}
		return head + "=(" + strings.Join(l, "") + ")"
	}
	return head + "=" + dq(v.Str)
}
