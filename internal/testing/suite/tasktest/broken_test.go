package tasktest_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemoryPasses(t *testing.T) {
	t.Parallel()
	tasktest.Test(t, func(*testing.T) task.Store { return new(memstore.Store) })
}

// broken is a memory store with some methods replaced.
type broken struct {
	below
	brokenHooks
	brokenRequests
	brokenAliases
	brokenSidecars
	append      func(context.Context, *task.Change) error
	head        func(context.Context, task.Owner, a2a.TaskID) (task.Head, error)
	read        func(context.Context, task.Key, int64) ([]task.Entry, error)
	list        func(context.Context, *task.Query) (task.ListPage, error)
	interrupted func(context.Context, *task.Query) (task.Head, error)
	due         func(context.Context, task.Key, int) ([]task.Head, error)
	stale       func(context.Context, task.Millis, int) ([]task.Head, error)
	sweep       func(context.Context, task.Millis, int) (int, error)
	snapshot    func(context.Context, task.Key) (task.Snapshot, error)
	probe       func(context.Context) error
	timeline    func(context.Context, int64, int) (task.TimelinePage, error)
}

// below embeds the store one level deeper than brokenHooks, whose methods therefore take
// precedence.
type below struct{ *memstore.Store }

// sound returns a store with correct methods.
func sound() *broken {
	m := new(memstore.Store)
	return &broken{
		below: below{m}, append: m.Append, head: m.Head, read: m.Read, list: m.List, interrupted: m.Interrupted,
		due: m.Due, stale: m.Stale, sweep: m.Sweep, snapshot: m.Snapshot, probe: m.Probe, timeline: m.Timeline,
		brokenHooks: soundHooks(m), brokenRequests: soundRequests(m),
		brokenAliases:  brokenAliases{m.ByAlias},
		brokenSidecars: soundSidecars(m),
	}
}

func (b *broken) Append(ctx context.Context, c *task.Change) error { return b.append(ctx, c) }

func (b *broken) Head(ctx context.Context, owner task.Owner, id a2a.TaskID) (task.Head, error) {
	return b.head(ctx, owner, id)
}

func (b *broken) Read(ctx context.Context, key task.Key, after int64) ([]task.Entry, error) {
	return b.read(ctx, key, after)
}

func (b *broken) List(ctx context.Context, q *task.Query) (task.ListPage, error) {
	return b.list(ctx, q)
}

func (b *broken) Interrupted(ctx context.Context, q *task.Query) (task.Head, error) {
	return b.interrupted(ctx, q)
}

func (b *broken) Due(ctx context.Context, after task.Key, limit int) ([]task.Head, error) {
	return b.due(ctx, after, limit)
}

func (b *broken) Stale(ctx context.Context, before task.Millis, limit int) ([]task.Head, error) {
	return b.stale(ctx, before, limit)
}

func (b *broken) Sweep(ctx context.Context, before task.Millis, limit int) (int, error) {
	return b.sweep(ctx, before, limit)
}

func (b *broken) Snapshot(ctx context.Context, key task.Key) (task.Snapshot, error) {
	return b.snapshot(ctx, key)
}

func (b *broken) Probe(ctx context.Context) error { return b.probe(ctx) }

// defect breaks one part of the contract.
type defect struct {
	// found names the tests of the suite that must fail, separated by bars.
	found string
	make  func(b *broken)
}

var defects = map[string]defect{
	"conflict unsaid": {"Conflict|Race", func(b *broken) {
		b.append = func(ctx context.Context, c *task.Change) error {
			if err := b.Store.Append(ctx, c); !errors.Is(err, task.ErrConflict) {
				return err
			}
			return nil
		}
	}},
	"loser stored": {"Conflict|Race", func(b *broken) {
		b.append = func(ctx context.Context, c *task.Change) error {
			err := b.Store.Append(ctx, c)
			if now, e := b.Store.Head(ctx, c.Next.Owner, c.Next.ID); errors.Is(err, task.ErrConflict) && e == nil {
				next := c.Next
				next.Rev, next.Version = now.Rev+1, now.Version+int64(len(c.Entries))
				es := slices.Clone(c.Entries)
				for i := range es {
					es[i].Version = now.Version + int64(i) + 1
				}
				_ = b.Store.Append(ctx, &task.Change{Prev: now, Next: next, Entries: es})
			}
			return err
		}
	}},
	"exists unsaid": {"CreateTwice", func(b *broken) {
		b.append = func(ctx context.Context, c *task.Change) error {
			if err := b.Store.Append(ctx, c); !errors.Is(err, task.ErrExists) {
				return err
			}
			return task.ErrConflict
		}
	}},
	"torn change": {"Cancellation", func(b *broken) {
		b.append = func(ctx context.Context, c *task.Change) error {
			if ctx.Err() != nil && len(c.Entries) > 1 {
				c.Entries = c.Entries[:1]
				return b.Store.Append(context.Background(), c)
			}
			return b.Store.Append(ctx, c)
		}
	}},
	"metadata lost": {"Keep", func(b *broken) {
		b.append = changed(b, func(c *task.Change) {
			c.Entries = slices.Clone(c.Entries)
			for i := range c.Entries {
				c.Entries[i].Meta = nil
			}
		})
	}},
	"sealed lost": {"Keep", func(b *broken) {
		b.append = changed(b, func(c *task.Change) { c.Next.Sealed = nil })
	}},
	"owner ignored": {"Scope", func(b *broken) {
		var owners sync.Map
		b.append = changed(b, func(c *task.Change) { owners.Store(c.Next.ID, c.Next.Owner) })
		b.head = func(ctx context.Context, owner task.Owner, id a2a.TaskID) (task.Head, error) {
			if any, ok := owners.Load(id); ok {
				owner = any.(task.Owner)
			}
			return b.Store.Head(ctx, owner, id)
		}
	}},
	"page too long": {"Pages", func(b *broken) {
		b.read = func(ctx context.Context, key task.Key, after int64) ([]task.Entry, error) {
			first, err := b.Store.Read(ctx, key, after)
			if err != nil || len(first) < 256 {
				return first, err
			}
			more, err := b.Store.Read(ctx, key, after+256)
			return slices.Concat(first, more), err
		}
	}},
	"page skips": {"Pages", func(b *broken) {
		b.read = func(ctx context.Context, key task.Key, after int64) ([]task.Entry, error) {
			if after >= 256 {
				after++
			}
			return b.Store.Read(ctx, key, after)
		}
	}},
	"page too large": {"PageBytes", func(b *broken) {
		b.read = func(ctx context.Context, key task.Key, after int64) ([]task.Entry, error) {
			var all []task.Entry
			for len(all) < 200 {
				page, err := b.Store.Read(ctx, key, after+int64(len(all)))
				if err != nil || len(page) == 0 {
					return all, err
				}
				all = append(all, page...)
			}
			return all[:200], nil
		}
	}},
	"unknown key": {"ReadNothing|Sweep", func(b *broken) {
		b.read = func(ctx context.Context, key task.Key, after int64) ([]task.Entry, error) {
			es, err := b.Store.Read(ctx, key, after)
			if errors.Is(err, task.ErrNotFound) {
				return nil, nil
			}
			return es, err
		}
	}},
	"ties reversed": {"ListOrder|ListCursor", func(b *broken) {
		b.list = listed(b, func(_ *task.Query, p *task.ListPage) {
			if n := len(p.Heads); n > 1 && p.Heads[n-1].StatusAt == p.Heads[n-2].StatusAt {
				p.Heads[n-1], p.Heads[n-2] = p.Heads[n-2], p.Heads[n-1]
			}
		})
	}},
	"more unsaid": {"ListCursor|ListFilters", func(b *broken) {
		b.list = listed(b, func(_ *task.Query, p *task.ListPage) { p.More = false })
	}},
	"total of the page": {"ListTotal|SweepLimit", func(b *broken) {
		b.list = listed(b, func(_ *task.Query, p *task.ListPage) { p.Total = len(p.Heads) })
	}},
	"total without bound": {"ListTotal", func(b *broken) {
		b.list = listed(b, func(_ *task.Query, p *task.ListPage) {
			if p.Total > task.MaxTotal {
				p.Total++
			}
		})
	}},
	"since is exclusive": {"ListFilters|ListTotal", func(b *broken) {
		b.list = asked(b, func(q *task.Query) {
			if q.Since != 0 {
				q.Since++
			}
		})
	}},
	"all owners are one": {"ListAllOwners", func(b *broken) { b.list = asked(b, func(q *task.Query) { q.AllOwners = false }) }},
	"no owner is all": {"ListAllOwners", func(b *broken) {
		b.list = asked(b, func(q *task.Query) { q.AllOwners = q.Owner == "" && q.ContextID == "" })
	}},
	"agent does not filter":   {"ListFilters|Model", func(b *broken) { b.list = asked(b, func(q *task.Query) { q.Agent = "" }) }},
	"context does not filter": {"ListFilters|Model", func(b *broken) { b.list = asked(b, func(q *task.Query) { q.ContextID = "" }) }},
	"state does not filter":   {"ListFilters|ListMoves|Model", func(b *broken) { b.list = asked(b, func(q *task.Query) { q.State = 0 }) }},
	"cursor without key": {"ListCursor", func(b *broken) {
		b.list = asked(b, func(q *task.Query) {
			if q.After.At != 0 {
				q.After.Key = 1
			}
		})
	}},
	"hidden listed": {"ListHidden|Keep|Model", func(b *broken) {
		b.append = changed(b, func(c *task.Change) { c.Next.Visibility = task.Visible })
	}},
	"any agent is interrupted": {"Interrupted", func(b *broken) {
		b.interrupted = func(ctx context.Context, q *task.Query) (task.Head, error) {
			wide := *q
			wide.Agent = ""
			return b.Store.Interrupted(ctx, &wide)
		}
	}},
	"due forgets quiet tasks": {"Due|Model", func(b *broken) {
		b.due = func(ctx context.Context, after task.Key, limit int) ([]task.Head, error) {
			hs, err := b.Store.Due(ctx, after, limit)
			return slices.DeleteFunc(hs, func(h task.Head) bool { return h.Visibility == task.Hidden }), err
		}
	}},
	"stale forgets the context": {"Stale", func(b *broken) {
		b.stale = func(ctx context.Context, before task.Millis, limit int) ([]task.Head, error) {
			hs, err := b.Store.Stale(ctx, 1<<60, limit)
			return slices.DeleteFunc(hs, func(h task.Head) bool { return h.UpdatedAt >= before }), err
		}
	}},
	"sweep takes one too many": {"Sweep|SweepAnswered|Model", func(b *broken) {
		b.sweep = func(ctx context.Context, before task.Millis, limit int) (int, error) {
			return b.Store.Sweep(ctx, before+1, limit)
		}
	}},
	"sweep without limit": {"SweepLimit", func(b *broken) {
		b.sweep = func(ctx context.Context, before task.Millis, _ int) (int, error) {
			return b.Store.Sweep(ctx, before, 1<<30)
		}
	}},
	"wrong rev corrected": {"Mistakes", func(b *broken) {
		b.append = changed(b, func(c *task.Change) { c.Next.Rev = c.Prev.Rev + 1 })
	}},
	"probe that ignores its context": {"Probe", func(b *broken) {
		b.probe = func(context.Context) error { return b.Store.Probe(context.Background()) }
	}},
	"snapshot of an unknown task": {"Snapshots", func(b *broken) {
		b.snapshot = func(ctx context.Context, key task.Key) (task.Snapshot, error) {
			s, err := b.Store.Snapshot(ctx, key)
			if s.Version == 0 {
				err = task.ErrNotFound
			}
			return s, err
		}
	}},
}

func init() { maps.Copy(defects, hookDefects) }

// changed returns an Append that modifies changes before they are stored.
func changed(b *broken, alter func(*task.Change)) func(context.Context, *task.Change) error {
	return func(ctx context.Context, c *task.Change) error {
		mine := *c
		alter(&mine)
		err := b.Store.Append(ctx, &mine)
		c.Next.Key = mine.Next.Key
		return err
	}
}

// asked returns a List that modifies queries.
func asked(b *broken, alter func(*task.Query)) func(context.Context, *task.Query) (task.ListPage, error) {
	return func(ctx context.Context, q *task.Query) (task.ListPage, error) {
		mine := *q
		alter(&mine)
		return b.Store.List(ctx, &mine)
	}
}

// listed returns a List that modifies pages.
func listed(b *broken, alter func(*task.Query, *task.ListPage)) func(context.Context, *task.Query) (task.ListPage, error) {
	return func(ctx context.Context, q *task.Query) (task.ListPage, error) {
		p, err := b.Store.List(ctx, q)
		alter(q, &p)
		return p, err
	}
}

// defectVar names the defect that a child process tests.
const defectVar = "PARLEY_TASKTEST_DEFECT"

// TestBroken runs the suite in a separate process on each broken store. The tests for the
// broken part must fail.
func TestBroken(t *testing.T) {
	t.Parallel()
	if name := os.Getenv(defectVar); name != "" {
		tasktest.Test(t, func(*testing.T) task.Store {
			b := sound()
			if name != "none" {
				defects[name].make(b)
			}
			return b
		})
		return
	}
	if out, err := child(t, "none", "."); err != nil {
		t.Fatalf("the suite fails on a sound store: %v\n%s", err, out)
	}
	for name, d := range defects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := child(t, name, "^("+d.found+")$")
			if err == nil {
				t.Fatal("the suite passes")
			}
			want := strings.Split(d.found, "|")
			slices.Sort(want)
			if diff := cmp.Diff(want, failed(out)); diff != "" {
				t.Errorf("failed tests mismatch (-want +got):\n%s\n%s", diff, out)
			}
		})
	}
}

func child(t *testing.T, defect, tests string) (string, error) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBroken$/"+tests,
		"-rapid.seed=7", "-rapid.shrinktime=1ms", "-rapid.nofailfile")
	cmd.Env = append(os.Environ(), defectVar+"="+defect)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// failed lists the tests of the suite that failed.
func failed(out string) []string {
	var names []string
	for line := range strings.Lines(out) {
		if _, name, ok := strings.Cut(line, "--- FAIL: TestBroken/"); ok {
			names = append(names, strings.Fields(name)[0])
		}
	}
	slices.Sort(names)
	return names
}
