package kubespray

import (
	"regexp"
	"strconv"
	"strings"
)

// Result is the line of a host in the PLAY RECAP of a run.
type Result struct {
	Host string
	// Counts is the line as Ansible wrote it: "ok=12 changed=3 unreachable=0 failed=0 …".
	Counts              string
	Failed, Unreachable int
	// Task is the task that failed on the host, and Cause what Ansible wrote about it; "" if it did not fail.
	Task, Cause string
}

// Good says that no task failed on the host.
func (r Result) Good() bool { return r.Failed == 0 && r.Unreachable == 0 }

// String describes a host that failed, for people.
func (r Result) String() string {
	out := r.Host
	if r.Task != "" {
		out += ": task " + r.Task
	}
	switch {
	case r.Cause != "":
		return out + ": " + r.Cause
	case r.Unreachable > 0:
		return out + ": it cannot be reached from the Ansible host"
	}
	return out + ": " + r.Counts
}

var (
	recapLine = regexp.MustCompile(`^(\S+)\s+:\s+(ok=\d+\s.*)$`)
	taskLine  = regexp.MustCompile(`^(?:TASK|RUNNING HANDLER) \[(.*)\] \**$`)
	fatalLine = regexp.MustCompile(`^(?:fatal|failed): \[([^\]\s]+)(?: -> [^\]]*)?\][^=]*?: (?:FAILED!|UNREACHABLE!) => (.*)$`)
	message   = regexp.MustCompile(`"msg": "((?:[^"\\]|\\.)*)"`)
	retried   = regexp.MustCompile(`^\.\.\.ignoring`)
)

// maxCause bounds the words about one failure.
const maxCause = 500

// Recap reads the results from the output of ansible-playbook, or from its end. It is empty if the run has written
// none, because it was cut off or could not start.
func Recap(output []byte) []Result {
	var out []Result
	type failure struct{ task, cause string }
	failures := map[string]failure{}
	task, last, inRecap := "", "", false
	for line := range strings.Lines(strings.ToValidUTF8(string(output), "\uFFFD")) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "PLAY RECAP ") {
			inRecap, out = true, nil
			continue
		}
		if inRecap {
			if m := recapLine.FindStringSubmatch(line); m != nil {
				f := failures[m[1]]
				r := Result{
					Host: m[1], Counts: strings.Join(strings.Fields(m[2]), " "), Failed: count(m[2], "failed"),
					Unreachable: count(m[2], "unreachable"),
				}
				if !r.Good() {
					r.Task, r.Cause = f.task, f.cause
				}
				out = append(out, r)
			}
			continue
		}
		if m := taskLine.FindStringSubmatch(line); m != nil {
			task = m[1]
		} else if m := fatalLine.FindStringSubmatch(line); m != nil {
			last = m[1]
			failures[last] = failure{task, cause(m[2])}
		} else if retried.MatchString(line) {
			delete(failures, last)
		}
	}
	return out
}

// count is a number of a line of the recap; 0 if the line does not have it.
func count(line, name string) int {
	for word := range strings.FieldsSeq(line) {
		if v, ok := strings.CutPrefix(word, name+"="); ok {
			n, _ := strconv.Atoi(v) // only digits pass the pattern of the line's beginning; others count as none
			return n
		}
	}
	return 0
}

// cause is the message in the JSON of a failure, or its beginning.
func cause(raw string) string {
	if m := message.FindStringSubmatch(raw); m != nil {
		if text, err := strconv.Unquote(`"` + m[1] + `"`); err == nil {
			raw = text
		} else {
			raw = m[1]
		}
	}
	raw = strings.Join(strings.Fields(raw), " ")
	if len(raw) > maxCause {
		raw = strings.ToValidUTF8(raw[:maxCause], "") + " …"
	}
	return raw
}
