package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/store/pgstore"
)

type shardsCmd struct {
	List  shardsListCmd  `cmd:"" help:"List the databases that share the tasks, with the number of owners in each."`
	Move  shardsMoveCmd  `cmd:"" help:"Move an owner, with all its tasks, to another database while the hubs run."`
	Drain shardsDrainCmd `cmd:"" help:"Move all owners of a database to the others, and give it no new ones."`
}

// homeFlags select the home of a log.
type homeFlags struct {
	Store string `help:"The address of the home database ($$PARLEY_STORE)." from:"PARLEY_STORE" placeholder:"URL"`
}

func (f *homeFlags) check() error { return (&databaseFlags{f.Store}).check() }

type shardsListCmd struct {
	homeFlags
	format
}

type shownShard struct {
	Number   int    `json:"number"`
	Database string `json:"database"`
	Owners   int    `json:"owners"`
}

func (c *shardsListCmd) Run(ctx context.Context, o *OS) error {
	if err := c.check(); err != nil {
		return err
	}
	all, err := pgstore.Shards(ctx, c.Store)
	if err != nil {
		return err
	}
	t := table[*shownShard]{
		heads: "SHARD\tDATABASE\tOWNERS", none: "The database is a log of its own.", format: c.format,
		row: func(s *shownShard) []any { return []any{s.Number, printable(s.Database), s.Owners} },
	}
	return t.print(o, func(yield func(*shownShard, error) bool) {
		for _, s := range all {
			if !yield(&shownShard{s.Number, s.Name, s.Owners}, nil) {
				return
			}
		}
	})
}

// database returns the shard with a number or an address without user and password.
func (f *homeFlags) database(ctx context.Context, which string) (*pgstore.ShardInfo, error) {
	all, err := pgstore.Shards(ctx, f.Store)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if s := &all[i]; s.Name == which || strconv.Itoa(s.Number) == which {
			return s, nil
		}
	}
	return nil, fmt.Errorf("no database %q; list them with: parley shards list", which)
}

type shardsMoveCmd struct {
	homeFlags
	Owner    string `arg:"" help:"The owner of the tasks."`
	Database string `arg:"" help:"The number of the database in the list, or its address without user and password."`
}

func (c *shardsMoveCmd) Run(ctx context.Context, o *OS) error {
	if err := c.check(); err != nil {
		return err
	}
	to, err := c.database(ctx, c.Database)
	if err != nil {
		return err
	}
	return c.move(ctx, o, task.Owner(c.Owner), to.Number)
}

// orderEvery is the time between two questions whether a move has ended.
const orderEvery = 250 * time.Millisecond

// move orders a move, and waits for its end.
func (f *homeFlags) move(ctx context.Context, o *OS, owner task.Owner, to int) error {
	if err := pgstore.OrderMove(ctx, f.Store, owner, to); err != nil {
		return err
	}
	for {
		if err := backoff.Sleep(ctx, orderEvery); err != nil {
			return fmt.Errorf("the hubs continue to move owner %q: %w", owner, err)
		}
		place, ended, err := pgstore.OrderEnded(ctx, f.Store, owner)
		if err != nil {
			return fmt.Errorf("owner %q: %w", owner, err)
		}
		if !ended {
			continue
		}
		if to != pgstore.AnyShard && place != to {
			return fmt.Errorf("owner %q was not moved; the log of the hubs says why", owner)
		}
		_, err = fmt.Fprintf(o.Stdout, "Owner %s is in database %d.\n", printable(string(owner)), place)
		return err
	}
}

type shardsDrainCmd struct {
	homeFlags
	Undo     bool   `help:"Give the database new owners again. Owners that have moved stay where they are."`
	Database string `arg:"" help:"The number of the database in the list, or its address without user and password."`
}

func (c *shardsDrainCmd) Run(ctx context.Context, o *OS) error {
	if err := c.check(); err != nil {
		return err
	}
	from, err := c.database(ctx, c.Database)
	if err == nil {
		err = pgstore.DrainShard(ctx, c.Store, from.Number, !c.Undo)
	}
	if err != nil {
		return err
	}
	if c.Undo {
		_, err = fmt.Fprintf(o.Stdout, "Database %d gets new owners again.\n", from.Number)
		return err
	}
	const some = 100
	for {
		all, err := pgstore.OwnersIn(ctx, c.Store, from.Number, some)
		if err != nil {
			return err
		}
		for _, owner := range all {
			if err := c.move(ctx, o, owner, pgstore.AnyShard); err != nil && !errors.Is(err, pgstore.ErrThere) {
				return err
			}
		}
		if len(all) == 0 {
			_, err = fmt.Fprintf(o.Stdout, "Database %d has no owners and gets no new ones.\n", from.Number)
			return err
		}
	}
}
