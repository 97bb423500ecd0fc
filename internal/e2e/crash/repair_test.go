package crash

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// damagedFolder makes the folder of a killed hub with tasks, keys and a large part. It returns a
// function that copies it, and the ids of the tasks.
func damagedFolder(t *testing.T) (fresh func(t *testing.T) string, ids []string) {
	t.Helper()
	h := &smallHub{t, hubtest.Start(t, hubtest.Options{Config: "parts: {threshold: 1KiB}"})}
	for i := range 30 {
		ids = append(ids, h.sent(1)...)
		if i == 5 {
			h.Stop()
			keepStore(t, h.Data())
			if err := h.Start(); err != nil {
				t.Fatal(err)
			}
		}
		if i == 15 {
			raw := base64.StdEncoding.EncodeToString(make([]byte, 6000))
			body := fmt.Sprintf(`{"message":{"messageId":"p","role":"ROLE_USER","parts":[{"text":"hi"},{"raw":"%s"}]}}`, raw)
			if code, body := h.do("/v1/a2a/message:send", body); code != http.StatusOK {
				t.Fatalf("send = %d %s", code, body)
			}
			h.Stop() // the store is in its file; the rest is in the log
			if err := h.Start(); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.Kill()
	return func(t *testing.T) string {
		t.Helper()
		to := filepath.Join(t.TempDir(), "data")
		if out, err := exec.Command("cp", "-a", h.Data(), to).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return to
	}, ids
}

// copyOf returns a hub for a copy of the folder. The copies have the same address for a broker of their own,
// so none starts it.
func copyOf(t *testing.T, data string) *smallHub {
	t.Helper()
	return &smallHub{t, hubtest.New(t, hubtest.Options{Data: data, Config: "parts: {threshold: 1KiB}", Flags: []string{"--bus", "off"}})}
}

// keepStore keeps a copy of the present store of a stopped hub.
func keepStore(t *testing.T, data string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, "parley.db"))
	if err == nil {
		err = os.WriteFile(filepath.Join(data, "older"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// scribble overwrites a part of a file.
func scribble(t *testing.T, path string, at, n int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt([]byte(strings.Repeat("damage!!", int(n)/8)), at)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// each calls f for each file that matches a pattern; there must be one.
func each(t *testing.T, data, pattern string, f func(path string)) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(data, pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("no file %s: %v", pattern, err)
	}
	for _, path := range found {
		f(path)
	}
}

func gone(t *testing.T, data string, names ...string) {
	t.Helper()
	for _, n := range names {
		if err := os.RemoveAll(filepath.Join(data, n)); err != nil {
			t.Fatal(err)
		}
	}
}

func shorten(t *testing.T, path string, to int64) {
	t.Helper()
	if err := os.Truncate(path, to); err != nil {
		t.Fatal(err)
	}
}

// damages are kinds of damage to a folder. least is the number of the 30 tasks that a repair
// saves; text is a part of the findings of parley doctor.
var damages = map[string]struct {
	spoil func(t *testing.T, data string)
	least int
	text  string
	// may is set if a hub may start with the folder, and then answers for its data.
	may bool
}{
	"store emptied": {func(t *testing.T, data string) { shorten(t, filepath.Join(data, "parley.db"), 0) }, 0, "the file is missing, empty or older", false},
	"store removed": {func(t *testing.T, data string) { gone(t, data, "parley.db", "parley.db-wal") }, 0, "the file is missing, empty or older", false},
	"all but the audit log removed": {
		func(t *testing.T, data string) { gone(t, data, "parley.db", "parley.db-wal", "parley.db-mark") }, 0,
		"the store is missing, and the audit log has", false,
	},
	"log removed":   {func(t *testing.T, data string) { gone(t, data, "parley.db-wal") }, 16, "commits are missing", false},
	"log scribbled": {func(t *testing.T, data string) { scribble(t, filepath.Join(data, "parley.db-wal"), 40_000, 800) }, 16, "commits are missing", false},
	"log cut off":   {func(t *testing.T, data string) { shorten(t, filepath.Join(data, "parley.db-wal"), 40_000) }, 16, "commits are missing", false},
	"older store beside a newer log": {
		func(t *testing.T, data string) {
			if err := os.Rename(filepath.Join(data, "older"), filepath.Join(data, "parley.db")); err != nil {
				t.Fatal(err)
			}
		}, 6, "the file is older than its write-ahead log", false,
	},
	"first page": {func(t *testing.T, data string) {
		gone(t, data, "parley.db-wal", "parley.db-shm")
		scribble(t, filepath.Join(data, "parley.db"), 0, 4096)
	}, 0, "not a file of parley", false},
	"pages": {func(t *testing.T, data string) {
		gone(t, data, "parley.db-wal", "parley.db-shm", "parley.db-mark")
		scribble(t, filepath.Join(data, "parley.db"), 4*4096, 8*4096)
	}, 0, "store", true},
	"store cut off": {func(t *testing.T, data string) {
		gone(t, data, "parley.db-wal", "parley.db-shm")
		shorten(t, filepath.Join(data, "parley.db"), 20*4096)
	}, 0, "bytes", false},
	"zeros": {func(t *testing.T, data string) {
		gone(t, data, "parley.db-wal", "parley.db-shm")
		path := filepath.Join(data, "parley.db")
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		shorten(t, path, 0)
		shorten(t, path, info.Size())
	}, 0, "begins with zeros", false},
	"logs of tasks": {func(t *testing.T, data string) {
		alter(t, data, "DELETE FROM entries WHERE place >> 24 = (SELECT min(key) FROM tasks); UPDATE counters SET n = n + 1")
	}, 29, "counters of tasks are wrong", true},
	"part": {func(t *testing.T, data string) {
		each(t, data, "parts/owners/*/*/content", func(path string) { scribble(t, path, 0, 64) })
	}, 30, "its digest does not match", true},
	"audit log removed": {func(t *testing.T, data string) { gone(t, data, "audit") }, 30, "the audit log was removed", false},
	"audit log changed": {func(t *testing.T, data string) {
		each(t, data, "audit/*.jsonl", func(path string) { scribble(t, path, 200, 16) })
	}, 30, "audit", true},
}

// TestDamagedFolders damages a data folder in many ways. parley doctor finds each, no hub starts
// with it as if it were new, and parley repair makes a folder that a hub serves.
func TestDamagedFolders(t *testing.T) {
	fresh, ids := damagedFolder(t)
	for name, tt := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := fresh(t)
			tt.spoil(t, data)
			h := copyOf(t, data)
			output, err := h.Parley(t.Context(), "doctor", "--data", data, "--offline")
			if err == nil || !strings.Contains(output, tt.text) || !strings.Contains(output, "parley repair") {
				t.Errorf("doctor = %v, want a failure with %q:\n%s", err, tt.text, output)
			}
			out := filepath.Join(t.TempDir(), "repaired")
			report, err := h.Parley(t.Context(), "repair", "--data", data, "--out", out)
			if err != nil {
				t.Fatalf("repair: %v\n%s", err, report)
			}
			wantNotNew(t, h, ids, tt.may)
			wantServed(t, out, ids, tt.least, report)
		})
	}
}

// wantNotNew starts a hub with a damaged folder. It must refuse, or, if it may start, not deny a
// task that it had.
func wantNotNew(t *testing.T, h *smallHub, ids []string, may bool) {
	t.Helper()
	p, err := h.Launch()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if p.Await(ctx, "msg=ready ", "stored data is damaged; examine") != nil { // the second one is never ready
		return
	}
	if !may {
		t.Error("the hub starts with the damaged folder")
	}
	for _, id := range ids {
		if code, body := h.read("/v1/a2a/tasks/" + id); code == http.StatusNotFound {
			t.Errorf("the hub starts with a damaged folder, and task %s is %d %s", id, code, body)
		}
	}
	h.Stop()
}

// wantServed starts a hub with a repaired folder.
func wantServed(t *testing.T, data string, ids []string, least int, report string) {
	t.Helper()
	h := copyOf(t, data)
	if text, err := h.Parley(t.Context(), "doctor", "--data", data, "--offline"); strings.Contains(text, "store      damaged") || strings.Contains(text, "wrong    store") {
		t.Errorf("doctor finds the repaired folder damaged: %v\n%s", err, text)
	}
	if err := h.Start(); err != nil {
		t.Fatalf("%v\n%s", err, report)
	}
	saved := len(ids) - len(h.missing(ids))
	if saved < least {
		t.Errorf("%d tasks were saved, want %d:\n%s", saved, least, report)
	}
	if code, body := h.ask("more"); code != http.StatusOK {
		t.Errorf("send to the repaired hub = %d %s", code, body)
	}
	t.Logf("%d of %d tasks saved", saved, len(ids))
	h.Stop()
}
