package shell

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/expand"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// readUntil reads single bytes up to delim or n bytes (n < 0: no limit), with a timeout if d ≥ 0. Single bytes, because
// what follows belongs to the next command.
func (s *Shell) readUntil(f *process.FD, delim byte, n int, raw bool, d time.Duration) (string, error) {
	ctx := s.p.Context()
	if d >= 0 {
		var cancel context.CancelFunc
		ctx, cancel = s.p.Sys.Clock.WithTimeout(ctx, d)
		defer cancel()
	}
	r := f.Reader(ctx)
	var out []byte
	one := make([]byte, 1)
	for n != 0 {
		k, err := r.Read(one)
		if k == 0 {
			if err != nil {
				return string(out), err
			}
			continue
		}
		c := one[0]
		if c == delim {
			break
		}
		if c == '\\' && !raw {
			if k, _ := r.Read(one); k == 1 {
				if one[0] == '\n' {
					continue // continued line
				}
				out = append(out, '\\', one[0])
				n--
				continue
			}
		}
		if c != 0 {
			out = append(out, c)
		}
		n--
	}
	return string(out), nil
}

func read(s *Shell, args []string) int {
	raw, fd, n, delim, array, timeout, exact := false, 0, -1, byte('\n'), "", time.Duration(-1), false
	args = args[1:]
	value := func(rest string) string {
		if rest != "" {
			return rest
		}
		if len(args) == 0 {
			return ""
		}
		v := args[0]
		args = args[1:]
		return v
	}
opts:
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		for i := 1; i < len(a); i++ {
			rest := a[i+1:]
			switch a[i] {
			case 'r':
				raw = true
			case 's', 'e':
			case 'p':
				if prompt := value(rest); s.p.TTY {
					s.p.Errorf("%s", prompt)
				}
				continue opts
			case 'u':
				fd, _ = strconv.Atoi(value(rest))
				continue opts
			case 'n', 'N':
				exact = a[i] == 'N'
				n, _ = strconv.Atoi(value(rest))
				continue opts
			case 'd':
				delim = 0
				if v := value(rest); v != "" {
					delim = v[0]
				}
				continue opts
			case 'a':
				array = value(rest)
				continue opts
			case 't':
				sec, _ := strconv.ParseFloat(value(rest), 64)
				timeout = time.Duration(sec * float64(time.Second))
				continue opts
			default:
				s.errf("read: -%c: invalid option", a[i])
				return 2
			}
		}
	}
	f := s.p.FD(fd)
	if f == nil {
		s.errf("read: %d: invalid file descriptor: Bad file descriptor", fd)
		return 1
	}
	line, err := s.readUntil(f, delim, n, raw, timeout)
	status := 0
	if err != nil {
		status = 1
		if errors.Is(err, context.DeadlineExceeded) {
			status = 142
		}
	}
	switch {
	case array != "":
		_ = s.set(array, list(expand.ReadFields(s.cfg, line, -1, raw)))
	case len(args) == 0:
		if !raw {
			line = strings.ReplaceAll(strings.ReplaceAll(line, `\\`, "\x00"), `\`, "")
			line = strings.ReplaceAll(line, "\x00", `\`)
		}
		s.setStr("REPLY", line)
	case exact:
		s.setStr(args[0], line)
	default:
		vals := expand.ReadFields(s.cfg, line, len(args), raw)
		for i, name := range args {
			v := ""
			if i < len(vals) {
				v = vals[i]
			}
			s.setStr(name, v)
		}
	}
	return status
}

func mapfile(s *Shell, args []string) int {
	name, trim, delim, fd, limit, skip := "MAPFILE", false, byte('\n'), 0, -1, 0
	args = args[1:]
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		if len(a) < 2 || a[0] != '-' {
			name = a
			break
		}
		val := func() string {
			if len(a) > 2 {
				return a[2:]
			}
			if len(args) == 0 {
				return ""
			}
			v := args[0]
			args = args[1:]
			return v
		}
		switch a[1] {
		case 't':
			trim = true
		case 'd':
			delim = 0
			if v := val(); v != "" {
				delim = v[0]
			}
		case 'u':
			fd, _ = strconv.Atoi(val())
		case 'n':
			limit, _ = strconv.Atoi(val())
		case 's':
			skip, _ = strconv.Atoi(val())
		default:
			s.errf("mapfile: %s: invalid option", a)
			return 2
		}
	}
	f := s.p.FD(fd)
	if f == nil {
		s.errf("mapfile: %d: invalid file descriptor: Bad file descriptor", fd)
		return 1
	}
	var out []string
	for limit != 0 {
		line, err := s.readUntil(f, delim, -1, true, -1)
		if err != nil && line == "" {
			break
		}
		if err == nil && !trim {
			line += string(delim)
		}
		if skip > 0 {
			skip--
		} else {
			out = append(out, line)
			limit--
		}
		if err != nil {
			break
		}
	}
	_ = s.set(name, list(out))
	return 0
}

func getopts(s *Shell, args []string) int {
	if len(args) < 3 {
		s.errf("getopts: usage: getopts optstring name [arg ...]")
		return 2
	}
	spec, name, list := args[1], args[2], s.params
	if len(args) > 3 {
		list = args[3:]
	}
	silent := strings.HasPrefix(spec, ":")
	ind, _ := strconv.Atoi(s.get("OPTIND").String())
	if ind = max(ind, 1); ind != s.optIndex {
		s.optIndex, s.optChar = ind, 0
	}
	done := func(v string, index int) int {
		s.optIndex, s.optChar = index, 0
		s.setStr("OPTIND", strconv.Itoa(index))
		s.setStr(name, v)
		return b2i(v == "?")
	}
	_ = s.set("OPTARG", expand.Variable{})
	if ind > len(list) {
		return done("?", ind)
	}
	arg := list[ind-1]
	if s.optChar == 0 {
		if arg == "--" {
			return done("?", ind+1)
		}
		if len(arg) < 2 || arg[0] != '-' {
			return done("?", ind)
		}
		s.optChar = 1
	}
	c := arg[s.optChar]
	s.optChar++
	advance := func() {
		if s.optChar >= len(arg) {
			s.optIndex++
			s.optChar = 0
		}
	}
	at := strings.IndexByte(strings.TrimPrefix(spec, ":"), c)
	opts := strings.TrimPrefix(spec, ":")
	if at < 0 || c == ':' {
		advance()
		s.setStr("OPTIND", strconv.Itoa(s.optIndex))
		s.setStr(name, "?")
		if silent {
			s.setStr("OPTARG", string(c))
		} else if s.get("OPTERR").String() != "0" {
			s.p.Errorf("%s: illegal option -- %c\n", s.name0, c)
		}
		return 0
	}
	if at+1 < len(opts) && opts[at+1] == ':' {
		value := arg[s.optChar:]
		s.optIndex++
		if value == "" {
			if s.optIndex > len(list) {
				s.optChar = 0
				s.setStr("OPTIND", strconv.Itoa(s.optIndex))
				if silent {
					s.setStr(name, ":")
					s.setStr("OPTARG", string(c))
				} else {
					s.setStr(name, "?")
					s.p.Errorf("%s: option requires an argument -- %c\n", s.name0, c)
				}
				return 0
			}
			value = list[s.optIndex-1]
			s.optIndex++
		}
		s.optChar = 0
		s.setStr("OPTARG", value)
	} else {
		advance()
	}
	s.setStr("OPTIND", strconv.Itoa(s.optIndex))
	s.setStr(name, string(c))
	return 0
}
