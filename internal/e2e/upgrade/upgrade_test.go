package upgrade

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(hubtest.M{M: m}) }

// keepAll keeps the tasks of testdata, however old they are.
const keepAll = "engine:\n  retention: 876000h\n  idle_retention: 876000h\n"

// TestFormerData starts the program on the data folder of a hub of a former version, which was
// killed with a completed task, a question, a running task and a task that waits for a worker.
func TestFormerData(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob(filepath.Join("testdata", "*.tar.gz"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("no data folders in testdata: %v", err)
	}
	for _, archive := range archives {
		t.Run(filepath.Base(archive), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			unpack(t, archive, dir)
			config, err := os.ReadFile(filepath.Join(dir, "parley.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			h := hubtest.Start(t, hubtest.Options{Config: string(config) + keepAll, Data: filepath.Join(dir, "data")})
			tasks := states(t, h)
			// The running task ends ten minutes after it began.
			if len(tasks["completed"])+len(tasks["working"]) != 2 || len(tasks["input-required"]) != 1 || len(tasks["submitted"]) != 1 {
				t.Errorf("tasks by state: %v; want one with a question, one that waits, and two that are completed or work", tasks)
			}
			answer(t, h, tasks["input-required"])
			work(t, h)
			if out := parley(t, h, "audit", "verify", "--data", h.Data()); !strings.Contains(out, "sound") {
				t.Errorf("audit verify: %s", out)
			}
		})
	}
}

// answer answers the two questions of an interview that the former version began.
func answer(t *testing.T, h *hubtest.Hub, ids []string) {
	t.Helper()
	for _, id := range ids {
		if _, err := h.Parley(t.Context(), "send", "--agent", "interview", "--task", id, "Ada"); err == nil {
			t.Errorf("the interview ended with the first answer")
		}
		if out := parley(t, h, "send", "--agent", "interview", "--task", id, "engines"); !strings.Contains(out, "Ada") {
			t.Errorf("the interview ends with %q, which lacks the first answer", out)
		}
	}
}

// work lets a worker perform the task that waits for one.
func work(t *testing.T, h *hubtest.Hub) {
	t.Helper()
	parley(t, h, "agent", "run", "--data", h.Data(), "--name", "papers", "--exec", "tr a-z A-Z", "--once")
	if got := states(t, h)["submitted"]; len(got) != 0 {
		t.Errorf("tasks %v still wait for a worker", got)
	}
}

// states returns the ids of all tasks by their states.
func states(t *testing.T, h *hubtest.Hub) map[string][]string {
	t.Helper()
	by := map[string][]string{}
	for line := range strings.Lines(parley(t, h, "tasks", "list")) {
		if f := strings.Fields(line); len(f) > 1 {
			by[f[1]] = append(by[f[1]], f[0])
		}
	}
	return by
}

// parley runs a command that must succeed.
func parley(t *testing.T, h *hubtest.Hub, args ...string) string {
	t.Helper()
	out, err := h.Parley(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// unpack unpacks an archive of regular files.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil && head.Typeflag == tar.TypeReg {
			err = write(filepath.Join(dir, filepath.FromSlash(head.Name)), r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func write(name string, r io.Reader) error {
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(name, b, 0o600)
}
