package membudget

import (
	"os"
	"testing"
)

// The default is a share of the least of the machine's memory and the limits of its groups.
func TestDefault(t *testing.T) {
	t.Parallel()
	const machine = "MemFree: 17 kB\nMemTotal:       4194304 kB\n" // 4 GiB
	for name, tt := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing is known": {nil, 192 << 20},
		"a machine":        {map[string]string{"/proc/meminfo": machine}, 192 << 20},
		"a small machine":  {map[string]string{"/proc/meminfo": "MemTotal: 1048576 kB\n"}, 64 << 20},
		"a container": {map[string]string{
			"/proc/meminfo": machine, "/sys/fs/cgroup/memory.max": "2147483648\n",
		}, 128 << 20},
		"a container without a limit": {map[string]string{
			"/proc/meminfo": machine, "/sys/fs/cgroup/memory.max": "max\n",
		}, 192 << 20},
		"version 1": {map[string]string{
			"/proc/meminfo": machine, "/sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n",
		}, 64 << 20},
		"a service in a slice with a limit": {map[string]string{
			"/proc/meminfo": machine, "/proc/self/cgroup": "1:cpu:/x\n0::/system.slice/parley.service\n",
			"/sys/fs/cgroup/system.slice/parley.service/memory.max": "max\n",
			"/sys/fs/cgroup/system.slice/memory.max":                "1610612736\n",
		}, 96 << 20},
		"hardly any": {map[string]string{"/proc/meminfo": machine, "/sys/fs/cgroup/memory.max": "1000000\n"}, 32 << 20},
	} {
		got := shareOf(available(func(file string) ([]byte, error) {
			if s, ok := tt.files[file]; ok {
				return []byte(s), nil
			}
			return nil, os.ErrNotExist
		}))
		if got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
	if n := Default(); n < 32<<20 || n > 192<<20 {
		t.Errorf("Default() = %d", n)
	}
}
