package crash

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// sent sends messages and returns the ids of their tasks.
func (h *smallHub) sent(n int) (ids []string) {
	h.t.Helper()
	for i := range n {
		var answer frame
		body := sending{id: fmt.Sprint("m", i), text: "hi", waits: true}.body()
		if err := hubtest.Call(h.t.Context(), hubtest.Request{URL: h.URL() + "/v1/a2a/message:send", Body: body}, &answer); err != nil {
			h.t.Fatal(err)
		}
		ids = append(ids, answer.Task.ID)
	}
	return ids
}

// missing returns the tasks that the hub does not find.
func (h *smallHub) missing(ids []string) (gone []string) {
	h.t.Helper()
	for _, id := range ids {
		if code, _ := h.read("/v1/a2a/tasks/" + id); code != http.StatusOK {
			gone = append(gone, id)
		}
	}
	return gone
}

// TestPollsDoNotHideAMissingFolder moves the data folder of a running hub away, and cuts its log off,
// while something polls /readyz: the first poll reports it, and no message is accepted.
func TestPollsDoNotHideAMissingFolder(t *testing.T) {
	for name, spoil := range map[string]func(data string) error{
		"moved":       func(data string) error { return os.Rename(data, data+".bak") },
		"log cut off": func(data string) error { return os.Truncate(filepath.Join(data, "parley.db-wal"), 4096) },
	} {
		t.Run(name, func(t *testing.T) {
			h := &smallHub{t, hubtest.Start(t, hubtest.Options{Data: filepath.Join(t.TempDir(), "data")})}
			h.sent(20)
			if err := spoil(h.Data()); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if code, body := h.read("/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "changed by another program") {
					t.Errorf("readyz = %d %s, want 503 that names the files", code, body)
				}
				if code, body := h.ask("more"); code != http.StatusServiceUnavailable {
					t.Errorf("send = %d %s, want 503", code, body)
				}
			}
		})
	}
}

// TestLogRemovedUnderARunningHub removes the write-ahead log of a running hub. The hub accepts
// no more messages, is not ready, and a kill loses none of the tasks that callers know.
func TestLogRemovedUnderARunningHub(t *testing.T) {
	h := &smallHub{t, hubtest.Start(t, hubtest.Options{})}
	ids := h.sent(20)
	if err := os.Remove(filepath.Join(h.Data(), "parley.db-wal")); err != nil {
		t.Fatal(err)
	}
	if code, body := h.ask("more"); code != http.StatusServiceUnavailable {
		t.Errorf("send = %d %s, want 503", code, body)
	}
	if code, body := h.read("/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "changed by another program") {
		t.Errorf("readyz = %d %s, want 503 that names the files", code, body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := h.Process().Await(ctx, "all data was moved into the file"); err != nil {
		t.Fatal(err)
	}
	h.Kill()
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	if gone := h.missing(ids); len(gone) > 0 {
		t.Errorf("%d of %d tasks are lost", len(gone), len(ids))
	}
	if code, body := h.ask("again"); code != http.StatusOK {
		t.Errorf("send after the restart = %d %s", code, body)
	}
}

// TestLostDataStopsTheStart damages the folder of a killed hub. The hub refuses to start, with
// the loss and the way to continue, and starts with --accept-loss, which is in the audit log.
// Afterwards it starts without it.
func TestLostDataStopsTheStart(t *testing.T) {
	for name, tt := range map[string]struct {
		names []string // removed files and folders
		empty bool
		text  string
	}{
		"log removed":            {names: []string{"parley.db-wal"}, text: "commits are missing"},
		"file emptied":           {empty: true, text: "the file is missing, empty or older"},
		"file and log removed":   {names: []string{"parley.db", "parley.db-wal"}, text: "the file is missing, empty or older"},
		"all but the audit log":  {names: []string{"parley.db", "parley.db-wal", "parley.db-mark"}, text: "but the audit log has"},
		"audit log removed":      {names: []string{"audit"}, text: "the audit log was removed or replaced"},
		"audit log and head cut": {names: []string{"audit/head.json", "audit/000000000001.jsonl"}, text: "the audit log was removed or replaced"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &smallHub{t, hubtest.Start(t, hubtest.Options{})}
			h.sent(5)
			h.Kill()
			for _, n := range tt.names {
				if err := os.RemoveAll(filepath.Join(h.Data(), n)); err != nil {
					t.Fatal(err)
				}
			}
			if tt.empty {
				if err := os.Truncate(filepath.Join(h.Data(), "parley.db"), 0); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // the refusal does not change the folder
				err := h.Start()
				if err == nil || !strings.Contains(err.Error(), tt.text) || !strings.Contains(err.Error(), "--accept-loss") {
					t.Fatalf("start = %v, want a refusal with %q and the way to continue", err, tt.text)
				}
			}
			wantLossInBackup(t, h.Hub, tt.names, tt.empty)
			accepting := hubtest.New(t, hubtest.Options{Data: h.Data(), Flags: []string{"--accept-loss"}})
			if err := accepting.Start(); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(accepting.Output(), "the loss was accepted") {
				t.Error("the log does not record the loss")
			}
			accepting.Stop()
			wantLossAudited(t, h.Data())
			if err := h.Start(); err != nil {
				t.Errorf("start after the loss was accepted: %v", err)
			}
		})
	}
}

// wantLossInBackup backs up and exports a folder that a hub refuses: both are refused, too. With
// --accept-loss the backup of a store that is left says so, and so do the hub with it and doctor.
func wantLossInBackup(t *testing.T, h *hubtest.Hub, removed []string, empty bool) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "b.tar")
	none := empty || slices.Contains(removed, "parley.db")
	for _, args := range [][]string{{"backup", file}, {"export", file}} {
		out, err := h.Parley(t.Context(), append(args, "--data", h.Data())...)
		if err == nil || !none && !strings.Contains(err.Error(), "--accept-loss") {
			t.Errorf("parley %s of a folder with a known loss = %v, want a refusal:\n%s", args[0], err, out)
		}
		if _, err := os.Stat(file); err == nil {
			t.Fatalf("parley %s has made a file", args[0])
		}
	}
	out, err := h.Parley(t.Context(), "backup", file, "--data", h.Data(), "--accept-loss")
	if none {
		if err == nil {
			t.Errorf("backup without a store: %s", out)
		}
		return
	}
	if err != nil || !strings.Contains(out, "known loss") {
		t.Errorf("backup with --accept-loss = %v, want one that says so:\n%s", err, out)
	}
	to := filepath.Join(dir, "data")
	if out, err := h.Parley(t.Context(), "restore", file, "--data", to); err != nil || !strings.Contains(out, "known loss") {
		t.Errorf("restore = %v, want one that says so:\n%s", err, out)
	}
	if out, err := h.Parley(t.Context(), "doctor", "--data", to, "--offline"); err != nil || !strings.Contains(out, "restored from a backup with a known loss") {
		t.Errorf("doctor of the restored folder = %v, want the loss:\n%s", err, out)
	}
	restored := hubtest.Start(t, hubtest.Options{Data: to})
	if !strings.Contains(restored.Output(), "level=WARN msg=\"data of this store is missing") {
		t.Errorf("the restored hub does not name the loss:\n%s", restored.Output())
	}
	restored.Stop()
}

func wantLossAudited(t *testing.T, data string) {
	t.Helper()
	n := 0
	for line, err := range audit.Read(t.Context(), filepath.Join(data, "audit"), audit.Query{Action: string(audit.StoreLoss)}, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; line.Reason == "" {
			t.Error("the entry has no reason")
		}
	}
	if n != 1 {
		t.Errorf("the audit log has %d entries about the loss, want 1", n)
	}
}
