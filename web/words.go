package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

// badge is a state for people: a word and a shape, never a colour alone.
type badge struct {
	Kind string // ok, run, wait, warn, bad, back, lock, share, idle: the shape
	Word string
	Code string // as the interfaces say it
}

var badges = map[string]badge{
	"INSTANTIATED": {Kind: "ok", Word: "Instantiated"}, "NOT_INSTANTIATED": {Kind: "idle", Word: "Not instantiated"},
	"STARTED": {Kind: "ok", Word: "Started"}, "STOPPED": {Kind: "idle", Word: "Stopped"},
	"STARTING": {Kind: "run", Word: "Starting"}, "PROCESSING": {Kind: "run", Word: "Processing"},
	"COMPLETED": {Kind: "ok", Word: "Completed"}, "FAILED_TEMP": {Kind: "warn", Word: "Failed, needs a decision"},
	"FAILED": {Kind: "bad", Word: "Failed"}, "ROLLING_BACK": {Kind: "run", Word: "Rolling back"},
	"ROLLED_BACK": {Kind: "back", Word: "Rolled back"},
	"RUNNING":     {Kind: "run", Word: "Running"}, "WAITING": {Kind: "wait", Word: "Waiting"},
	"DONE": {Kind: "ok", Word: "Done"}, "OPEN": {Kind: "run", Word: "Running"},
	"UNFINISHED": {Kind: "idle", Word: "Unfinished"}, "RETRYING": {Kind: "warn", Word: "Retrying"},
	"CREATED": {Kind: "idle", Word: "Created"}, "UPLOADING": {Kind: "run", Word: "Uploading"},
	"ONBOARDED": {Kind: "ok", Word: "Onboarded"}, "ERROR": {Kind: "bad", Word: "Error"},
	"REFUSED": {Kind: "bad", Word: "Refused"}, "ENABLED": {Kind: "ok", Word: "Enabled"},
	"DISABLED": {Kind: "idle", Word: "Disabled"}, "IN_USE": {Kind: "ok", Word: "In use"},
	"NOT_IN_USE": {Kind: "idle", Word: "Not in use"}, "ALIVE": {Kind: "ok", Word: "Alive"},
	"TRUSTED": {Kind: "ok", Word: "Trusted"}, "UNSIGNED": {Kind: "idle", Word: "Unsigned"},
	"UNTRUSTED": {Kind: "warn", Word: "Not trusted"}, "PASSED": {Kind: "ok", Word: "Passed"},
	"WARNING": {Kind: "warn", Word: "Warning"}, "SKIPPED": {Kind: "idle", Word: "Skipped"},
	"HEALTHY": {Kind: "ok", Word: "Healthy"}, "FAILING": {Kind: "bad", Word: "Failing"},
	"DEAD_LETTERS": {Kind: "warn", Word: "Has dead letters"},
	"PROTECTED":    {Kind: "lock", Word: "Protected"},
	"SHARED":       {Kind: "share", Word: "Shared with all projects"},
	"FOREIGN":      {Kind: "share", Word: "Shared by another project"},
	"UNREACHABLE":  {Kind: "warn", Word: "Does not answer"},
	"COMPLETE":     {Kind: "ok", Word: "Complete"}, "TAKING": {Kind: "run", Word: "Being taken"},
	"INCOMPLETE": {Kind: "warn", Word: "Not complete"}, "DELETING": {Kind: "run", Word: "Being deleted"},
	"SILENT": {Kind: "warn", Word: "Silent"}, "ENDED": {Kind: "idle", Word: "Ended"},
}

// badgeOf finds the badge of a state of any interface; one that is unknown shows as it is.
func badgeOf(state any) badge {
	code := fmt.Sprint(state)
	b, ok := badges[code]
	if !ok {
		b = badge{Kind: "idle", Word: words(code)}
	}
	b.Code = code
	return b
}

// words makes "Scale to level" of SCALE_TO_LEVEL, and "Instantiate end" of instantiate_end.
func words[S ~string](code S) string {
	s := strings.ToLower(strings.ReplaceAll(string(code), "_", " "))
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// operationName is an operation's name for people.
func operationName(t sol.LcmOperationType) string {
	switch t { //nolint:exhaustive // the others are words
	case sol.LcmOperationChangeExtConn:
		return "Change external connectivity"
	case sol.LcmOperationChangeVnfpkg:
		return "Change package"
	case sol.LcmOperationModifyInfo:
		return "Modify information"
	}
	return words(t)
}

// stamp is a time for people and machines.
type stamp struct{ ISO, Text string }

func stampOf(t time.Time) stamp {
	if t.IsZero() {
		return stamp{}
	}
	t = t.UTC()
	return stamp{ISO: t.Format(time.RFC3339Nano), Text: t.Format("2006-01-02 15:04:05")}
}

// took writes a duration in two units at most.
func took(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// short cuts what may be of any length.
func short(s string) string { return cut(s, 160) }

// cut keeps at most n runes.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// pair is a name and a value.
type pair struct{ Name, Value string }

// maxPairs is how many values of an attribute with free names are shown.
const maxPairs = 500

// flatten lists the leaves of an open object, without secrets.
func flatten(kv sol.KeyValuePairs, r redact.Redactor) []pair { return leavesOf(r.Pairs(kv)) }

// leavesOf lists the leaves of an open object.
func leavesOf(kv sol.KeyValuePairs) []pair {
	var out []pair
	var walk func(name string, v any)
	walk = func(name string, v any) {
		if len(out) > maxPairs {
			return
		}
		name = short(name)
		m, ok := v.(map[string]any)
		if kv, isKV := v.(sol.KeyValuePairs); isKV {
			m, ok = kv, true
		}
		switch {
		case ok && len(m) > 0:
			for _, k := range slices.Sorted(maps.Keys(m)) {
				walk(strings.TrimPrefix(name+"."+k, "."), m[k])
			}
		case v == nil:
			out = append(out, pair{name, ""})
		default:
			text, isText := v.(string)
			if !isText {
				raw, _ := json.Marshal(v) // it came from JSON
				text = string(raw)
			}
			out = append(out, pair{name, short(text)})
		}
	}
	if len(kv) > 0 {
		walk("", map[string]any(kv))
	}
	if len(out) > maxPairs {
		out = append(out[:maxPairs], pair{"…", "the API shows the others"})
	}
	return out
}

// document indents the body of a request, without secrets.
func document(raw json.RawMessage, r redact.Redactor) string {
	var out bytes.Buffer
	if json.Indent(&out, r.Params(raw), "", "  ") != nil {
		return ""
	}
	return out.String()
}
