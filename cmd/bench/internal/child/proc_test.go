package child

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	const stat = "42 (a (strange) name) S 1 42 42 0 -1 4194560 100 0 0 0 120 30 0 0 20 0 9 0 100 1000 200 18446744073709551615"
	if got, err := parseStat([]byte(stat), 2); err != nil || got != 1500*time.Millisecond {
		t.Errorf("parseStat = %v, %v, want 1.5s", got, err)
	}
	for _, bad := range []string{"", "42 (a) S 1", "42 (a) S 1 42 42 0 -1 4194560 100 0 0 0 x 30 0"} {
		if got, err := parseStat([]byte(bad), 2); err == nil {
			t.Errorf("parseStat(%q) = %v, want an error", bad, got)
		}
	}
}

func TestParseSched(t *testing.T) {
	t.Parallel()
	if got, err := parseSched([]byte("1500 20 3\n")); err != nil || got != 1500 {
		t.Errorf("parseSched = %v, %v, want 1.5µs", got, err)
	}
	for _, bad := range []string{"", "1500", "x 20 3\n"} {
		if got, err := parseSched([]byte(bad)); err == nil {
			t.Errorf("parseSched(%q) = %v, want an error", bad, got)
		}
	}
}

// This process has a monitor thread, which has worked, but less than the whole process. A program that
// is not of Go has none.
func TestMonitor(t *testing.T) {
	t.Parallel()
	testenv.OS(t, "linux")
	got, err := monitorOf(os.Getpid())
	if err != nil || got <= 0 {
		t.Fatalf("monitorOf = %v, %v, want some time", got, err)
	}
	all, err := usageOf(os.Getpid(), 2)
	if err != nil || got > all.CPU+tick {
		t.Errorf("the monitor has used %v of %v, %v", got, all.CPU, err)
	}
	other := exec.Command("sleep", "60")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Wait() //nolint:errcheck // it is killed
	defer other.Process.Kill()
	if got, err := monitorOf(other.Process.Pid); err != nil || got != 0 {
		t.Errorf("monitorOf a program with one thread = %v, %v", got, err)
	}
}

func TestParseStatus(t *testing.T) {
	t.Parallel()
	if got, err := parseStatus([]byte("Name:\ta\nVmHWM:\t  9 kB\nVmRSS:\t    1234 kB\n"), "VmRSS:"); err != nil || got != 1234<<10 {
		t.Errorf("parseStatus = %d, %v, want %d", got, err, 1234<<10)
	}
	for _, bad := range []string{"", "VmHWM:\t9 kB\n", "VmRSS:\tx kB\n"} {
		if got, err := parseStatus([]byte(bad), "VmRSS:"); err == nil {
			t.Errorf("parseStatus(%q) = %d, want an error", bad, got)
		}
	}
}

func TestParseIO(t *testing.T) {
	t.Parallel()
	if got, err := parseIO([]byte("wchar: 7\nread_bytes: 1\nwrite_bytes: 4096\ncancelled_write_bytes: 2\n")); err != nil || got != 4096 {
		t.Errorf("parseIO = %d, %v, want 4096", got, err)
	}
	if got, err := parseIO([]byte("wchar: 7\n")); err == nil {
		t.Errorf("parseIO without the line = %d", got)
	}
}

// The usage of a tree contains that of children that run and of those that have ended.
func TestTreeUsage(t *testing.T) {
	t.Parallel()
	testenv.OS(t, "linux")
	work := exec.Command("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
	if err := work.Run(); err != nil {
		t.Fatal(err)
	}
	own, err := usageOf(os.Getpid(), 2)
	if err != nil {
		t.Fatal(err)
	}
	all, err := TreeUsage(os.Getpid())
	if err != nil || all.CPU < own.CPU+work.ProcessState.UserTime()/2 {
		t.Errorf("TreeUsage = %+v, %v, want the %v of an ended child beside %v", all, err, work.ProcessState.UserTime(), own.CPU)
	}
}

// TestSelf uses the processor until the kernel has counted at least one tick.
func TestSelf(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		if _, err := usageOf(os.Getpid(), 2); err == nil {
			t.Error("there is no /proc, but a time")
		}
		return
	}
	before, err := usageOf(os.Getpid(), 2)
	for after := before; err == nil && after.CPU == before.CPU; {
		after, err = usageOf(os.Getpid(), 2)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := statusOf(os.Getpid(), "VmRSS:"); err != nil || got < 1<<20 {
		t.Errorf("statusOf = %d, %v, want more than a megabyte", got, err)
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	var w tail
	for _, s := range []string{"lost ", strings.Repeat("x", maxTail-5), "end\n", "!"} {
		if n, err := w.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	if got := w.String(); len(got) > maxTail || !strings.HasSuffix(got, "end\n!") || strings.Contains(got, "lost") {
		t.Errorf("tail = %.20q… of %d bytes", got, len(got))
	}
}
