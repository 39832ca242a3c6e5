package shell

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// unescape interprets backslash escapes; echo uses \0NNN for octal, printf \NNN. stop reports a \c.
func unescape(t string, echo bool) (out string, stop bool) {
	if !strings.Contains(t, `\`) {
		return t, false
	}
	var b strings.Builder
	for i := 0; i < len(t); i++ {
		if t[i] != '\\' || i+1 == len(t) {
			b.WriteByte(t[i])
			continue
		}
		i++
		switch c := t[i]; c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'a':
			b.WriteByte('\a')
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'v':
			b.WriteByte('\v')
		case 'e', 'E':
			b.WriteByte(27)
		case '\\':
			b.WriteByte('\\')
		case '"', '\'':
			if echo {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
		case 'c':
			return b.String(), true
		case 'x', 'u', 'U':
			n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			j := i + 1
			for j < len(t) && j <= i+n && isHex(t[j]) {
				j++
			}
			v, err := strconv.ParseUint(t[i+1:j], 16, 32)
			if err != nil {
				b.WriteString(t[i-1 : i+1])
				continue
			}
			if c == 'x' {
				b.WriteByte(byte(v))
			} else {
				b.WriteRune(rune(v))
			}
			i = j - 1
		case '0', '1', '2', '3', '4', '5', '6', '7':
			if echo && c != '0' {
				b.WriteByte('\\')
				b.WriteByte(c)
				continue
			}
			j, n := i, 3
			if c == '0' && echo {
				j, n = i+1, 3
			}
			k := j
			for k < len(t) && k < j+n && t[k] >= '0' && t[k] <= '7' {
				k++
			}
			v, _ := strconv.ParseUint("0"+t[j:k], 8, 32)
			b.WriteByte(byte(v))
			i = k - 1
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String(), false
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func printf(s *Shell, args []string) int {
	args = args[1:]
	name := ""
	if len(args) > 1 && args[0] == "-v" {
		name, args = args[1], args[2:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		s.errf("printf: usage: printf [-v var] format [arguments]")
		return 2
	}
	f := formatter{s: s, args: args[1:]}
	for {
		before := len(f.args)
		if f.run(args[0]) || len(f.args) == 0 || len(f.args) == before {
			break
		}
	}
	if name != "" {
		s.setStr(name, f.out.String())
		return f.status
	}
	return max(f.status, s.write(f.out.String(), "printf"))
}

// formatter runs one printf.
type formatter struct {
	s      *Shell
	args   []string
	out    strings.Builder
	status int
}

func (f *formatter) next() (string, bool) {
	if len(f.args) == 0 {
		return "", false
	}
	a := f.args[0]
	f.args = f.args[1:]
	return a, true
}

// run applies the format once; it returns true if \c ended the output.
func (f *formatter) run(format string) bool {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			j := strings.IndexByte(format[i:], '%')
			if j < 0 {
				j = len(format) - i
			}
			text, stop := unescape(format[i:i+j], false)
			f.out.WriteString(text)
			if stop {
				return true
			}
			i += j - 1
			continue
		}
		i++
		if i >= len(format) {
			f.out.WriteByte('%')
			break
		}
		var flags strings.Builder
		for i < len(format) && strings.IndexByte("-+ #0123456789.*", format[i]) >= 0 {
			if format[i] == '*' {
				a, _ := f.next()
				flags.WriteString(a)
			} else {
				flags.WriteByte(format[i])
			}
			i++
		}
		spec := "%" + flags.String()
		if i < len(format) && format[i] == '(' {
			if end := strings.IndexByte(format[i:], ')'); end > 0 && i+end+1 < len(format) {
				f.date(format[i+1 : i+end])
				i += end + 1
				continue
			}
		}
		if i >= len(format) {
			f.out.WriteString(spec)
			break
		}
		if f.verb(spec, format[i]) {
			return true
		}
	}
	return false
}

func (f *formatter) verb(spec string, c byte) (stop bool) {
	switch c {
	case '%':
		f.out.WriteByte('%')
	case 's':
		a, _ := f.next()
		_, _ = fmt.Fprintf(&f.out, spec+"s", a)
	case 'q':
		a, _ := f.next()
		_, _ = fmt.Fprintf(&f.out, spec+"s", shellQuote(a))
	case 'b':
		a, _ := f.next()
		text, end := unescape(a, true)
		_, _ = fmt.Fprintf(&f.out, spec+"s", text)
		return end
	case 'c':
		a, _ := f.next()
		_, n := utf8.DecodeRuneInString(a)
		_, _ = fmt.Fprintf(&f.out, spec+"s", a[:n])
	case 'd', 'i', 'u', 'o', 'x', 'X':
		verb := string(c)
		if c == 'i' || c == 'u' {
			verb = "d"
		}
		_, _ = fmt.Fprintf(&f.out, spec+verb, f.integer())
	case 'e', 'E', 'f', 'F', 'g', 'G':
		a, _ := f.next()
		v, err := strconv.ParseFloat(a, 64)
		if err != nil && a != "" {
			f.bad(a)
		}
		_, _ = fmt.Fprintf(&f.out, spec+string(c), v)
	default:
		f.s.errf("printf: `%c': invalid format character", c)
		f.status = 1
	}
	return false
}

func (f *formatter) integer() int64 {
	a, ok := f.next()
	if !ok || a == "" {
		return 0
	}
	if a[0] == '\'' || a[0] == '"' {
		r, _ := utf8.DecodeRuneInString(a[1:])
		return int64(r)
	}
	v, err := strconv.ParseInt(a, 0, 64)
	if err != nil {
		f.bad(a)
	}
	return v
}

func (f *formatter) bad(a string) {
	f.s.errf("printf: %s: invalid number", a)
	f.status = 1
}

func (f *formatter) date(layout string) {
	a, ok := f.next()
	t := f.s.p.Sys.Clock.Now()
	if ok && a != "-1" && a != "-2" {
		n, _ := strconv.ParseInt(a, 10, 64)
		t = time.Unix(n, 0)
	}
	if layout == "" {
		layout = "%X"
	}
	f.out.WriteString(Strftime(t.UTC(), layout))
}

// shellQuote quotes as printf %q does: backslashes, or $'…' for control characters.
func shellQuote(t string) string {
	if t == "" {
		return "''"
	}
	for _, r := range t {
		if r < ' ' || r == 127 {
			return "$'" + strings.NewReplacer("\n", `\n`, "\t", `\t`, "\r", `\r`, `\`, `\\`, "'", `\'`).Replace(t) + "'"
		}
	}
	var b strings.Builder
	for i, r := range t {
		if strings.ContainsRune(" !\"#$&'()*;<>?[\\]^`{|},", r) && (r != '#' || i == 0) || r == '~' && i == 0 {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Strftime formats a time as date(1) and printf's %(…)T do.
func Strftime(t time.Time, layout string) string {
	var b strings.Builder
	for i := 0; i < len(layout); i++ {
		if layout[i] != '%' || i+1 == len(layout) {
			b.WriteByte(layout[i])
			continue
		}
		i++
		pad := byte(0)
		if (layout[i] == '-' || layout[i] == '_') && i+1 < len(layout) {
			pad = layout[i]
			i++
		}
		digits := 0
		for layout[i] >= '0' && layout[i] <= '9' && i+1 < len(layout) {
			digits = digits*10 + int(layout[i]-'0')
			i++
		}
		num := func(n, width int) {
			switch pad {
			case '-':
				b.WriteString(strconv.Itoa(n))
			case '_':
				_, _ = fmt.Fprintf(&b, "%*d", width, n)
			default:
				_, _ = fmt.Fprintf(&b, "%0*d", width, n)
			}
		}
		switch layout[i] {
		case 'Y':
			num(t.Year(), 4)
		case 'y':
			num(t.Year()%100, 2)
		case 'm':
			num(int(t.Month()), 2)
		case 'd':
			num(t.Day(), 2)
		case 'e':
			_, _ = fmt.Fprintf(&b, "%2d", t.Day())
		case 'H':
			num(t.Hour(), 2)
		case 'I':
			num((t.Hour()+11)%12+1, 2)
		case 'M':
			num(t.Minute(), 2)
		case 'S':
			num(t.Second(), 2)
		case 'j':
			num(t.YearDay(), 3)
		case 'N':
			ns := fmt.Sprintf("%09d", t.Nanosecond())
			if digits > 0 && digits < 9 {
				ns = ns[:digits]
			}
			b.WriteString(ns)
		case 's':
			b.WriteString(strconv.FormatInt(t.Unix(), 10))
		case 'F':
			b.WriteString(t.Format("2006-01-02"))
		case 'T', 'X':
			b.WriteString(t.Format("15:04:05"))
		case 'R':
			b.WriteString(t.Format("15:04"))
		case 'D', 'x':
			b.WriteString(t.Format("01/02/06"))
		case 'c':
			b.WriteString(t.Format("Mon Jan _2 15:04:05 2006"))
		case 'r':
			b.WriteString(t.Format("03:04:05 PM"))
		case 'p':
			b.WriteString(t.Format("PM"))
		case 'a':
			b.WriteString(t.Format("Mon"))
		case 'A':
			b.WriteString(t.Format("Monday"))
		case 'b', 'h':
			b.WriteString(t.Format("Jan"))
		case 'B':
			b.WriteString(t.Format("January"))
		case 'u':
			num((int(t.Weekday())+6)%7+1, 1)
		case 'w':
			num(int(t.Weekday()), 1)
		case 'Z':
			b.WriteString(t.Format("MST"))
		case 'z':
			b.WriteString(t.Format("-0700"))
		case ':':
			if strings.HasPrefix(layout[i:], ":z") {
				i++
				b.WriteString(t.Format("-07:00"))
			}
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case '%':
			b.WriteByte('%')
		default:
			b.WriteString(layout[i-1 : i+1])
		}
	}
	return b.String()
}
