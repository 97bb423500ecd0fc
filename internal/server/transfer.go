package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/file/atomicfile"
	"github.com/parley-a2a/parley/internal/file/datadir"
	"github.com/parley-a2a/parley/internal/secret/seal"
	"github.com/parley-a2a/parley/internal/store/dump"
	"github.com/parley-a2a/parley/internal/version"
	"github.com/parley-a2a/parley/store/pgstore"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

// Export writes the content of the store of a configuration, with its large parts, to a new file.
// The hub must not run, unless running is set: then it may continue tasks that an import continues
// as well.
func Export(ctx context.Context, cfg *config.Config, to string, running bool) (*dump.End, error) {
	end, err := exportFile(ctx, cfg, to, running)
	if err != nil {
		return nil, fmt.Errorf("export to %s: %w", to, err)
	}
	return end, nil
}

func exportFile(ctx context.Context, cfg *config.Config, to string, running bool) (end *dump.End, err error) {
	if len(cfg.Store.Databases) > 0 {
		return nil, errSeveralDumps
	}
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, fmt.Errorf("%w: choose another name", fs.ErrExist))
	}
	if !running && !OnDatabase(cfg.Store.Home) {
		held, err := datadir.Hold(cfg.Data)
		if busy := new(datadir.InUseError); errors.As(err, &busy) {
			return nil, fmt.Errorf("%w; stop it first, or use --running for a copy", err)
		}
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, held.Close()) }()
	}
	part := to + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a killed process
		return nil, err
	}
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	end, err = exportTo(ctx, cfg, f, running)
	if err == nil {
		err = atomicfile.Sync(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(part))
	}
	return end, atomicfile.Publish(part, to)
}

// errSeveralDumps is returned for an export from several databases, or an import into them.
var errSeveralDumps = errors.New("a file of an export holds one database: with store.databases, use the tools of PostgreSQL for each")

// exportTo writes the store first: large parts are on the disk before an entry names them.
func exportTo(ctx context.Context, cfg *config.Config, to io.Writer, running bool) (*dump.End, error) {
	h := dump.Header{Parley: version.Version, Store: "sqlite", Made: time.Now().UTC().Truncate(time.Second)}
	var err error
	if OnDatabase(cfg.Store.Home) {
		h.Store = "postgres"
		h.MasterCheck, err = pgstore.ReadNote(ctx, cfg.Store.Home, masterName)
	} else if box, loadErr := masterOf(cfg); loadErr != nil {
		err = loadErr
	} else if box != nil {
		h.MasterCheck = box.Seal(masterText, []byte(masterName))
	}
	if err != nil {
		return nil, err
	}
	w, err := dump.NewWriter(to, h)
	if err != nil {
		return nil, err
	}
	if OnDatabase(cfg.Store.Home) {
		err = pgstore.Dump(ctx, cfg.Store.Home, running, w)
	} else {
		if lost := AuditLoss(ctx, cfg.Data); lost != "" {
			return nil, fmt.Errorf("%w: %s", sqlitestore.ErrLost, lost)
		}
		err = sqlitestore.Dump(ctx, filepath.Join(cfg.Data, StoreName), w)
		if err == nil {
			err = exportParts(ctx, partsFolder(cfg), w)
		}
	}
	if err != nil {
		return nil, err
	}
	return w.Close()
}

// masterText is sealed to recognize a master key.
var masterText = []byte("parley")

// masterOf returns the master key of a configuration; nil if there is none yet.
func masterOf(cfg *config.Config) (*seal.Sealer, error) {
	if cfg.MasterKey != "" {
		box, err := seal.Parse(cfg.MasterKey)
		if err != nil {
			return nil, configf("master key: %w", err)
		}
		return box, nil
	}
	path := filepath.Join(cfg.Data, seal.FileName)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return seal.Load(path)
}

func partsFolder(cfg *config.Config) string {
	return cmp.Or(cfg.Parts.Dir, filepath.Join(cfg.Data, PartsName))
}

// exportParts writes the files of large parts. One that was swept meanwhile is left out.
func exportParts(ctx context.Context, dir string, w *dump.Writer) error {
	err := filepath.WalkDir(filepath.Join(dir, "owners"), func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return exportPart(dir, path, w)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func exportPart(dir, path string, w *dump.Writer) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	name, err := filepath.Rel(dir, path)
	if err != nil {
		return err
	}
	return w.File(dump.FileHead{Name: filepath.ToSlash(name), Size: info.Size()}, f)
}

// Import reads a file of Export into the store of a configuration, which must have no data.
func Import(ctx context.Context, cfg *config.Config, from string) (*dump.End, error) {
	f, err := os.Open(from)
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	defer f.Close()
	r, err := dump.NewReader(f)
	if err == nil {
		err = importFrom(ctx, cfg, r)
	}
	if err != nil {
		return nil, fmt.Errorf("import %s: %w", from, err)
	}
	return r.End(), nil
}

func importFrom(ctx context.Context, cfg *config.Config, r *dump.Reader) (err error) {
	if len(cfg.Store.Databases) > 0 {
		return errSeveralDumps
	}
	held, err := datadir.Open(cfg.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	if err := checkKey(cfg, r.Header.MasterCheck); err != nil {
		return err
	}
	if OnDatabase(cfg.Store.Home) {
		return pgstore.Load(ctx, cfg.Store.Home, r)
	}
	p := &partsImport{dir: partsFolder(cfg)}
	// Without parts, the folder of a started hub has two empty folders.
	if names, err := filepath.Glob(filepath.Join(p.dir, "owners", "*")); err != nil || len(names) > 0 {
		return errors.Join(err, fmt.Errorf("%w in %s: import into a new folder", dump.ErrNotEmpty, p.dir))
	}
	if err := os.RemoveAll(p.temp()); err != nil { // of a killed process
		return err
	}
	if err := atomicfile.MkdirAll(p.temp(), 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(p.temp())) }()
	to := dump.Sink{File: p.file, Done: p.done}
	db, err := sqlitestore.Open(filepath.Join(cfg.Data, StoreName), sqlitestore.Options{})
	if err != nil {
		return err
	}
	return errors.Join(db.Load(ctx, dump.Source{Reader: r, Sink: to}), db.Close())
}

// checkKey refuses a master key that does not open the secrets of an export.
func checkKey(cfg *config.Config, check []byte) error {
	if check == nil {
		return nil
	}
	box, err := masterOf(cfg)
	if err != nil {
		return err
	}
	advice := fmt.Sprintf("copy %s of the exported hub into %s, or set PARLEY_MASTER_KEY", seal.FileName, cfg.Data)
	if box == nil {
		return fmt.Errorf("%w: there is none: %s", ErrExportKey, advice)
	}
	if _, err := box.Open(check, []byte(masterName)); err != nil {
		return fmt.Errorf("%w: %s", ErrExportKey, advice)
	}
	return nil
}

// ErrExportKey is returned for a master key that is not the one with which the secrets of an
// export are sealed.
var ErrExportKey = errors.New("the master key does not match the export")

// partsImport writes large parts beside their folder, and moves them into it at the end.
type partsImport struct{ dir string }

func (p *partsImport) temp() string { return p.dir + ".importing" }

func (p *partsImport) file(h dump.FileHead, content io.Reader) error {
	if !filepath.IsLocal(h.Name) || !strings.HasPrefix(h.Name, "owners/") {
		return fmt.Errorf("%w: invalid part name %q", dump.ErrDamaged, h.Name)
	}
	path := filepath.Join(p.temp(), filepath.FromSlash(h.Name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err == nil {
		err = atomicfile.Sync(f)
	}
	return errors.Join(err, f.Close())
}

// done moves the parts into their folder before the store is committed: parts without a task are
// swept, and a task without its parts would have lost them.
func (p *partsImport) done() error {
	if err := atomicfile.SyncFolders(p.temp()); err != nil {
		return err
	}
	if err := os.RemoveAll(p.dir); err != nil { // it has no parts
		return err
	}
	if err := os.Rename(p.temp(), p.dir); err != nil {
		return err
	}
	return atomicfile.SyncFolder(filepath.Dir(p.dir))
}
