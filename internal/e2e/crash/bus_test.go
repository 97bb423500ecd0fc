package crash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/linktest"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

// busSystem is a hub, its workers, and the broker between them.
type busSystem struct {
	t       *testing.T
	broker  *broker
	proxy   *linktest.Link
	front   *linktest.Link // between callers and the hub
	addr    string
	data    string
	record  string
	ballast string // file that fills the disk; empty without a small disk
	hub     *hubtest.Process
	workers []*worker
	crowd   *crowd
	// done counts the faults by name.
	done map[string]int
}

// worker is the process of a worker.
type worker struct {
	*hubtest.Process

	role string
}

func newBusSystem(t *testing.T, b *broker) *busSystem {
	t.Helper()
	dir := t.TempDir()
	w := &busSystem{
		crowd: new(crowd), t: t, broker: b, proxy: linktest.New(t, b.addr),
		addr: hubtest.Addr(t), record: filepath.Join(dir, "record"), done: map[string]int{},
	}
	w.front = linktest.New(t, w.addr)
	w.prepare(smallDisk(t))
	if err := os.WriteFile(w.record, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.startHub()
	for _, role := range []string{careful, robust, careful, robust, serialQueue} {
		w.workers = append(w.workers, &worker{Process: w.launch(role), role: role})
	}
	for _, p := range w.workers {
		w.await(p.Process)
	}
	return w
}

// launch starts a process.
func (w *busSystem) launch(role string) *hubtest.Process {
	w.t.Helper()
	p := hubtest.Launch(w.t, w.commandOf(role))
	w.t.Cleanup(func() {
		if dir := os.Getenv("PARLEY_BUS_LOGS"); dir != "" && w.t.Failed() {
			_ = os.WriteFile(filepath.Join(dir, role+uuid.NewString()[:8]), []byte(p.Output()), 0o600)
		}
	})
	return p
}

// await waits until a process is ready.
func (w *busSystem) await(p *hubtest.Process) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	if err := p.Await(ctx, "msg=ready", "performing the tasks of an agent"); err != nil { // the hub, a worker
		w.t.Fatal(err)
	}
}

func (w *busSystem) startHub() {
	w.t.Helper()
	w.hub = w.launch(hubRole)
	w.await(w.hub)
}

// checkRun checks that exactly one run has performed the job: the final status names the run that
// wrote the output. That of a completed program has no message; checkExit checks its run.
func (j *job) checkRun() error {
	run, n, err := oneRun(j.words)
	if err != nil {
		return wrong("task %s, %s (%s): %v", j.id, j.state, j.why, err)
	}
	by := run
	if j.program {
		by = ""
	}
	switch {
	case j.state == "COMPLETED" && (n != j.chunks || j.why != by):
		return wrong("task %s is completed by run %s with %d chunks of %s, want %d: %q", j.id, j.why, n, run, j.chunks, j.words)
	case j.state == "FAILED" && strings.Contains(j.why, toldTo) && (n != j.chunks || !strings.Contains(j.why, "run "+run+" ")):
		return wrong("task %s has failed with %q and %d chunks of %s, want %d: %q", j.id, j.why, n, run, j.chunks, j.words)
	case j.state == "COMPLETED" && j.kind == "fail":
		return wrong("task %s is completed, and should have failed", j.id)
	case j.canceled != (j.state == "CANCELED") && !j.blind:
		return wrong("task %s, %s of %s, is %s (%s); that it was canceled: %v, and it was refused with %v", j.id, j.kind, j.name, j.state, j.why, j.canceled, j.refusal)
	case j.state == "FAILED" && j.kind != "fail" && !strings.Contains(j.why, "worker"):
		return wrong("task %s (%s) has failed for no fault: %q", j.id, j.kind, j.why)
	}
	return nil
}

// oneRun returns the run that wrote text and its number of chunks. The error states the reason
// if text is not the output of one run without gaps.
func oneRun(text string) (run string, n int, err error) {
	for i, chunk := range strings.Fields(text) {
		by, number, _ := strings.Cut(chunk, ":")
		if i == 0 {
			run = by
		}
		if by != run || number != strconv.Itoa(i) {
			return "", 0, fmt.Errorf("chunk %d of run %s is %q: %q", i, run, chunk, text)
		}
		n++
	}
	return run, n, nil
}

func (w *busSystem) killBroker() {
	w.t.Helper()
	w.broker.kill(w.t)
	w.broker.start(w.t)
}

// letter is a dead letter. stored is set if the hub has its task.
type letter struct {
	queue.Letter

	stored bool
}

// stop ends all processes, checks their exit codes, and returns the dead letters.
func (w *busSystem) stop() []letter {
	w.t.Helper()
	for _, p := range w.workers {
		if err := p.Interrupt(); err != nil {
			w.t.Errorf("worker: %v", err)
		}
	}
	if err := w.hub.Interrupt(); err != nil {
		w.t.Errorf("hub: %v", err)
	}
	w.leftovers()
	path := filepath.Join(w.data, "parley.db")
	db, err := sqlitestore.Open(path, sqlitestore.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	dead, err := db.Letters().Letters(w.t.Context(), &queue.LetterQuery{Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	var letters []letter
	for _, l := range dead {
		_, err := db.Tasks().Head(w.t.Context(), l.Owner, a2a.TaskID(l.Task))
		if err != nil && !errors.Is(err, task.ErrNotFound) {
			w.t.Fatal(err)
		}
		letters = append(letters, letter{l, err == nil})
	}
	return letters
}
