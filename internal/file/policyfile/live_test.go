package policyfile_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/file/policyfile"
	"github.com/parley-a2a/parley/internal/file/watch"
	"github.com/parley-a2a/parley/internal/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The policy follows its file; an invalid or missing file changes nothing and is reported once.
func TestLive(t *testing.T) {
	t.Parallel()
	const (
		open  = "rules: [{allow: send, who: anybody}]\n"
		shut  = "rules: [{deny: send, who: anybody}]\n"
		tests = "rules: [{allow: send, who: anybody}]\ntests: [{want: deny, op: send}]\n"
	)
	path := filepath.Join(t.TempDir(), "policy.yaml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	replace := func(text string) {
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	write(open)
	l, err := policyfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	changes := make(chan *policyfile.Change, 100)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	w := &watch.Watcher{Logger: slog.New(slog.DiscardHandler)}
	running.Go(func() { w.Run(ctx) })
	report := func(c *policyfile.Change) { changes <- c }
	running.Go(func() {
		l.Run(ctx, w, func(c *policyfile.Change) {
			if c.Err != nil {
				report(c)
			}
		}, report)
	})
	defer running.Wait()
	defer cancel()
	asks := policy.Request{Op: policy.Send, Agent: "a", Begins: true}
	for _, step := range []struct {
		what   string
		change func()
		// err is a part of the error; allows is the expected decision afterwards.
		err    string
		allows bool
		failed int
	}{
		{"other rules", func() { replace(shut) }, "", false, 0},
		{"a mistake", func() { replace(open + "  - {alow: send}\n") }, "policy.yaml:", false, 0},
		{"without rules", func() { replace("rules: []\n") }, "rules: is missing", false, 0},
		{"gone", func() { os.Remove(path) }, "no such file", false, 0},
		{"a folder", func() { os.Mkdir(path, 0o700) }, "is not a regular file", false, 0},
		{"back", func() { os.Remove(path); write(open) }, "", true, 0},
		{"a test fails", func() { replace(tests) }, "", true, 1},
		{"too large", func() { replace("#" + strings.Repeat("x", 4<<20)) }, "is larger than", true, 0},
		{"what it was", func() { replace(tests) }, "", true, 1},
	} {
		step.change()
		c := next(t, changes, step.what)
		for c.Err != nil && step.err == "" || c.Err != nil && !strings.Contains(c.Err.Error(), step.err) {
			c = next(t, changes, step.what) // of the steps that changed the file
		}
		if step.err != "" && c.Err == nil || len(c.Failures) != step.failed {
			t.Errorf("%s: %+v", step.what, c)
		}
		settled(t, w, step.err)
		if got := l.Policy().Allows(&auth.Principal{ID: "ann"}, &asks); got != step.allows {
			t.Errorf("%s: allowed is %v, want %v", step.what, got, step.allows)
		}
	}
	replace(tests) // unchanged: nothing is reported, nor at the end
	cancel()
	running.Wait()
	if len(changes) > 0 {
		t.Errorf("told again: %+v", <-changes)
	}
}

// settled waits until the Watcher knows the reported problem, or that there is none.
func settled(t *testing.T, w *watch.Watcher, problem string) {
	t.Helper()
	for began := time.Now(); time.Since(began) < 2*time.Minute; runtime.Gosched() {
		all := w.Problems()
		if problem == "" && len(all) == 0 || problem != "" && len(all) == 1 && strings.Contains(all[0].Err.Error(), problem) {
			return
		}
	}
	t.Errorf("Problems = %v, want %q", w.Problems(), problem)
}

func next(t *testing.T, changes <-chan *policyfile.Change, what string) *policyfile.Change {
	t.Helper()
	select {
	case c := <-changes:
		return c
	case <-time.After(2 * time.Minute):
		t.Fatalf("%s: no change is reported", what)
		return nil
	}
}
