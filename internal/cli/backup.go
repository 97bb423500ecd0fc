package cli

import (
	"fmt"
	"path/filepath"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/internal/backup"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/server"
)

type backupCmd struct {
	File   string `arg:"" help:"The new file."`
	Data   string `help:"The data folder (./parley-data; $$PARLEY_DATA)." from:"PARLEY_DATA" default:"parley-data" placeholder:"DIR"`
	Config string `help:"The configuration file, which may name other folders for parts and audit (parley.yaml here, in ./workspace or in the data folder; $$PARLEY_CONFIG)." from:"PARLEY_CONFIG" placeholder:"FILE"`
}

func (c *backupCmd) Run(in interrupts, o *OS) error {
	outside, err := c.outside()
	if err != nil {
		return err
	}
	m, err := backup.Write(in.soft, backup.Source{Dir: c.Data, Outside: outside, Parley: parley.Version}, c.File)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Stdout, "%s has %d tasks with %d entries, and %d files\n", printable(c.File), m.Tasks, m.Entries, len(m.Files))
	return err
}

// outside returns the configured folders outside of the data folder.
func (c *backupCmd) outside() (map[string]string, error) {
	path, err := config.Find(c.Config, c.Data)
	if err != nil || path == "" {
		return nil, err
	}
	cfg, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	if server.OnDatabase(cfg.Store) {
		return nil, fmt.Errorf("the hub of %s keeps its store in a database: use the tools of PostgreSQL, or parley export", path)
	}
	outside := make(map[string]string)
	for name, dir := range map[string]string{server.PartsName: cfg.Parts.Dir, server.AuditName: cfg.Audit.Dir} {
		if dir != "" && filepath.Clean(dir) != filepath.Join(c.Data, name) {
			outside[name] = dir
		}
	}
	return outside, nil
}

type restoreCmd struct {
	File string `arg:"" help:"The backup."`
	Data string `help:"The new data folder. It must not exist, or have no data." required:"" placeholder:"DIR"`
}

func (c *restoreCmd) Run(in interrupts, o *OS) error {
	m, err := backup.Restore(in.soft, c.File, c.Data)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Stdout, "%s has %d tasks with %d entries, and %d files\nStart it with: parley serve --data %s\n",
		printable(c.Data), m.Tasks, m.Entries, len(m.Files), quote(c.Data))
	return err
}
