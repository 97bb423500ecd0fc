package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/doctor"
	"github.com/parley-a2a/parley/internal/server"
	"github.com/parley-a2a/parley/internal/version"
	"github.com/parley-a2a/parley/store/pgstore"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

type upgradeCmd struct {
	storeFlags
	format
	Check bool `help:"Report what this version would change. It is required: Parley does not replace itself."`
}

// Run prints the changes that the first start of this version makes, and fails if something needs a hand.
func (c *upgradeCmd) Run(in interrupts, o *OS) error {
	if !c.Check {
		return usagef("give --check; to upgrade, back up, replace the program and start it")
	}
	hands := 0
	for _, f := range c.examine(in.soft) {
		if f.Level != doctor.OK {
			hands++
		}
		if err := printFinding(o, &c.format, &f); err != nil {
			return err
		}
	}
	if hands > 0 {
		return fmt.Errorf("%s before parley %s starts here", counted(hands, "thing")+" to do", version.Version)
	}
	return nil
}

func (c *upgradeCmd) examine(ctx context.Context) []doctor.Finding {
	cfg, err := c.settings()
	if err != nil {
		return []doctor.Finding{{Level: doctor.Wrong, Subject: "config", Text: err.Error()}}
	}
	var all []doctor.Finding
	for _, notice := range cfg.Notices() {
		all = append(all, doctor.Finding{Level: doctor.Weak, Subject: "config", Text: cfg.File + ": " + notice})
	}
	switch {
	case len(all) > 0:
	case cfg.File == "":
		all = append(all, doctor.Finding{Level: doctor.OK, Subject: "config", Text: "there is no configuration file"})
	default:
		all = append(all, doctor.Finding{Level: doctor.OK, Subject: "config", Text: cfg.File + " is valid"})
	}
	all = append(all, migrations(ctx, cfg))
	if slices.ContainsFunc(cfg.Agents, func(a config.Agent) bool { return a.Queue != "" }) {
		all = append(all, doctor.Finding{
			Level: doctor.OK, Subject: "workers", Text: fmt.Sprintf("the hub accepts workers of version %d of the wire contract only", bus.Version),
			Advice: "upgrade the workers together with the hub",
		})
	}
	return all
}

// migrations returns the finding about the store.
func migrations(ctx context.Context, cfg *config.Config) doctor.Finding {
	f := doctor.Finding{Level: doctor.OK, Subject: "store"}
	var names []string
	var err error
	if server.OnDatabase(cfg.Store.Home) {
		for _, address := range append([]string{cfg.Store.Home}, cfg.Store.Others()...) {
			var some []string
			if some, err = pgstore.Pending(ctx, address); err != nil {
				break
			}
			names = append(names, some...)
		}
	} else {
		names, err = sqlitestore.Pending(filepath.Join(cfg.Data, server.StoreName))
	}
	switch {
	case errors.Is(err, sqlitestore.ErrNoStore):
		f.Text = fmt.Sprintf("the folder %s has no data of a hub", quote(cfg.Data))
	case err != nil:
		f.Level, f.Text = doctor.Wrong, err.Error()
	case len(names) == 0:
		f.Text = "no migrations"
	default:
		f.Text = fmt.Sprintf("the first start applies %s: %s", counted(len(names), "migration"), strings.Join(names, ", "))
		f.Advice = "back up first; an older parley does not start on the data afterwards"
	}
	return f
}
