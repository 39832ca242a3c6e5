package script

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOwnGroup(t *testing.T) {
	t.Parallel()
	const (
		unified = "25 30 0:23 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
		memory  = "35 25 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
		hybrid  = memory + "34 25 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
		part    = "25 30 0:23 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n"
	)
	for _, tt := range []struct{ name, mounts, groups, dir string }{
		{"systemd", unified, "0::/system.slice/gybe.service\n", "/sys/fs/cgroup/system.slice/gybe.service"},
		{"container", unified, "0::/\n", "/sys/fs/cgroup"},
		{"both versions", hybrid, "4:memory:/x\n1:name=systemd:/\n0::/y\n", "/sys/fs/cgroup/unified/y"},
		{"part of the tree", part, "0::/docker/abc/z\n", "/sys/fs/cgroup/z"},
		{"another part", part, "0::/docker/def\n", ""},
		{"a group outside of the name space", unified, "0::/../x\n", ""},
		{"version 1", "35 25 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw\n", "4:memory:/x\n", ""},
	} {
		_, dir, err := ownGroup(tt.mounts, tt.groups)
		require.Equal(t, tt.dir, dir, tt.name)
		require.Equal(t, tt.dir == "", err != nil, tt.name)
	}
}

// testGroup creates a control group for a test and skips the test where that is not possible.
func testGroup(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	own, err := os.ReadFile("/proc/self/cgroup")
	require.NoError(t, err)
	_, parent, err := ownGroup(string(mounts), string(own))
	if err != nil {
		t.Skip("!!!! SKIPPED: ", err, ", so control groups of scripts were not tested")
	}
	dir := filepath.Join(parent, "gybe-test-"+t.Name()+"-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip("!!!! SKIPPED: ", err, ", so control groups of scripts were not tested")
	}
	t.Cleanup(func() {
		_ = os.Remove(filepath.Join(dir, nodeGroup))
		require.NoError(t, os.Remove(dir))
	})
	return dir
}

func processes(t *testing.T, dir string) []string {
	t.Helper()
	pids, err := os.ReadFile(filepath.Join(dir, procsFile))
	require.NoError(t, err)
	return strings.Fields(string(pids))
}

// TestGroupEndsWithItsRun: every process of a run is in its group, also one that left the process group, and none
// survives it. Processes of the node are not in the group that is divided.
func TestGroupEndsWithItsRun(t *testing.T) {
	t.Parallel()
	dir := testGroup(t)
	top, err := os.Open(dir)
	require.NoError(t, err)
	defer top.Close()
	node := exec.CommandContext(t.Context(), "sleep", "1000")
	node.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(top.Fd())}
	require.NoError(t, node.Start())
	defer func() { _, _ = node.Process.Kill(), node.Wait() }()

	g := &groups{dir: dir}
	require.NoError(t, g.moveProcesses())
	require.NoError(t, g.moveProcesses(), "a second node in the same group")
	require.Empty(t, processes(t, dir))
	require.Equal(t, []string{strconv.Itoa(node.Process.Pid)}, processes(t, filepath.Join(dir, nodeGroup)))

	in, err := g.create()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "setsid sleep 1000 & echo; exec sleep 1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	in.join(cmd.SysProcAttr)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = io.ReadFull(out, make([]byte, 1))
	require.NoError(t, err)
	require.Len(t, processes(t, in.dir), 2)

	require.NoError(t, in.remove())
	require.NoDirExists(t, in.dir)
	require.Error(t, cmd.Wait(), "killed")

	dead, err := g.create() // of a node that was killed
	require.NoError(t, err)
	g.sweep()
	require.NoDirExists(t, dead.dir)
	require.NoError(t, node.Process.Kill())
	_ = node.Wait()
	require.Eventually(t, func() bool {
		return len(processes(t, filepath.Join(dir, nodeGroup))) == 0
	}, time.Minute, time.Millisecond)
}

// TestGroupLimits: where the kernel has the controllers, the limits are set.
func TestGroupLimits(t *testing.T) {
	t.Parallel()
	require.False(t, isDelegated(t.TempDir(), true), "not a control group")

	real := testGroup(t)
	g, err := newGroups(real)
	if err != nil {
		t.Skip("!!!! SKIPPED: ", err, ", so limits of control groups were not tested")
	}
	in, err := g.create()
	require.NoError(t, err)
	defer func() { require.NoError(t, in.remove()) }()
	for file, want := range map[string]string{
		"memory.max": strconv.Itoa(groupMemory), "memory.oom.group": "1", "pids.max": strconv.Itoa(limitProcesses),
	} {
		got, err := os.ReadFile(filepath.Join(in.dir, file))
		require.NoError(t, err)
		require.Equal(t, want, strings.TrimSpace(string(got)), file)
	}
}

// groupTree is a directory with the files that the kernel shows in a delegated group, and in one of a run below it. It
// is not a control group: it shows which files are written, and nothing about what the kernel does.
func groupTree(t *testing.T, controllers string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"cgroup.controllers": controllers, procsFile: "", enabledFile: "", nodeGroup + "/" + procsFile: "",
	} {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return dir
}

// TestGroupsUseTheControllersThatAreThere: a kernel or a container runtime may delegate some of them only.
func TestGroupsUseTheControllersThatAreThere(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		controllers, enabled, missing string
		files                         []string
	}{
		{"cpuset cpu io memory pids\n", "+memory +pids +cpu", "", []string{
			"cpu.max", "memory.max", "memory.oom.group", "memory.swap.max", "pids.max",
		}},
		{"pids\n", "+pids", "memory cpu", []string{"pids.max"}},
		{"memory hugetlb\n", "+memory", "pids cpu", []string{"memory.max", "memory.oom.group", "memory.swap.max"}},
		{"cpu pids\n", "+pids +cpu", "memory", []string{"cpu.max", "pids.max"}},
		{"cpu io\n", "", "", nil},
		{"\n", "", "", nil},
	} {
		t.Run(strings.TrimSpace(tt.controllers), func(t *testing.T) {
			t.Parallel()
			dir := groupTree(t, tt.controllers)
			g, err := newGroups(dir)
			if tt.files == nil {
				require.ErrorContains(t, err, "without memory and pids")
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.missing, strings.Join(g.missing(), " "))
			enabled, err := os.ReadFile(filepath.Join(dir, enabledFile))
			require.NoError(t, err)
			require.Equal(t, tt.enabled, string(enabled))

			run := filepath.Join(dir, "run")
			require.NoError(t, os.Mkdir(run, 0o755))
			for _, l := range groupLimits {
				require.NoError(t, os.WriteFile(filepath.Join(run, l.file), nil, 0o600))
			}
			require.NoError(t, g.limit(run))
			var written []string
			for _, l := range groupLimits {
				text, err := os.ReadFile(filepath.Join(run, l.file))
				require.NoError(t, err)
				if len(text) > 0 {
					require.Equal(t, l.value, string(text), l.file)
					written = append(written, l.file)
				}
			}
			require.ElementsMatch(t, tt.files, written)
		})
	}
}
