package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/cmd/bench/internal/rows"
	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
)

// machine describes the environment of a result.
type machine struct {
	System   string            `json:"system"`
	CPU      string            `json:"cpu"`
	Cores    int               `json:"cores"`
	Memory   string            `json:"memory"`
	Fsync    time.Duration     `json:"fsync_ns"`
	Versions map[string]string `json:"versions"`
}

// lookAround describes this machine.
func lookAround(b *rows.Bench) machine {
	m := machine{
		System: runtime.GOOS + "/" + runtime.GOARCH + " " + firstLine("/proc/sys/kernel/osrelease", ""),
		CPU:    firstLine("/proc/cpuinfo", "model name"),
		Memory: firstLine("/proc/meminfo", "MemTotal"),
		Cores:  runtime.NumCPU(),
		Versions: map[string]string{
			"go": strings.TrimPrefix(runtime.Version(), "go"), "node": "not there",
		},
	}
	if out, err := exec.Command("node", "--version").Output(); err == nil {
		m.Versions["node"] = strings.TrimSpace(strings.TrimPrefix(string(out), "v"))
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if strings.HasSuffix(d.Path, "/a2a-go/v2") || strings.HasSuffix(d.Path, "modernc.org/sqlite") {
				m.Versions[d.Path] = d.Version
			}
		}
	}
	for _, k := range serve.Peers() {
		if name, v, ok := strings.Cut(rows.Version(k), " "); ok {
			m.Versions[name] = v
		}
	}
	var err error
	if m.Fsync, err = fsyncTime(b.Work); err != nil {
		b.Log("time an fsync: %v", err)
	}
	return m
}

// firstLine returns the value after the colon of the first line of a file that begins with key;
// without a key, the first line.
func firstLine(path, key string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(b) {
		if name, value, _ := strings.Cut(string(line), ":"); key == "" {
			return strings.TrimSpace(string(line))
		} else if strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// fsyncTime returns the median time of a small write with fsync in dir, which limits every
// durable operation.
func fsyncTime(dir string) (time.Duration, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	f, err := os.Create(filepath.Join(dir, "fsync"))
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var all []time.Duration
	for range 31 {
		began := time.Now()
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}

// lines describes the machine as text.
func (m *machine) lines() []string {
	var versions []string
	for name, v := range m.Versions {
		versions = append(versions, name+" "+v)
	}
	slices.Sort(versions)
	return []string{
		fmt.Sprintf("Machine  %s, %d cores, %s, %s", m.CPU, m.Cores, m.Memory, m.System),
		fmt.Sprintf("Disk     an fsync of 4 KiB takes %v", m.Fsync.Round(time.Microsecond)),
		"Versions " + strings.Join(versions, ", "),
	}
}

// describe describes the size of the load as text.
func describe(l *rows.Load) []string {
	return []string{
		fmt.Sprintf("closed loop, warm-up %v, %d runs of %v, median; spread is (max − min) ÷ median", l.Warmup, l.Runs, l.Duration),
		fmt.Sprintf("blocking: %d keep-alive connections, JSON-RPC v1.0, texts of %d bytes", l.Conns, l.Text),
		fmt.Sprintf("stream: 1 connection, chunks of 64 bytes, %v chunks a stream; p50 and p99 are of whole streams", l.Streams),
		fmt.Sprintf("fanout: %d readers of %d events of 64 bytes, all in this process", l.Readers, l.Events),
		fmt.Sprintf("idle-streams: %d streams, 100 to a task, read after %v", l.Idle, l.IdleWait),
		fmt.Sprintf("lookup: %d connections, an owner for each 100 tasks, at most 1,000; the largest has a tenth of the tasks; full pages of 50 with totalSize", l.Lookups),
		fmt.Sprintf("startup: %d starts, warm page cache; idle-memory: read after %v", l.Starts, l.MemoryWait),
		fmt.Sprintf("soak: %d times %v of blocking sends, one line each; only if it is asked for", l.Soak, l.Minute),
		fmt.Sprintf("recovery: %d working, %d in line, %d asking; %v to be done", l.Working, l.Lined, l.Asking, l.Recovery),
	}
}
