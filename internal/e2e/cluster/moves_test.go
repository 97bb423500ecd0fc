package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/store/pgstore"
)

// orderMove orders a move of an owner to a database, or to the next one if the owner is there.
func (c *campaign) orderMove(ctx context.Context, owner, to int) error {
	home, name := c.all[0].store.String(), task.Owner(ownerOf(owner))
	err := pgstore.OrderMove(ctx, home, name, to)
	if errors.Is(err, pgstore.ErrThere) {
		err = pgstore.OrderMove(ctx, home, name, (to+1)%len(c.all))
	}
	return err
}

// moved waits until all moves of owners have ended, and checks that each owner has tasks in its place alone.
func (c *campaign) moved(ctx context.Context) error {
	if !c.hasShards() {
		return nil
	}
	for {
		rows, err := c.rows(ctx, c.all[0], "SELECT convert_from(owner, 'UTF8'), state, convert_from(reason, 'UTF8') FROM parley.shard_moves ORDER BY state")
		if err == nil && (len(rows) == 0 || string(rows[0][1]) == "4") {
			c.t.Logf("%8.3f s: no move is left; failed: %q", c.now().Seconds(), rows)
			break
		}
		if pause(ctx, 100*time.Millisecond) != nil {
			return wrong("moves do not end: %q, %v", rows, err)
		}
	}
	places, err := c.rows(ctx, c.all[0], "SELECT owner, number FROM parley.shard_owners")
	if err != nil {
		return err
	}
	place := map[string]string{}
	for _, row := range places {
		place[string(row[0])] = string(row[1])
	}
	for _, db := range c.all {
		found, err := c.rows(ctx, db, "SELECT DISTINCT o.name, (SELECT number FROM parley.shard) FROM parley.tasks t JOIN parley.owners o ON o.id = t.owner")
		if err != nil {
			return err
		}
		for _, row := range found {
			if owner, at := string(row[0]), string(row[1]); place[owner] != at {
				return wrong("owner %s, whose place is database %s, has tasks in database %s", owner, place[owner], at)
			}
		}
	}
	return nil
}

// movedOwner moves an owner while its tasks run, and begins more of them at each hub afterwards.
func (c *campaign) movedOwner() error {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), settling)
	defer cancel()
	if err := c.members(ctx); err != nil {
		return err
	}
	short, long := &load{name: "short", agent: "echo", text: func(name string) string { return name }, blocks: true}, &load{name: "long", agent: "slow", text: fixed("5"), hook: true}
	all := []*job{{c: c, load: short, name: "before", text: "before"}, {c: c, load: long, name: "long", text: "5", brief: true}}
	for _, j := range all {
		if err := j.begin(ctx); err != nil {
			return err
		}
	}
	if err := c.orderMove(ctx, 0, 1); err != nil {
		return err
	}
	if err := c.moved(ctx); err != nil {
		return err
	}
	if _, _, err := pgstore.OrderEnded(ctx, c.all[0].store.String(), task.Owner(ownerOf(0))); err != nil {
		return err
	}
	ctx, cancel = context.WithTimeout(ctx, 30*time.Second) // in which a hub without the bug accepts messages
	defer cancel()
	all[1].brief = false
	if err := all[1].follow(ctx); err != nil {
		return err
	}
	for i := range c.nodes {
		name := fmt.Sprint("after-", i)
		j := &job{c: c, load: short, name: name, text: name}
		if err := j.run(ctx); err != nil {
			return err
		}
		all = append(all, j)
	}
	for _, j := range all {
		if err := c.checkJob(ctx, j, 0); err != nil {
			return fmt.Errorf("job %s: %w", j.name, err)
		}
	}
	return nil
}

// rows returns the result of a statement in a database.
func (c *campaign) rows(ctx context.Context, in *database, sql string) ([][][]byte, error) {
	db, err := pgconn.Connect(ctx, in.store.String())
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close(context.WithoutCancel(ctx)) }()
	got := db.ExecParams(ctx, sql, nil, nil, nil, nil).Read()
	return got.Rows, got.Err
}
