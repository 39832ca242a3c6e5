package app

import (
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/config"
)

// limitMemory sets the memory limit of the Go runtime, and returns it with its source for the log: the environment
// variable GOMEMLIMIT, the setting, or 90 % of the limit of the control group. The rest is for memory that the runtime
// does not manage.
func limitMemory(set config.Size) (limit, source string) {
	if env := os.Getenv("GOMEMLIMIT"); env != "" {
		return env, "GOMEMLIMIT" // the runtime has read it
	}
	source = "limits.memory"
	if set == 0 {
		source = "cgroup"
		set = cgroupMemory("/") / 10 * 9
	}
	if set == 0 {
		return "none", "none"
	}
	debug.SetMemoryLimit(int64(set))
	return strconv.FormatInt(int64(set/config.MiB), 10) + "MiB", source
}

// cgroupMemory returns the memory limit of the control group of this process, below a root directory; 0 is none.
func cgroupMemory(root string) config.Size {
	raw, err := os.ReadFile(path.Join(root, "proc/self/cgroup"))
	if err != nil {
		return 0 // not Linux
	}
	least := config.Size(math.MaxInt64)
	for line := range strings.Lines(string(raw)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[0] == "0" && parts[1] == "": // version 2
			least = min(least, cgroupLimit(path.Join(root, "sys/fs/cgroup"), parts[2], "memory.max"))
		case strings.Contains(","+parts[1]+",", ",memory,"): // version 1
			least = min(least, cgroupLimit(path.Join(root, "sys/fs/cgroup/memory"), parts[2], "memory.limit_in_bytes"))
		}
	}
	if least >= noLimit {
		return 0
	}
	return least
}

// noLimit is less than the number that version 1 has instead of a limit.
const noLimit = config.Size(1) << 60

// cgroupLimit returns the least limit of a group and of those that it belongs to. In a container the path of the group
// may not exist below the mount point, which then is the group.
func cgroupLimit(mount, group, file string) config.Size {
	least := config.Size(math.MaxInt64)
	for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
		if raw, err := os.ReadFile(path.Join(mount, dir, file)); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); err == nil { // else "max"
				least = min(least, config.Size(n))
			}
		}
		if dir == "/" {
			return least
		}
	}
}
