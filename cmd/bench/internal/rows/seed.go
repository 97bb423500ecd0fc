package rows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
	"github.com/parley-a2a/parley/cmd/bench/internal/wire"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

// ownersOf returns the number of owners of a file with n tasks: 1,000 for a million, and fewer
// for fewer tasks. So each owner has more than a page of them and lists do the same work.
func ownersOf(n int) int { return min(max(n/100, 2), 1_000) }

// ownerOf returns the number of the owner of task i of n. The first owner has a tenth of all
// tasks.
func ownerOf(i, n int) int {
	if i%10 == 0 {
		return 0
	}
	return 1 + i%(ownersOf(n)-1)
}

// ownerName returns the name of an owner.
func ownerName(n int) string { return fmt.Sprintf("owner-%04d", n) }

// taskID returns the id of task i: as long as a UUID, and in the order of i.
func taskID(i int) a2a.TaskID {
	var b [wire.MarkLen]byte
	wire.PutMark(b[:], uint64(i))
	return a2a.TaskID(b[:]) + taskIDEnd
}

const taskIDEnd = "-0000-7000-8000-0000"

// maxSeedAge is the age at which a file is rebuilt. It is below the age at which a hub deletes
// tasks.
const maxSeedAge = 20 * 24 * time.Hour

// seedFormat changes whenever the tasks of a file change.
const seedFormat = "1"

// seed returns a data folder with n tasks that have ended. It is built once and kept. Its file is in
// the page cache of the system.
func (b *Bench) seed(ctx context.Context, n int) (string, error) {
	dir, err := b.kept(ctx, n)
	if err != nil {
		return "", err
	}
	return dir, warm(filepath.Join(dir, "parley.db"))
}

// warm reads a file, so that rows do not measure the disk.
func warm(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, f)
	return errors.Join(err, f.Close())
}

// kept returns the folder of an earlier run, or makes one.
func (b *Bench) kept(ctx context.Context, n int) (string, error) {
	dir := filepath.Join(b.Work, fmt.Sprintf("tasks-%d-%s", n, seedFormat))
	info, err := os.Stat(filepath.Join(dir, "complete"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err == nil && time.Since(info.ModTime()) < maxSeedAge && opens(filepath.Join(dir, "parley.db")) {
		return dir, nil
	}
	b.Log("making a file of %s tasks in %s", count(n), dir)
	if err := cmp.Or(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return "", err
	}
	if err := fillFile(ctx, filepath.Join(dir, "parley.db"), n); err != nil {
		return "", fmt.Errorf("make a file of %d tasks: %w", n, err)
	}
	return dir, os.WriteFile(filepath.Join(dir, "complete"), nil, 0o600)
}

// opens reports whether this version of Parley can open a file. It cannot if another version
// wrote another layout.
func opens(file string) bool {
	db, err := sqlitestore.Open(file, sqlitestore.Options{})
	return err == nil && db.Close() == nil
}

// fillers is the number of concurrent appends, which share commits.
const fillers = 512

func fillFile(ctx context.Context, path string, n int) error {
	begin := task.MillisOf(time.Now().Add(-time.Hour))
	return fill(ctx, path, n, func(ctx context.Context, log task.Log, i int) error {
		return fillTask(ctx, log, seedling{i, n, begin + task.Millis(i/1_000)})
	})
}

// fill makes a file, and calls add for each of n tasks.
func fill(ctx context.Context, path string, n int, add func(context.Context, task.Log, int) error) (err error) {
	db, err := sqlitestore.Open(path, sqlitestore.Options{CacheBytes: 256 << 20})
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, db.Close()) }()
	tasks := db.Tasks()
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range fillers {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := add(ctx, tasks, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// seedling is task i of n.
type seedling struct {
	i, n int
	at   task.Millis
}

// fillTask appends a task like the hub: once when it is created, once with the whole output of
// its agent.
func fillTask(ctx context.Context, log task.Log, s seedling) error {
	at := s.at
	h := task.Head{
		ID: taskID(s.i), ContextID: "context-" + string(taskID(s.i/3)),
		Owner: task.Owner(ownerName(ownerOf(s.i, s.n))), Agent: serve.AgentName,
	}
	h, err := grow(ctx, log, h, task.Run{Epoch: 1, Dispatch: task.Claimed, Holder: "seed", Attempt: 1}, task.Entry{
		Kind: task.Created, State: task.Submitted, At: at,
		Body: []byte(`{"messageId":"m","role":"ROLE_USER","parts":[{"text":"say something to me"}]}`),
	})
	if err != nil {
		return err
	}
	_, err = grow(ctx, log, h, h.Run,
		task.Entry{Kind: task.Status, State: task.Working, At: at, Epoch: 1, Seq: 1},
		task.Entry{
			Kind: task.Artifact, At: at, Epoch: 1, Seq: 2, ArtifactID: "answer", LastChunk: true,
			Body: []byte(`{"artifactId":"answer","parts":[{"text":"something to me"}]}`),
		},
		task.Entry{Kind: task.Status, State: task.Completed, At: at, Epoch: 1, Seq: 3})
	return err
}

// grow appends entries to a task whose head is h, and returns the new head.
func grow(ctx context.Context, log task.Log, h task.Head, r task.Run, es ...task.Entry) (task.Head, error) {
	c := &task.Change{Next: h}
	if h.Rev > 0 {
		c.Prev = h
	}
	c.Next.Run = r
	for _, e := range es {
		next, stored, err := task.Apply(c.Next, e)
		if err != nil {
			return h, err
		}
		c.Next, c.Entries = next, append(c.Entries, stored)
	}
	c.Next.Rev++
	err := log.Append(ctx, c)
	return c.Next, err
}
