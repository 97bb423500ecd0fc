package sqlitestore

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/task"
)

const (
	// childEnv makes the test binary a process that writes to the named file.
	childEnv = "PARLEY_SQLITE_CHILD"
	// killsEnv is the number of kills.
	killsEnv = "PARLEY_KILLS"
)

// runChild writes with many goroutines until it is killed. After each acknowledged append it
// prints the task's id and version. It prints nothing for swept tasks. Every second task has a
// hook, whose position it prints.
func runChild(path string) int {
	db, err := Open(path, Options{})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	acks := make(chan string, 1024)
	var g sync.WaitGroup
	for w := range 24 {
		g.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%d-%d-%d", os.Getpid(), w, i)
				if i%2 == 0 {
					id += hookedSuffix
				}
				if err := childTask(db.Tasks(), a2a.TaskID(id), acks); err != nil {
					acks <- "error " + err.Error()
					return
				}
			}
		})
	}
	g.Go(func() { childSweep(db.Tasks(), acks) })
	for line := range acks {
		fmt.Println(line)
	}
	return 0
}

// hookedSuffix ends the ids of tasks that are created with a hook.
const hookedSuffix = "-hooked"

// childTask takes a task through a random life. One in three stays open.
func childTask(tasks Tasks, id a2a.TaskID, acks chan<- string) error {
	h := task.Head{ID: id, Owner: task.Owner(fmt.Sprint("owner", rand.IntN(5))), Agent: "echo", ContextID: "c" + string(id)}
	es := []task.Entry{created(task.MillisOf(time.Now()))}
	if rand.IntN(50) == 0 {
		es[0].Body = largeBody(1+rand.IntN(3), "x") // written in pieces
	}
	for len(es) > 0 {
		c, err := stepped(h, es...)
		if err != nil {
			return err
		}
		if h.Rev == 0 && strings.HasSuffix(string(id), hookedSuffix) {
			c.Hook = &task.Hook{ID: "a", URL: "https://example.org", Position: 1}
		}
		if err := tasks.Append(context.Background(), c); err != nil {
			return err
		}
		h = c.Next
		acks <- fmt.Sprintf("task %s %s %d", h.Owner, h.ID, h.Version)
		if err := childHook(tasks, h, acks); err != nil {
			return err
		}
		es = childEntries(h)
	}
	return nil
}

// childHook advances the hook of a task to its newest version, with a dead letter. An older
// step follows, which must have no effect.
func childHook(tasks Tasks, h task.Head, acks chan<- string) error {
	ref := task.HookRef{Task: h.Key, ID: "a"}
	err := tasks.Advance(context.Background(), []task.HookStep{
		{HookRef: ref, Position: h.Version, Lost: &task.DeadLetter{First: h.Version, Last: h.Version, Reason: "why"}},
		{HookRef: ref, Position: 1},
	})
	if err == nil && strings.HasSuffix(string(h.ID), hookedSuffix) {
		acks <- fmt.Sprintf("hook %s %s %d", h.Owner, h.ID, h.Version)
	}
	return err
}

// childEntries returns the next entries of a task; none if its life is over.
func childEntries(h task.Head) []task.Entry {
	at := task.MillisOf(time.Now())
	if h.State.Terminal() || rand.IntN(3) == 0 {
		return nil
	}
	es := []task.Entry{{Kind: task.Status, State: task.Working, At: at}}
	for range rand.IntN(5) {
		es = append(es, task.Entry{
			Kind: task.Artifact, ArtifactID: "a", Append: true, At: at, Body: make([]byte, rand.IntN(3000)),
		})
	}
	if rand.IntN(2) == 0 {
		es = append(es, status(task.Completed, at))
	}
	return es
}

// childSweep repeatedly creates and sweeps tasks of its own. They end long before all others.
func childSweep(tasks Tasks, acks chan<- string) {
	for i := 0; ; i++ {
		h := task.Head{ID: a2a.TaskID(fmt.Sprintf("%d-swept-%d", os.Getpid(), i)), Owner: "sweep", Agent: "echo", ContextID: "s"}
		es := []task.Entry{created(1)}
		for range 300 {
			es = append(es, task.Entry{Kind: task.Artifact, ArtifactID: "a", Append: true, At: 2, Body: make([]byte, 500)})
		}
		c, err := stepped(h, append(es, status(task.Completed, 3))...)
		if err == nil {
			err = tasks.Append(context.Background(), c)
		}
		if err == nil {
			_, err = tasks.Sweep(context.Background(), 100, 100)
		}
		if err != nil {
			acks <- "error " + err.Error()
			return
		}
	}
}

// acked holds the versions that were acknowledged as durable to a child, by task and by hook.
type acked map[ackedName]int64

type ackedName struct {
	what  string // "task" or "hook"
	owner task.Owner
	id    a2a.TaskID
}

// TestKill kills a writing process at random moments, and compares the file with everything
// that any of the processes acknowledged.
func TestKill(t *testing.T) {
	t.Parallel()
	kills := 15
	if s := os.Getenv(killsEnv); s != "" {
		var err error
		if kills, err = strconv.Atoi(s); err != nil {
			t.Fatalf("%s=%s: %v", killsEnv, s, err)
		}
	}
	dir := t.TempDir()
	var path string
	var all acked
	acks := 0
	for i := range kills {
		if i%5 == 0 { // a growing file makes each comparison longer
			path, all = filepath.Join(dir, fmt.Sprint("db", i)), acked{}
		}
		killOne(t, path, rand.N(300*time.Millisecond), all)
		compareAcked(t, path, all)
		if t.Failed() {
			t.Fatalf("after kill %d", i+1)
		}
		if i%5 == 4 || i == kills-1 {
			acks += len(all)
		}
	}
	if acks == 0 {
		t.Error("nothing was acknowledged before a kill")
	}
	t.Logf("%d kills, %d tasks acknowledged", kills, acks)
}

// killOne starts a child, kills it some time after it has printed its first line, and adds its
// output to all.
func killOne(t *testing.T, path string, after time.Duration, all acked) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	var killer *time.Timer
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			break // a truncated line does not count
		}
		if err != nil {
			t.Fatal(err)
		}
		if killer == nil {
			killer = time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
		all.add(t, line)
	}
	_ = cmd.Wait() // it was killed
}

// add parses a line of a child.
func (a acked) add(t *testing.T, line string) {
	t.Helper()
	var name ackedName
	var version int64
	_, err := fmt.Sscanf(line, "%s %s %s %d\n", &name.what, &name.owner, &name.id, &version)
	if err != nil || name.what == "error" {
		t.Fatalf("child says %q", line)
	}
	a[name] = max(a[name], version)
}

func compareAcked(t *testing.T, path string, all acked) {
	t.Helper()
	db, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	wantSound(t, db)
	found := acked{}
	eachTask(t, db, func(h task.Head, es []task.Entry) {
		found[ackedName{"task", h.Owner, h.ID}] = h.Version
		compareHooks(t, db, h, found)
		var again task.Head
		for _, e := range es {
			if again, _, err = task.Apply(again, e); err != nil {
				t.Errorf("%s: entry %d: %v", h.ID, e.Version, err)
			}
		}
		if again.State != h.State || again.UpdatedAt != h.UpdatedAt || again.StatusAt != h.StatusAt {
			t.Errorf("%s: head is %v at %d, its entries lead to %v at %d", h.ID, h.State, h.UpdatedAt, again.State, again.UpdatedAt)
		}
	})
	for name, version := range all {
		if found[name] < version {
			t.Errorf("%v is at version %d, %d was acknowledged", name, found[name], version)
		}
	}
}

// compareHooks wants a hook at each task that was created with one, and at no other, with a
// dead letter at its position.
func compareHooks(t *testing.T, db *DB, h task.Head, found acked) {
	t.Helper()
	hooks, err := db.Tasks().Hooks(t.Context(), h.Key, "", 10)
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	if strings.HasSuffix(string(h.ID), hookedSuffix) {
		want = 1
	}
	if len(hooks) != want {
		t.Fatalf("%s has %d hooks, want %d", h.ID, len(hooks), want)
	}
	for _, hook := range hooks {
		found[ackedName{"hook", h.Owner, h.ID}] = hook.Position
		letters, err := db.Tasks().DeadLetters(t.Context(), hook.Ref())
		if err != nil || hook.Position > 1 && (len(letters) == 0 || letters[len(letters)-1].Last != hook.Position) {
			t.Errorf("%s: hook at position %d has dead letters %+v, %v", h.ID, hook.Position, letters, err)
		}
	}
}
