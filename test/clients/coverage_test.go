package clients_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

// used are the commands that tests have run: those that worked, and those that were refused with a text for the user.
var used = struct {
	mu              sync.Mutex
	worked, refused map[string]bool
}{worked: map[string]bool{}, refused: map[string]bool{}}

// note notes that a command line has worked or was refused.
func note(line string, worked bool) {
	used.mu.Lock()
	defer used.mu.Unlock()
	if worked {
		used.worked[line] = true
	} else {
		used.refused[line] = true
	}
}

// families are the commands that Gybe serves, by how they begin.
var families = []string{"vnflcm ", "vnf package ", "vim "}

// entryPoints are the commands of those families that the client has in any version, by its own list.
func entryPoints() ([]string, error) {
	raw, err := exec.Command(python, "-c", `from importlib.metadata import entry_points
for version in ("v1", "v2"):
    for point in entry_points(group="openstack.tackerclient." + version):
        print(point.name.replace("_", " "))`).Output()
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range strings.Lines(string(raw)) {
		name = strings.TrimSpace(name)
		if slices.ContainsFunc(families, func(f string) bool { return strings.HasPrefix(name, f) }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// missing lists the commands of the client that no line of a set runs.
func missing(commands []string, lines map[string]bool) (names []string) {
	for _, name := range commands {
		found := false
		for line := range lines {
			found = found || line == name || strings.HasPrefix(line, name+" ")
		}
		if !found {
			names = append(names, name)
		}
	}
	return names
}

// TestMain fails a complete run in which a command of the client did not work at least once, or was not refused at
// least once.
func TestMain(m *testing.M) {
	code := m.Run()
	if _, err := client(); err != nil {
		fmt.Fprintln(os.Stdout, "!!!! NOT RUN: the openstack client is not installed, so none of its commands was "+
			"tried:\n!!!! apt-get install python3-openstackclient python3-tackerclient")
		os.Exit(code)
	}
	if code == 0 && flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.list").Value.String() == "" {
		code = complete(os.Stdout)
	}
	os.Exit(code)
}

// complete returns the exit code of a complete run, and writes what is missing.
func complete(out io.Writer) int {
	commands, err := entryPoints()
	if err != nil || len(commands) < 20 {
		fmt.Fprintln(out, "FAIL: read the commands of the client:", commands, err)
		return 1
	}
	used.mu.Lock()
	defer used.mu.Unlock()
	code := 0
	for _, name := range missing(commands, used.worked) {
		fmt.Fprintln(out, "FAIL: no test has run with success: openstack", name)
		code = 1
	}
	for _, name := range missing(commands, used.refused) {
		fmt.Fprintln(out, "FAIL: no test has seen an error of: openstack", name)
		code = 1
	}
	return code
}
