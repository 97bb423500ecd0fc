package blobstore

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/parley-a2a/parley/internal/file/atomicfile"
)

// Examine reads all contents and references in the folder at path, and reports those that are
// damaged or missing. It changes nothing, and a hub may use the folder meanwhile. It returns the
// number of intact contents. A folder that does not exist has none.
func Examine(ctx context.Context, path string, report func(problem string)) (intact int, err error) {
	err = eachContent(ctx, path, func(c *stored) error {
		for _, p := range c.problems {
			report(p)
		}
		if c.whole {
			intact++
		}
		return nil
	})
	if err != nil {
		return intact, fmt.Errorf("examine parts in %s: %w", path, err)
	}
	return intact, nil
}

// Salvage copies the intact contents with their intact references from one folder to another,
// which should not exist. It reports the others like Examine.
func Salvage(ctx context.Context, from, to string, report func(problem string)) (saved int, err error) {
	err = eachContent(ctx, from, func(c *stored) error {
		for _, p := range c.problems {
			report(p)
		}
		if !c.whole || len(c.refs) == 0 {
			return nil
		}
		saved++
		return c.copyTo(filepath.Join(to, ownerFolder, c.owner, c.digest.String()))
	})
	if err != nil {
		return saved, fmt.Errorf("salvage parts of %s: %w", from, err)
	}
	return saved, nil
}

// stored is a content on disk.
type stored struct {
	file
	folder string
	// whole is set if the bytes have the digest of their name.
	whole bool
	// refs are the names of the intact references.
	refs     []string
	problems []string
}

// eachContent calls f for each content in a folder.
func eachContent(ctx context.Context, path string, f func(*stored) error) error {
	folders, err := filepath.Glob(filepath.Join(path, ownerFolder, "*", "*"))
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		d, ok := ParseDigest(filepath.Base(folder))
		if !ok {
			continue
		}
		c := &stored{file: file{filepath.Base(filepath.Dir(folder)), d}, folder: folder}
		c.read()
		if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
			continue // the hub has removed it meanwhile
		}
		if err := f(c); err != nil {
			return err
		}
	}
	return nil
}

// read reads the content and its references.
func (c *stored) read() {
	names, err := os.ReadDir(c.folder)
	if err != nil {
		c.problem("%v", err)
		return
	}
	for _, n := range names {
		if name := n.Name(); !strings.HasPrefix(name, ".") && (strings.HasSuffix(name, refSuffix) || strings.HasSuffix(name, newSuffix)) {
			c.readRef(name)
		}
	}
	f, err := os.Open(filepath.Join(c.folder, contentName))
	if err != nil {
		c.problem("the content is missing: %v", err)
		return
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		c.problem("%v", err)
	} else if c.whole = Digest(sum.Sum(nil)) == c.digest; !c.whole {
		c.problem("the content is damaged: its digest does not match")
	}
}

func (c *stored) readRef(name string) {
	b, err := os.ReadFile(filepath.Join(c.folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return // confirmed or removed meanwhile
	}
	var r refFile
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	switch {
	case err != nil:
		c.problem("the reference %s is damaged: %v", name, err)
	case fileOf(Key{r.Owner, r.Task}, c.digest) != c.file:
		c.problem("the reference %s does not match this content", name)
	default:
		c.refs = append(c.refs, name)
	}
}

func (c *stored) problem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf("part %s: ", c.digest)+fmt.Sprintf(format, args...))
}

// copyTo copies the content and its references.
func (c *stored) copyTo(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for _, name := range append([]string{contentName}, c.refs...) {
		if err := copyFile(filepath.Join(c.folder, name), filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, atomicfile.Sync(out), out.Close())
}
