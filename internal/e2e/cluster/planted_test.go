package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/linktest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// edit replaces a text that occurs once in a file of the module.
type edit struct{ file, old, new string }

// planted is a bug that the checker must find. check returns its findings.
type planted struct {
	name  string
	edits []edit
	check func(c *campaign) error
	start func(*testing.T) *broker // nil means onNothing
}

var plantedBugs = []planted{
	{
		// A hub that was paused writes to tasks that others have taken over.
		"epoch",
		[]edit{
			{"internal/task/apply.go", "case session.Stale:\n\t\treturn", "case session.Stale:\n\t\t_ ="},
			{"internal/task/apply.go", "case session.Repeated:\n\t\treturn", "case session.Repeated:\n\t\t_ ="},
			{"internal/task/apply.go", "case session.Gap:\n\t\treturn", "case session.Gap:\n\t\t_ ="},
			{"internal/engine/peers.go", "if r != nil && (h.Run.Epoch != r.epoch || ", "if r != nil && (false && "},
			{"internal/engine/peers.go", "\te.suspended.Store(true)\n", "\te.suspended.Store(true)\n\tif e.suspended.Load() {\n\t\treturn\n\t}\n"},
			{"store/pgstore/members.go", "ended != 0 {", "ended > 9 {"},
		},
		(*campaign).pausedHolder,
		nil,
	},
	{
		// A hub follows the tasks of others by hints alone.
		"hint",
		[]edit{
			{"internal/server/members.go", "all := hint.All || hint.Regular", "all := false"},
		},
		(*campaign).lostHint,
		nil,
	},
	{
		// A hub renews its lease by its own clock.
		"clock",
		[]edit{
			{"store/pgstore/members.go", `SET lease_until = " + clock + " + $2,`, `SET lease_until = $2,`},
			{"store/pgstore/members.go", "s.int(r.Lease.Milliseconds())\n\t\ts.int(int64(r.Runs))", "s.int(time.Now().Add(r.Lease).UnixMilli())\n\t\ts.int(int64(r.Runs))"},
		},
		(*campaign).wrongClocks,
		nil,
	},
	{
		// The membership of a lost hub ends without waiting for its transaction.
		"fence",
		[]edit{
			{"store/pgstore/members.go", `WHERE epoch = $1 FOR KEY SHARE")`, `WHERE epoch = $1")`},
		},
		(*campaign).lateCommit,
		nil,
	},
	{
		// Each hub delivers the webhooks of all.
		"deliverers",
		[]edit{
			{"internal/cluster/keeper/keeper.go", "if k.views[i].OwnerOfTask(key) != k.ID {", `if k.views[i].OwnerOfTask(key) == "" {`},
		},
		(*campaign).oneDeliverer,
		nil,
	},
	{
		// A hub writes to the former place of an owner that has moved.
		"place",
		[]edit{
			{"internal/store/shards/owners.go", "\tdelete(o.places, owner)\n", "\tif n, known := o.places[owner]; known {\n\t\tformer.LoadOrStore(owner, n)\n\t}\n\tdelete(o.places, owner)\n"},
			{"internal/store/shards/owners.go", "\ts, err := o.find(ctx, owner)\n", "\tif n, known := former.Load(owner); known {\n\t\treturn o.db.shard(n.(int)), nil\n\t}\n\ts, err := o.find(ctx, owner)\n"},
			{"internal/store/shards/owners.go", "const maxPlaces =", "var former sync.Map\n\nconst maxPlaces ="},
		},
		(*campaign).movedOwner,
		onDatabases(2),
	},
}

// chances is the number of times that a bug has to show itself. That of hints does not if the reader's hub reads
// the log at the moment at which its connections are cut: it reads again over new ones.
const chances = 5

// TestPlantedBugs builds hubs with a bug. The checker must find each bug, and must find nothing in hubs
// without it under the same fault. In continuous integration one bug is planted; the others are each night, since
// most of the program is compiled for each.
func TestPlantedBugs(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "building hubs with bugs")
	for _, bug := range plantedBugs { // one after the other: each builds most of the program
		t.Run(bug.name, func(t *testing.T) {
			start := bug.start
			if start == nil {
				start = onNothing
			}
			if err := bug.check(newCampaign(t, start(t))); err != nil {
				t.Errorf("without the bug the checker reports %v", err)
			}
			if bug.name != "fence" {
				testenv.Nightly(t, "building a hub with this bug")
			}
			hub := plant(t, bug.edits)
			var found error
			for tries := 0; found == nil && tries < chances; tries++ {
				b := start(t)
				b.hub = hub
				found = bug.check(newCampaign(t, b))
				t.Logf("with the bug: %v", found)
			}
			if found == nil {
				t.Error("the checker does not find the bug")
			}
		})
	}
}

// TestPlantedEdits: each bug can still be planted, which a change of the edited lines may have made impossible.
func TestPlantedEdits(t *testing.T) {
	t.Parallel()
	for _, bug := range plantedBugs {
		overlay(t, bug.edits)
	}
}

// overlay writes edited copies of the module's files, and the file for the compiler that names them.
func overlay(t *testing.T, edits []edit) (path string) {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replaced := map[string]string{}
	for i, e := range edits {
		file := filepath.Join(root, e.file)
		from := file
		if replaced[file] != "" {
			from = replaced[file]
		}
		b, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(b), e.old); n != 1 {
			t.Fatalf("%q occurs %d times in %s", e.old, n, e.file)
		}
		replaced[file] = filepath.Join(dir, fmt.Sprint(i)+".go")
		if err := os.WriteFile(replaced[file], []byte(strings.Replace(string(b), e.old, e.new, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// plant builds a hub with edits.
func plant(t *testing.T, edits []edit) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "hub")
	build := exec.Command("go", "build", "-overlay", overlay(t, edits), "-o", path, "github.com/parley-a2a/parley/cmd/parley")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// pausedHolder freezes the holder of tasks for longer than its lease. When it wakes, others run its
// tasks.
func (c *campaign) pausedHolder() error {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), settling)
	defer cancel()
	if err := c.members(ctx); err != nil {
		return err
	}
	if err := c.orphans(ctx); err != nil {
		return err
	}
	effects := c.effects()
	for _, j := range c.jobs {
		if err := c.checkJob(ctx, j, effects[j.id]); err != nil {
			return fmt.Errorf("job %s: %w", j.name, err)
		}
	}
	return nil
}

// lostHint cuts a hub off from the database while a task of another hub ends. A reader there must
// receive the end afterwards.
func (c *campaign) lostHint() error {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), settling)
	defer cancel()
	if err := c.members(ctx); err != nil {
		return err
	}
	reader := c.nodes[1]
	id := (&member{c.nodes[0].Hub, c.t, "a"}).send("slow", message{text: "3"}).ID
	read, err := c.subscribe(ctx, reader, id)
	if err != nil {
		return err
	}
	witness, err := c.subscribe(ctx, c.nodes[2], id)
	if err != nil {
		return err
	}
	flow := reader.dbs[0].Stall(linktest.Both)
	select {
	case <-witness: // so the hint of the end has been sent to all hubs
	case <-ctx.Done():
		return ctx.Err()
	}
	reader.dbs[0].Cut() // messages sent meanwhile are lost
	flow()
	select {
	case got := <-read:
		completed(c.t, got)
		return nil
	case <-ctx.Done():
		return wrong("a reader misses the end of a task that has ended")
	}
}

// subscribe follows a task at a hub until ctx ends, and returns when its first event has arrived. The
// channel receives all events when the stream has ended.
func (c *campaign) subscribe(ctx context.Context, n *node, id string) (<-chan []hubtest.Event, error) {
	resp, err := hubtest.Do(ctx, hubtest.Request{
		Method: http.MethodPost, URL: n.URL() + "/v1/a2a/tasks/" + id + ":subscribe", Header: []string{"Last-Event-ID", "1"},
	})
	if err != nil {
		return nil, err
	}
	begun, all := make(chan bool), make(chan []hubtest.Event, 1)
	go func() { // ends with ctx
		defer resp.Body.Close()
		var got []hubtest.Event
		for ev, err := range hubtest.Events(resp.Body) {
			if err != nil {
				break
			}
			if got = append(got, ev); len(got) == 1 {
				close(begun)
			}
		}
		all <- got
	}()
	select {
	case <-begun:
		return all, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// wrongClocks sets the clock of a hub back. The hub must stay a member meanwhile, and keep its task.
func (c *campaign) wrongClocks() error {
	c.t.Helper()
	testenv.Met(c.t, c.canMove(), "clock that a test can move (linux on amd64)")
	ctx, cancel := context.WithTimeout(c.t.Context(), settling)
	defer cancel()
	if err := c.members(ctx); err != nil {
		return err
	}
	a, b := c.nodes[0], &member{c.nodes[1].Hub, c.t, "b"}
	c.moveClock(a, &strike{jump: -time.Hour})
	completed(c.t, b.follow((&member{a.Hub, c.t, "a"}).send("slow", message{text: "8"}).ID))
	if strings.Contains(a.Output(), "this hub has joined again") {
		return wrong("a hub whose clock was set back has lost its lease")
	}
	return nil
}
