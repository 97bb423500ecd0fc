package cli

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/parley-a2a/parley/internal/backup"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/server"
	"github.com/parley-a2a/parley/internal/version"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

type backupCmd struct {
	File       string `arg:"" help:"The new file."`
	Data       string `help:"The data folder (./parley-data; $$PARLEY_DATA)." from:"PARLEY_DATA" default:"parley-data" placeholder:"DIR"`
	AcceptLoss bool   `name:"accept-loss" help:"Back up the folder even though data is known to be missing. The backup, and each hub that uses it, reports the loss."`
	Config     string `help:"The configuration file, which may name other folders for parts and audit (parley.yaml here, in ./workspace or in the data folder; $$PARLEY_CONFIG)." from:"PARLEY_CONFIG" placeholder:"FILE"`
}

func (c *backupCmd) Run(in interrupts, o *OS) error {
	if c.File == stdioName {
		return noStream("a backup")
	}
	outside, err := c.outside()
	if err != nil {
		return err
	}
	src := backup.Source{Dir: c.Data, Outside: outside, Parley: version.Version, AcceptLoss: c.AcceptLoss}
	if lost := server.AuditLoss(in.soft, c.Data); lost != "" {
		src.Lost = append(src.Lost, lost)
	}
	m, err := backup.Write(in.soft, src, c.File)
	if errors.Is(err, sqlitestore.ErrLost) {
		return fmt.Errorf("%w; keep the earlier backups, restore one of them, or salvage the folder with parley repair; to back up the rest: parley backup %s --data %s --accept-loss",
			err, quote(c.File), quote(c.Data))
	}
	if errors.Is(err, sqlitestore.ErrNoStore) {
		return fmt.Errorf("%w; a hub with PostgreSQL is backed up with the tools of the database, or parley export --running", err)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Stdout, "%s has %s\n%s", printable(c.File), contentText(m), lossText(m))
	return err
}

// lossText describes the known losses of a backup, in a line each.
func lossText(m *backup.Manifest) (text string) {
	for _, l := range m.Losses {
		text += "it was made from a folder with a known loss: " + l + "\n"
	}
	return text
}

// stdioName stands for standard input or output in other programs.
const stdioName = "-"

// noStream refuses stdioName as the name of a file that is examined before it is complete.
func noStream(subject string) error {
	return usagef("%s must be written to a file, not to standard output: give the name of a new file", subject)
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
	if server.OnDatabase(cfg.Store.Home) {
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

func contentText(m *backup.Manifest) string {
	return fmt.Sprintf("%s with %s, and %s", counted(int(m.Tasks), "task"), entriesText(uint64(m.Entries)), counted(len(m.Files), "file"))
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
	_, err = fmt.Fprintf(o.Stdout, "%s has %s\n%sStart it with: parley serve --data %s\n", printable(c.Data), contentText(m), lossText(m), quote(c.Data))
	return err
}
