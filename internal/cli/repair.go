package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/file/datadir"
	"github.com/parley-a2a/parley/internal/server"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

type repairCmd struct {
	Data string `help:"The damaged data folder, which is not changed (./parley-data; $$PARLEY_DATA)." from:"PARLEY_DATA" default:"parley-data" placeholder:"DIR"`
	Out  string `help:"The new data folder. It must not exist, or be empty." required:"" placeholder:"DIR"`
	format
}

type repaired struct {
	Store      *sqlitestore.Salvaged `json:"store"`
	Parts      int                   `json:"parts"`
	PartsLost  []string              `json:"partsLost"`
	Files      []string              `json:"files"`
	FilesLost  []string              `json:"filesLost"`
	from, into string
}

func (c *repairCmd) Run(ctx context.Context, o *OS) (err error) {
	if err := emptyFolder(c.Out); err != nil {
		return err
	}
	held, err := datadir.Hold(c.Data)
	if busy := new(datadir.InUseError); errors.As(err, &busy) {
		return fmt.Errorf("%w; stop it first", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	r := &repaired{from: c.Data, into: c.Out, PartsLost: []string{}, Files: []string{}, FilesLost: []string{}}
	if r.Store, err = sqlitestore.Salvage(ctx, filepath.Join(c.Data, server.StoreName), filepath.Join(c.Out, server.StoreName)); err != nil {
		return err
	}
	r.Parts, err = blobstore.Salvage(ctx, filepath.Join(c.Data, server.PartsName), filepath.Join(c.Out, server.PartsName), func(p string) {
		r.PartsLost = append(r.PartsLost, p)
	})
	if err != nil {
		return err
	}
	if err := r.copyOthers(); err != nil {
		return err
	}
	if c.data() {
		return c.encode(o.Stdout, r)
	}
	return r.print(o.Stdout)
}

// emptyFolder creates a folder, which may exist if it is empty.
func emptyFolder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	names, err := os.ReadDir(path)
	if err == nil && len(names) > 0 {
		return usagef("--out %s is not empty; choose a new folder", path)
	}
	return err
}

// notCopied reports whether a file of a data folder is made anew, or copied in another way.
func notCopied(name string) bool {
	switch name {
	case "parley.lock", "bus.json", "runs", server.PartsName:
		return true
	}
	return strings.HasPrefix(name, server.StoreName)
}

// copyOthers copies the other files and folders unchanged.
func (r *repaired) copyOthers() error {
	names, err := os.ReadDir(r.from)
	if err != nil {
		return err
	}
	for _, n := range names {
		if notCopied(n.Name()) {
			continue
		}
		if err := r.copyTree(n.Name()); err != nil {
			return err
		}
	}
	return nil
}

// copyTree copies a file or folder, by its path in the data folder.
func (r *repaired) copyTree(name string) error {
	info, err := os.Stat(filepath.Join(r.from, name))
	switch {
	case err != nil:
		r.FilesLost = append(r.FilesLost, fmt.Sprintf("%s: %v", name, err))
		return nil
	case info.IsDir():
		if err := os.MkdirAll(filepath.Join(r.into, name), 0o700); err != nil {
			return err
		}
		names, err := os.ReadDir(filepath.Join(r.from, name))
		if err != nil {
			r.FilesLost = append(r.FilesLost, fmt.Sprintf("%s: %v", name, err))
		}
		for _, n := range names {
			if err := r.copyTree(filepath.Join(name, n.Name())); err != nil {
				return err
			}
		}
		return nil
	case !info.Mode().IsRegular():
		r.FilesLost = append(r.FilesLost, name+": it is not a regular file")
		return nil
	}
	return r.copyFile(name, info.Mode().Perm())
}

// copyFile copies a file, as far as it can be read.
func (r *repaired) copyFile(name string, mode fs.FileMode) error {
	in, err := os.Open(filepath.Join(r.from, name))
	if err != nil {
		r.FilesLost = append(r.FilesLost, fmt.Sprintf("%s: %v", name, err))
		return nil
	}
	defer in.Close()
	out, err := os.OpenFile(filepath.Join(r.into, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return fmt.Errorf("copy %s: %w", name, err)
	}
	r.Files = append(r.Files, name)
	return nil
}

// print prints the report for people.
func (r *repaired) print(w io.Writer) error {
	var b strings.Builder
	s := r.Store
	fmt.Fprintf(&b, "Salvaged %s into %s.\n", s.Source, r.into)
	fmt.Fprintf(&b, "  tasks    %d saved with %d entries; of these %d have lost their end, and have failed; %d tasks are lost\n",
		s.Tasks, s.Entries, len(s.Cut), s.Lost)
	if s.Renamed > 0 {
		fmt.Fprintf(&b, "  names    %d names of owners and agents are lost; they are called lost-N now, and only administrators find their tasks\n", s.Renamed)
	}
	if s.Unreadable != "" {
		fmt.Fprintf(&b, "  store    cannot be read: %s; restore the last backup instead\n", s.Unreadable)
	}
	for _, t := range s.Tables {
		if t.Rows+t.Refused+t.Gaps > 0 {
			fmt.Fprintf(&b, "  table    %s: %d rows saved", t.Name, t.Rows)
			if t.Gaps+t.Refused > 0 {
				fmt.Fprintf(&b, ", damaged at %d places, %d rows not possible", t.Gaps, t.Refused)
			}
			b.WriteByte('\n')
		}
	}
	fmt.Fprintf(&b, "  parts    %d saved, %d problems\n", r.Parts, len(r.PartsLost))
	fmt.Fprintf(&b, "  files    %d copied, %d lost\n", len(r.Files), len(r.FilesLost))
	for _, id := range s.Cut {
		fmt.Fprintf(&b, "Cut: task %s\n", quote(string(id)))
	}
	for _, p := range append(r.PartsLost, r.FilesLost...) {
		fmt.Fprintf(&b, "Lost: %s\n", p)
	}
	fmt.Fprintf(&b, "Start it with: parley serve --data %s\n", quote(r.into))
	_, err := io.WriteString(w, b.String())
	return err
}
