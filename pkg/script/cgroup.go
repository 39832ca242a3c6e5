package script

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of a script with its child processes, in a control group.
const (
	groupMemory = 2 << 30                  // bytes, with files in /tmp and /dev/shm
	groupCPU    = "100000 100000"          // one CPU: microseconds in each period of microseconds
	nodeGroup   = "gybe-node"              // the group of this process
	groupPrefix = "gybe-script-"           // the groups of runs
	killFile    = "cgroup.kill"            // since Linux 5.14
	procsFile   = "cgroup.procs"           // ids of the processes of a group
	enabledFile = "cgroup.subtree_control" // controllers of the groups below
)

// groupLimits are the limits of a run by file. Swap would only delay the end.
var groupLimits = []struct{ controller, file, value string }{
	{"memory", "memory.max", strconv.Itoa(groupMemory)},
	{"memory", "memory.swap.max", "0"},
	{"memory", "memory.oom.group", "1"},
	{"pids", "pids.max", strconv.Itoa(limitProcesses)},
	{"cpu", "cpu.max", groupCPU},
}

// wantedControllers limit runs. Each is used if it is there, also without the others: a limit of processes alone stops
// a fork bomb, and one of memory alone keeps the node.
var wantedControllers = []string{"memory", "pids", "cpu"}

// groups creates control groups (cgroup v2) for runs below a group that belongs to Gybe.
type groups struct {
	dir         string
	controllers []string // those of wantedControllers that are there
}

// missing returns the controllers that the group does not have.
func (g *groups) missing() []string {
	return slices.DeleteFunc(slices.Clone(wantedControllers), func(c string) bool {
		return slices.Contains(g.controllers, c)
	})
}

// newGroups prepares a control group that was delegated to this process: it moves the group's processes into a group
// of their own, because a group with limited groups below it has no processes, and removes what dead processes left.
// It uses the controllers that are there, and returns an error if they limit neither memory nor processes.
func newGroups(dir string) (*groups, error) {
	available, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return nil, err
	}
	g := &groups{dir: dir}
	there := strings.Fields(string(available))
	for _, c := range wantedControllers {
		if slices.Contains(there, c) {
			g.controllers = append(g.controllers, c)
		}
	}
	if !slices.Contains(g.controllers, "memory") && !slices.Contains(g.controllers, "pids") {
		return nil, fmt.Errorf("the control group %s has the controllers %q, without memory and pids", dir,
			strings.TrimSpace(string(available)))
	}
	if err := g.moveProcesses(); err != nil {
		return nil, fmt.Errorf("move the processes of the control group %s: %w", dir, err)
	}
	enable := "+" + strings.Join(g.controllers, " +")
	if err := writeGroupFile(filepath.Join(dir, enabledFile), enable); err != nil {
		return nil, fmt.Errorf("enable controllers: %w", err)
	}
	g.sweep()
	return g, nil
}

// moveProcesses moves the processes of the group into nodeGroup.
func (g *groups) moveProcesses() error {
	leaf := filepath.Join(g.dir, nodeGroup)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, os.ErrExist) { //nolint:gosec // of the kernel
		return err
	}
	pids, err := os.ReadFile(filepath.Join(g.dir, procsFile))
	if err != nil {
		return err
	}
	for pid := range strings.FieldsSeq(string(pids)) {
		if err := writeGroupFile(filepath.Join(leaf, procsFile), pid); err != nil && !errors.Is(err, errNoProcess) {
			return err
		}
	}
	return nil
}

// sweep removes the groups of dead processes.
func (g *groups) sweep() {
	left, err := filepath.Glob(filepath.Join(g.dir, groupPrefix+"*"))
	if err != nil {
		return // the pattern is constant and valid
	}
	for _, dir := range left {
		if pids, err := os.ReadFile(filepath.Join(dir, procsFile)); err == nil && len(bytes.TrimSpace(pids)) == 0 {
			_ = os.Remove(dir) // a run of another node may just have begun in it; then it is not empty
		}
	}
}

// group is the control group of one run. The zero value is none.
type group struct {
	dir  string
	file *os.File // of the directory
}

// create creates the group of a run.
func (g *groups) create() (group, error) {
	dir := filepath.Join(g.dir, groupPrefix+rand.Text())
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // a directory of the kernel
		return group{}, err
	}
	if err := g.limit(dir); err != nil {
		return group{}, errors.Join(err, os.Remove(dir))
	}
	f, err := os.Open(dir)
	if err != nil {
		return group{}, errors.Join(err, os.Remove(dir))
	}
	return group{dir: dir, file: f}, nil
}

// limit writes the limits of the group of a run.
func (g *groups) limit(dir string) error {
	for _, l := range groupLimits {
		if !slices.Contains(g.controllers, l.controller) {
			continue
		}
		err := writeGroupFile(filepath.Join(dir, l.file), l.value)
		if errors.Is(err, os.ErrNotExist) && l.file == "memory.swap.max" { // a kernel without swap
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// killTime limits the wait for the end of killed processes.
const killTime = 10 * time.Second

// remove kills the processes of a group and removes it.
func (g group) remove() error {
	if g.file == nil {
		return nil
	}
	_ = g.file.Close()                                      // a directory
	_ = writeGroupFile(filepath.Join(g.dir, killFile), "1") // an older kernel: the sandbox ends its processes itself
	awaitEmpty(g.dir)
	if err := os.Remove(g.dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// writeGroupFile writes to a file that the kernel has created.
func writeGroupFile(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// ownGroup finds the control group of this process, its name and its directory: the one of cgroup v2 in the lists of
// mounts and of groups that the kernel shows.
func ownGroup(mounts, groups string) (name, dir string, err error) {
	for line := range strings.Lines(groups) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			name = path
		}
	}
	for line := range strings.Lines(mounts) {
		// 30 23 0:26 ROOT MOUNTPOINT OPTIONS [optional …] - TYPE SOURCE …
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if len(fields) < 5 || !strings.HasPrefix(after, "cgroup2 ") || !strings.HasPrefix(name, "/") ||
			strings.HasPrefix(name, "/..") {
			continue
		}
		path, err := filepath.Rel(fields[3], name)
		if err != nil || !filepath.IsLocal(path) {
			continue // the mount shows another part of the tree
		}
		return name, filepath.Join(fields[4], path), nil
	}
	return "", "", errors.New("cgroup v2 is not mounted")
}
