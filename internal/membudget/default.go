package membudget

import (
	"bytes"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
)

// The bounds of Default, and the share of the memory that it is.
const (
	leastDefault = 32 << 20
	mostDefault  = 192 << 20
	share        = 16
)

// Default returns the default budget in bytes: a sixteenth of the memory of the machine, or of
// its control group if that has less; from 32 MiB to 192 MiB.
var Default = sync.OnceValue(func() int64 { return shareOf(available(os.ReadFile)) })

// shareOf returns the default for a machine with the given memory; zero means unknown.
func shareOf(memory int64) int64 {
	if memory <= 0 {
		return mostDefault
	}
	return max(leastDefault, min(memory/share, mostDefault))
}

// available returns the memory in bytes that this process may use, or zero if it is unknown.
func available(read func(string) ([]byte, error)) int64 {
	least := machine(read)
	for _, file := range groupFiles(read) {
		b, err := read(file)
		if err != nil {
			continue
		}
		// "max" is no number and means no limit.
		if n, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64); err == nil && n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// machine returns the memory of the machine in bytes, or zero if it is unknown.
func machine(read func(string) ([]byte, error)) int64 {
	b, err := read("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "MemTotal:" {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n << 10
		}
	}
	return 0
}

// groupFiles returns the files with the limits of the control groups of this process, in both
// versions of control groups.
func groupFiles(read func(string) ([]byte, error)) []string {
	files := []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}
	b, err := read("/proc/self/cgroup")
	if err != nil {
		return files
	}
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) < 3 || f[1] != "" {
			continue
		}
		for at := path.Clean("/" + f[2]); at != "/"; at = path.Dir(at) {
			files = append(files, path.Join("/sys/fs/cgroup", at, "memory.max"))
		}
	}
	return files
}
