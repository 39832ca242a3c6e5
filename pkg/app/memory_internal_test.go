package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/config"
)

func TestCgroupMemoryIsTheLeastLimitOfTheGroup(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		files map[string]string
		want  config.Size
	}{
		"not Linux": {nil, 0},
		"version 2, without a limit": {map[string]string{
			"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n",
		}, 0},
		"version 2": {map[string]string{
			"proc/self/cgroup": "0::/system.slice/gybe.service\n", "sys/fs/cgroup/memory.max": "max\n",
			"sys/fs/cgroup/system.slice/memory.max":              "536870912\n",
			"sys/fs/cgroup/system.slice/gybe.service/memory.max": "1073741824\n",
		}, 512 * config.MiB},
		"version 2, in a container": {map[string]string{
			"proc/self/cgroup": "0::/../../pod/x\n", "sys/fs/cgroup/memory.max": "268435456\n",
		}, 256 * config.MiB},
		"version 1": {map[string]string{
			"proc/self/cgroup": "4:cpu,memory:/app\n0::/\n",
			"sys/fs/cgroup/memory/app/memory.limit_in_bytes": "1048576000\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
		}, 1000 * config.MiB},
		"version 1, without a limit": {map[string]string{
			"proc/self/cgroup":                           "4:memory:/app\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for file, text := range tt.files {
				file = filepath.Join(root, file)
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
				require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			}
			require.Equal(t, tt.want, cgroupMemory(root))
		})
	}
}
