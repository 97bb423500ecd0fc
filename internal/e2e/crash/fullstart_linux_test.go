package crash

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// fillUp writes a file until the disk is full, in the end byte by byte.
func fillUp(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := 1 << 20; size > 0; size /= 2 {
		for {
			if _, err = f.Write(make([]byte, size)); err != nil {
				break
			}
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("fill the disk: %v", err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// emptyAgain removes the files of fillUp.
func emptyAgain(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	for _, f := range files {
		err = errors.Join(err, os.Remove(f))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestFullDiskAtStart starts a hub whose disk has no byte left, after a kill and after an orderly
// end. The hub serves its tasks, refuses messages with the reason, is not ready, and works again
// by itself when there is room, with its broker's file.
func TestFullDiskAtStart(t *testing.T) {
	for name, end := range map[string]func(*hubtest.Hub){"killed": (*hubtest.Hub).Kill, "stopped": (*hubtest.Hub).Stop} {
		t.Run(name, func(t *testing.T) {
			data := hubtest.Disk(t, "12m")
			h := &smallHub{t, hubtest.Start(t, hubtest.Options{Data: data})}
			ids := h.sent(3)
			end(h.Hub)
			ballast := filepath.Join(data, "ballast")
			fillUp(t, ballast)
			if err := h.Start(); err != nil {
				t.Fatal(err)
			}
			if gone := h.missing(ids); len(gone) > 0 {
				t.Errorf("tasks %q are not served from a full disk", gone)
			}
			// The hub uses the space that the log of the killed hub had, as long as that lasts.
			code, body := h.ask("hi")
			for n := 0; code == http.StatusOK && n < 5; n++ {
				fillUp(t, ballast+fmt.Sprint(n))
				code, body = h.ask("hi")
			}
			if code != http.StatusServiceUnavailable || !strings.Contains(body, "disk is full") {
				t.Errorf("send = %d %s, want 503 that names the disk", code, body)
			}
			if code, body := h.read("/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "disk is full") {
				t.Errorf("readyz = %d %s, want 503 that names the disk", code, body)
			}
			if err := h.Process().Await(t.Context(), "disk is full"); err != nil {
				t.Error(err)
			}
			emptyAgain(t, ballast+"*")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			contact := filepath.Join(data, "bus.json")
			for code, err := 0, error(nil); code != http.StatusOK || err != nil; code, _ = h.read("/readyz") {
				if pause(ctx, nil) != nil {
					t.Fatalf("a minute after there was room, readyz is %d, and bus.json: %v", code, err)
				}
				_, err = os.Stat(contact)
			}
			if code, body := h.ask("again"); code != http.StatusOK {
				t.Errorf("send after there was room = %d %s", code, body)
			}
		})
	}
}
