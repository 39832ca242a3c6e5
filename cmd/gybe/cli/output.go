package cli

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// formats of --output.
var formats = []string{"table", "json", "yaml"}

// show writes a result: as it is in JSON or YAML, or with table for people.
func (a *app) show(v any, table func(w io.Writer)) error {
	switch a.output {
	case "json":
		enc := json.NewEncoder(a.env.Stdout)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	case "yaml":
		raw, err := asYAML(v)
		if err != nil {
			return err
		}
		_, err = a.env.Stdout.Write(raw)
		return err
	}
	table(a.env.Stdout)
	return nil
}

// asYAML writes v with its JSON names.
func asYAML(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var plain any
	if err := json.Unmarshal(raw, &plain); err != nil {
		return nil, err
	}
	return yaml.Dump(plain)
}

// table writes aligned columns with a head.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// dropEmpty removes those of the named columns in which no row has a text.
func (t *table) dropEmpty(names ...string) {
	for i, name := range slices.Backward(t.head) {
		filled := slices.ContainsFunc(t.rows, func(row []string) bool { return row[i] != "" })
		if filled || !slices.Contains(names, name) {
			continue
		}
		t.head = slices.Delete(t.head, i, i+1)
		for n := range t.rows {
			t.rows[n] = slices.Delete(t.rows[n], i, i+1)
		}
	}
}

// write renders the table; paint may colour a cell after its width is known.
func (t *table) write(w io.Writer, paint func(string) string) {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	line := func(row []string, paint func(string) string) {
		var b strings.Builder
		for i, c := range row {
			b.WriteString(paint(c))
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)+2))
			}
		}
		printline(w, strings.TrimRight(b.String(), " "))
	}
	line(t.head, func(s string) string { return s })
	for _, row := range t.rows {
		line(row, paint)
	}
}

// fields writes names and values, one a line.
func fields(w io.Writer, paint func(string) string, pairs ...string) {
	width := 0
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			width = max(width, len(pairs[i]))
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			continue
		}
		lines := strings.Split(strings.TrimRight(pairs[i+1], "\n"), "\n")
		printf(w, "%-*s  %s\n", width, pairs[i], paint(lines[0]))
		for _, l := range lines[1:] {
			printf(w, "%-*s  %s\n", width, "", l)
		}
	}
}

// Colours of states, as terminals know them.
const (
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	reset  = "\x1b[0m"
)

var colours = map[string]string{
	"COMPLETED": green, "DONE": green, "INSTANTIATED": green, "ONBOARDED": green, "ENABLED": green, "STARTED": green,
	"alive": green, "STARTING": yellow, "PROCESSING": yellow, "RUNNING": yellow, "WAITING": yellow,
	"ROLLING_BACK": yellow, "UPLOADING": yellow, "OK": green, "WARNING": yellow, "add": green, "remove": red,
	"replace": yellow, "change": yellow, "READY": green, "NOT_READY": red, "FAILING": red,
	"PENDING": yellow, "DELIVERED": green, "DEAD": red, "ABSENT": red, "UNKNOWN": yellow,
	"FAILED": red, "FAILED_TEMP": red, "ROLLED_BACK": red, "ERROR": red, "gone": red,
	"TRUSTED": green, "UNSIGNED": yellow, "passed": green, "failed": red, "warning": yellow,
}

// paint colours a word that is a state, on terminals only.
func (a *app) paint(s string) string {
	if !a.env.Terminal || a.env.get("NO_COLOR") != "" || a.env.get("TERM") == "dumb" {
		return s
	}
	if c, ok := colours[s]; ok {
		return c + s + reset
	}
	return s
}

// compact writes a document in YAML, indented, for the value of a field; "" when there is nothing.
func compact(v any) string {
	raw, err := asYAML(v)
	if err != nil {
		return ""
	}
	text := strings.TrimSpace(string(raw))
	if text == "null" || text == "{}" || text == "[]" {
		return ""
	}
	return text
}
