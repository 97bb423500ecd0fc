package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/server"
	"github.com/parley-a2a/parley/store/pgstore"
)

type hubsCmd struct {
	List  hubsListCmd  `cmd:"" help:"List the hubs that use a database."`
	Drain hubsDrainCmd `cmd:"" help:"Make a hub hand its tasks to the others, and exit."`
}

// databaseFlags select the database.
type databaseFlags struct {
	Store string `help:"The address of the PostgreSQL database ($$PARLEY_STORE)." from:"PARLEY_STORE" placeholder:"URL"`
}

func (f *databaseFlags) check() error {
	if !server.OnDatabase(f.Store) {
		return usagef("--store: give the address of the hubs' database, such as postgres://user@host/name")
	}
	return nil
}

type hubsListCmd struct {
	databaseFlags
	format
}

type shownHub struct {
	ID       string    `json:"id"`
	Version  string    `json:"version"`
	Address  string    `json:"address"`
	Tasks    int64     `json:"tasks"`
	Lease    float64   `json:"leaseSeconds"`
	Config   string    `json:"configuration"`
	Joined   time.Time `json:"joined"`
	Draining bool      `json:"draining"`
}

func (c *hubsListCmd) Run(ctx context.Context, o *OS) error {
	if err := c.check(); err != nil {
		return err
	}
	all, err := pgstore.Members(ctx, c.Store)
	if err != nil {
		return err
	}
	t := table[*shownHub]{
		heads: "ID\tVERSION\tADDRESS\tTASKS\tLEASE\tCONFIGURATION\tSTATE", none: "No hub with an id uses this database.", format: c.format,
		row: func(h *shownHub) []any {
			state := ""
			if h.Draining {
				state = "draining"
			}
			return []any{printable(h.ID), h.Version, printable(h.Address), h.Tasks, int(h.Lease), h.Config, state}
		},
	}
	return t.print(o, func(yield func(*shownHub, error) bool) {
		for i := range all {
			if !yield(showHub(&all[i]), nil) {
				return
			}
		}
	})
}

func showHub(m *cluster.Member) *shownHub {
	return &shownHub{
		ID: m.ID, Version: m.Version, Address: m.Address, Tasks: m.Tasks, Lease: m.Lease.Seconds(), Config: m.Config,
		Joined: m.Joined.Time(), Draining: m.Drain,
	}
}

type hubsDrainCmd struct {
	databaseFlags
	ID string `arg:"" help:"The id of the hub."`
}

func (c *hubsDrainCmd) Run(ctx context.Context, o *OS) error {
	if err := c.check(); err != nil {
		return err
	}
	there, err := pgstore.Drain(ctx, c.Store, c.ID)
	if err == nil && !there {
		err = fmt.Errorf("no hub with the id %q; list hubs with: parley hubs list", c.ID)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Stdout, "Hub %s is draining.\n", printable(c.ID))
	return err
}
