package cli

import (
	"context"

	"github.com/parley-a2a/parley/store/pgstore"
)

type shardsCmd struct {
	List shardsListCmd `cmd:"" help:"List the databases of a log, with the number of owners whose tasks each has."`
}

type shardsListCmd struct {
	Store string `help:"The address of the home of the log ($$PARLEY_STORE)." from:"PARLEY_STORE" placeholder:"URL"`
	format
}

type shownShard struct {
	Number   int    `json:"number"`
	Database string `json:"database"`
	Owners   int    `json:"owners"`
}

func (c *shardsListCmd) Run(ctx context.Context, o *OS) error {
	if err := (&databaseFlags{c.Store}).check(); err != nil {
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
