package conformance_test

import (
	"bufio"
	"embed"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:embed testdata/*.txt
var files embed.FS

// lists are the lists of cases, with the number that each has.
var lists = []struct {
	name, title string
	cases       int
	versions    []apiVersion
}{
	{"sol003-vnflcm", "SOL003 VNF lifecycle management", 171, []apiVersion{{api: "2.0.0"}, {api: "2.3.0"}}},
	{"sol003-granting", "SOL003 VNF lifecycle operation granting", 24, nil},
	{"sol003-vnfpkgm", "SOL003 VNF package management", 136, packageVersions},
	{"sol005-vnfpkgm", "SOL005 VNF package management", 98, packageVersions},
}

// packageVersions are the versions of package management. The tables have the paths of version 1.
var packageVersions = []apiVersion{{api: "1"}, {"/vnfpkgm/v1/", "/vnfpkgm/v2/", "2.1.0"}}

// apiVersion is a version with which cases run.
type apiVersion struct {
	from, to string // replaces the beginning of paths
	api      string // of the Version header
}

// The classes of a row.
const (
	passes        = "pass"
	notApplicable = "not applicable"
	errorOfList   = "error of the list"
	open          = "open"
)

// row is one case of a list.
type row struct {
	id, file string
	// request is what the list sends: a method, a path, the name of a body and headers; or "workflow" and a name.
	request string
	// state is what has to be there before.
	state string
	// want is what the list expects, right what the standard wants if that is different.
	want, right string
	class       string
	// reason is the key of the reason of a class other than pass.
	reason string
}

// expected is what the node has to answer.
func (r row) expected() string {
	if r.right != "" {
		return r.right
	}
	return r.want
}

func readTable(name string) ([]row, error) {
	f, err := files.Open("testdata/" + name + ".txt")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var rows []row
	file, base := "", ""
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "file "):
			file, base, _ = strings.Cut(strings.TrimPrefix(line, "file "), " ")
		case strings.HasPrefix(line, " "):
			if err := rows[len(rows)-1].classify(strings.TrimSpace(line)); err != nil {
				return nil, err
			}
		default:
			cells := strings.Split(line, "|")
			if len(cells) != 4 {
				return nil, fmt.Errorf("%q does not have four cells", line)
			}
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, row{
				id: cells[0], file: file, request: strings.Replace(cells[1], "~", base, 1), state: cells[2],
				want: cells[3], class: passes,
			})
		}
	}
	return rows, nil
}

// classify reads "n/a REASON", "open FEATURE" or "list WANTED; REASON". "list-open" is a list's error in a feature that
// does not exist yet.
func (r *row) classify(text string) error {
	kind, rest, _ := strings.Cut(text, " ")
	switch kind {
	case "n/a":
		r.class, r.reason = notApplicable, rest
	case "open":
		r.class, r.reason = open, rest
	case "list-open":
		r.class = open
		r.right, r.reason, _ = strings.Cut(rest, "; ")
	case "list":
		r.class = errorOfList
		r.right, r.reason, _ = strings.Cut(rest, "; ")
	default:
		return fmt.Errorf("%s: unknown class %q", r.id, text)
	}
	return nil
}

// reasons explain the classes.
var reasons = map[string]string{
	"pages":         "SOL013 clause 5.4.2.1: a server rejects big responses or divides them; Gybe divides them",
	"nfvo":          "the case tests the server of an NFVO; test/nfvo holds Gybe's requests to both documents",
	"one-api":       "one resource serves SOL003 and SOL005; SOL005 has this method, and the cases of its list test it",
	"ranges":        "the case is for servers without support of ranges; the case with 206 tests Gybe",
	"not-onboarded": "a package has no vnfdId before it is ONBOARDED, so none is found",
	"conflict":      "the case wants 202 and ProblemDetails at the same time",
	"get-is-200":    "a GET is answered with 200",
	"fail-is-200":   "fail is answered with 200 and the operation",
	"delete-exists": "the resource has the method DELETE",
	"upload-is-202": "an upload is accepted with 202 and processed afterwards",
}

func TestListsAreComplete(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, l := range lists {
		rows, err := readTable(l.name)
		require.NoError(t, err)
		require.Len(t, rows, l.cases, l.name)
		ids := map[string]bool{}
		for _, r := range rows {
			require.False(t, ids[r.id], "%s is listed twice", r.id)
			ids[r.id] = true
			if r.class == notApplicable || r.class == errorOfList {
				require.Contains(t, reasons, r.reason, r.id)
				used[r.reason] = true
			}
			require.Equal(t, r.class == errorOfList, r.class != open && r.right != "" && r.right != r.want, r.id)
		}
	}
	for key := range reasons {
		require.True(t, used[key], "no case has the reason %q", key)
	}
}
