package shell

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// trapName normalises a signal spec for trap: EXIT, ERR, DEBUG, RETURN or a signal without SIG.
func trapName(t string) (string, bool) {
	switch u := strings.ToUpper(t); u {
	case "0":
		return "EXIT", true
	case "EXIT", "ERR", "DEBUG", "RETURN":
		return u, true
	}
	sig, ok := process.ParseSignal(t)
	return sig.Name(), ok
}

func trap(s *Shell, args []string) int {
	args = args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	s.sigMu.Lock()
	defer s.sigMu.Unlock()
	if len(args) == 0 || args[0] == "-p" {
		for _, n := range slices.Sorted(maps.Keys(s.traps)) {
			show := n
			if _, ok := process.ParseSignal(n); ok {
				show = "SIG" + n
			}
			if len(args) < 2 || slices.Contains(args[1:], n) || slices.Contains(args[1:], show) {
				s.p.Printf("trap -- %s %s\n", quoteSingle(s.traps[n]), show)
			}
		}
		return 0
	}
	if args[0] == "-l" {
		s.p.Printf(" 1) SIGHUP\t 2) SIGINT\t 3) SIGQUIT\t 9) SIGKILL\t15) SIGTERM\n")
		return 0
	}
	cmd, names := args[0], args[1:]
	if _, isSig := trapName(cmd); len(names) == 0 && isSig {
		cmd, names = "-", args
	}
	status := 0
	for _, n := range names {
		name, ok := trapName(n)
		if !ok {
			s.errf("trap: %s: invalid signal specification", n)
			status = 1
			continue
		}
		if cmd == "-" {
			delete(s.traps, name)
		} else {
			s.traps[name] = cmd
		}
		if sig, isSig := process.ParseSignal(name); isSig && cmd == "" {
			s.p.Ignore(sig)
		}
	}
	return status
}

func quoteSingle(t string) string { return "'" + strings.ReplaceAll(t, "'", `'\''`) + "'" }

func wait(s *Shell, args []string) int {
	args = args[1:]
	any, into := false, ""
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		switch args[0] {
		case "-n":
			any = true
		case "-p":
			if len(args) > 1 {
				into, args = args[1], args[1:]
			}
		case "-f":
		default:
			s.errf("wait: %s: invalid option", args[0])
			return 2
		}
		args = args[1:]
	}
	jobs := s.jobs
	if len(args) > 0 {
		jobs = nil
		for _, a := range args {
			j := s.job(a)
			if j == nil {
				s.errf("wait: pid %s is not a child of this shell", a)
				return 127
			}
			jobs = append(jobs, j)
		}
	}
	if any {
		return s.waitAny(jobs, into)
	}
	status := 0
	for _, j := range jobs {
		st, ok := s.waitJob(j)
		if !ok {
			return st
		}
		status = st
		j.waited = true
	}
	if len(args) == 0 {
		s.jobs = nil
		return 0
	}
	return status
}

// waitJob waits for one job; false if a signal came first.
func (s *Shell) waitJob(j *job) (int, bool) {
	wake := make(chan process.Signal, 1)
	s.p.Handle(func(sig process.Signal) bool {
		handled := s.onSignal(sig)
		if handled {
			select {
			case wake <- sig:
			default:
			}
		}
		return handled
	})
	defer s.p.Handle(s.onSignal)
	for {
		select {
		case <-j.p.Done():
			st, _ := j.p.Wait(s.p.Context())
			return st, true
		case <-s.p.Context().Done():
			s.ctl = ctlExit
			return 128 + int(process.SIGKILL), false
		case sig := <-wake:
			if s.hasPending() || s.fatal.Load() != 0 {
				return 128 + int(sig), false
			}
		}
	}
}

func (s *Shell) waitAny(jobs []*job, into string) int {
	var open []*job
	for _, j := range jobs {
		if !j.waited {
			open = append(open, j)
		}
	}
	if len(open) == 0 {
		return 127
	}
	first := make(chan *job, len(open))
	stop := make(chan struct{})
	defer close(stop)
	for _, j := range open {
		go func() {
			select {
			case <-j.p.Done():
				first <- j
			case <-stop:
			}
		}()
	}
	select {
	case j := <-first:
		j.waited = true
		s.jobs = slices.DeleteFunc(s.jobs, func(x *job) bool { return x == j })
		if into != "" {
			s.setStr(into, strconv.Itoa(j.p.PID))
		}
		st, _ := j.p.Wait(s.p.Context())
		return st
	case <-s.p.Context().Done():
		s.ctl = ctlExit
		return 128 + int(process.SIGKILL)
	}
}

// job finds a child by pid or %n.
func (s *Shell) job(spec string) *job {
	if n, ok := strings.CutPrefix(spec, "%"); ok {
		i, err := strconv.Atoi(n)
		if err != nil {
			i = len(s.jobs)
		}
		if i >= 1 && i <= len(s.jobs) {
			return s.jobs[i-1]
		}
		return nil
	}
	pid, err := strconv.Atoi(spec)
	if err != nil {
		return nil
	}
	for _, j := range s.jobs {
		if j.p.PID == pid {
			return j
		}
	}
	return nil
}

func jobs(s *Shell, args []string) int {
	for i, j := range s.jobs {
		select {
		case <-j.p.Done():
			continue
		default:
		}
		if slices.Contains(args, "-p") {
			s.p.Printf("%d\n", j.p.PID)
		} else {
			s.p.Printf("[%d]   Running                 %s &\n", i+1, strings.Join(j.p.Cmdline(), " "))
		}
	}
	return 0
}

func kill(s *Shell, args []string) int {
	sig := process.SIGTERM
	args = args[1:]
	if len(args) > 0 && args[0] == "-l" {
		if len(args) > 1 {
			n, _ := strconv.Atoi(args[1])
			s.p.Printf("%s\n", process.Signal(n&127).Name())
		}
		return 0
	}
	if len(args) > 1 && (args[0] == "-s" || args[0] == "-n") {
		v, ok := process.ParseSignal(args[1])
		if !ok {
			s.errf("kill: %s: invalid signal specification", args[1])
			return 1
		}
		sig, args = v, args[2:]
	} else if len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && args[0] != "--" {
		v, ok := process.ParseSignal(args[0][1:])
		if !ok {
			s.errf("kill: %s: invalid signal specification", args[0][1:])
			return 1
		}
		sig, args = v, args[1:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		s.errf("kill: usage: kill [-s sigspec | -n signum | -sigspec] pid | jobspec ...")
		return 2
	}
	status := 0
	for _, a := range args {
		pid, err := strconv.Atoi(a)
		if j := s.job(a); j != nil && strings.HasPrefix(a, "%") {
			pid, err = j.p.PID, nil
		}
		if err != nil {
			s.errf("kill: %s: arguments must be process or job IDs", a)
			status = 1
			continue
		}
		if err := s.p.Kill(pid, sig); err != nil {
			s.errf("kill: (%d) - %s", pid, process.Reason(err))
			status = 1
		}
	}
	return status
}
