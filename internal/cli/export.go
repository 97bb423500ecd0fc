package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/server"
	"github.com/parley-a2a/parley/internal/store/dump"
)

// storeFlags name the store of a hub that does not run.
type storeFlags struct {
	Data   string `help:"The data folder (./parley-data; $$PARLEY_DATA)." from:"PARLEY_DATA" placeholder:"DIR"`
	Store  string `help:"The store: sqlite, for a file in the data folder, or the address of a PostgreSQL database (sqlite; $$PARLEY_STORE)." from:"PARLEY_STORE" placeholder:"sqlite|URL"`
	Config string `help:"The configuration file (parley.yaml here, in ./workspace or in the data folder; $$PARLEY_CONFIG)." from:"PARLEY_CONFIG" placeholder:"FILE"`
}

// settings returns the configuration that parley serve would have with the flags. The lock of a program needs the
// address without a pooler.
func (f *storeFlags) settings() (*config.Config, error) {
	cfg, err := (&serveCmd{Config: f.Config, Data: f.Data, Store: f.Store}).settings()
	if err == nil && f.Store == "" {
		cfg.Store.Home = cmp.Or(cfg.StoreDirect, cfg.Store.Home)
	}
	return cfg, err
}

type exportCmd struct {
	storeFlags
	File    string `arg:"" help:"The new file."`
	Running bool   `help:"Export the store of a running hub, as a copy. The hub continues its open tasks, and so does a hub with an import of the file."`
}

func (c *exportCmd) Run(ctx context.Context, o *OS) error {
	if c.File == stdioName {
		return noStream("an export")
	}
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	return o.interruptible(ctx, func(in interrupts) error {
		end, err := server.Export(in.soft, cfg, c.File, c.Running)
		if err != nil {
			return adviseLoss(err, cfg.Data)
		}
		return printMoved(o, c.File, end)
	})
}

// printMoved prints the content of an export.
func printMoved(o *OS, subject string, end *dump.End) error {
	rows := int64(0)
	for _, n := range end.Rows {
		rows += n
	}
	_, err := fmt.Fprintf(o.Stdout, "%s has %s, %s in all, and %s of large parts\n",
		printable(subject), counted(int(end.Rows["tasks"]), "task"), counted(int(rows), "row"), counted(int(end.Files), "file"))
	return err
}

type importCmd struct {
	storeFlags
	File string `arg:"" help:"The file of parley export."`
}

func (c *importCmd) Run(ctx context.Context, o *OS) error {
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	return o.interruptible(ctx, func(in interrupts) error {
		end, err := server.Import(in.soft, cfg, c.File)
		if err != nil {
			return err
		}
		return printMoved(o, cfg.Data, end)
	})
}
