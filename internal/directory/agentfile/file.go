package agentfile

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/file/textfile"
	"github.com/parley-a2a/parley/internal/file/watch"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// KnownName is the default name of the list of agents that have announced themselves.
const KnownName = "known-agents.json"

// maxFile is the maximum size of a file, in bytes.
const maxFile = 16 << 20

// Parser reads the text of a file. It returns the valid agents and reports the problems of the
// others to d; see [Check].
type Parser func(d *yamlfile.Decoder, src []byte) []directory.Spec

// File is a file or folder that lists agents.
type File struct {
	name   string
	paths  []string
	must   bool
	folder bool
	parse  Parser
	lookup func(string) (string, bool)
	// watcher is that of Options.
	watcher *watch.Watcher

	mu sync.Mutex // guards the fields below
	// digest is the digest of the content read last.
	digest [sha256.Size]byte
	// problem has the problems of the content read last.
	problem error
	// named is set after the file has named an agent.
	named bool
	// read is set after the file was found once.
	read bool
}

var _ directory.Source = (*File)(nil)

// Options configures where files are looked for.
type Options struct {
	// Flag is an explicit path. If set, no other path is tried, and the file must exist.
	Flag string
	// Data is the data folder.
	Data string
	// Exchange means that agents without a URL or queue are on the exchange that a part connects
	// to; otherwise they are on the bus.
	Exchange bool
	// ModelExtensions are the protocol extensions of agents that a model drives.
	ModelExtensions []a2a.AgentExtension
	// Watcher follows the files. It is required for Follow.
	Watcher *watch.Watcher
	// Lookup finds environment variables. If nil, os.LookupEnv is used.
	Lookup func(string) (string, bool)
}

// find returns the candidate paths of a file in order of precedence.
func (p *Options) find(name string) []string {
	if p.Flag != "" {
		return []string{p.Flag}
	}
	paths := []string{name, filepath.Join("workspace", name)}
	if p.Data != "" {
		paths = append(paths, filepath.Join(p.Data, name))
	}
	return paths
}

// New returns the source for the file with a default name in a format that parse reads.
func New(p Options, name string, parse Parser) *File {
	f := &File{name: cmp.Or(p.Flag, name), paths: p.find(name), must: p.Flag != "", parse: parse, lookup: p.Lookup, watcher: p.Watcher}
	if f.lookup == nil {
		f.lookup = os.LookupEnv
	}
	return f
}

// Known returns the source for known-agents.json, for a hub that only reads it.
func Known(p Options) *File { return New(p, KnownName, p.parseKnown) }

// ReadKnown reads known-agents.json once, for a hub that writes it afterwards, and returns the
// path for writing. An error names file, line and key; the caller must not overwrite the file
// then.
func ReadKnown(p Options) (path string, all []directory.Known, err error) {
	f := Known(p)
	f.must = false
	texts, err := f.texts()
	if err != nil {
		return "", nil, err
	}
	path = f.paths[len(f.paths)-1]
	for _, t := range texts {
		d := yamlfile.New(t.path, f.lookup)
		path, all = t.path, p.knownAgents(d, t.src)
		if len(d.Problems()) > 0 {
			return "", nil, d.Problems()
		}
	}
	return path, all, nil
}

// NewFolder returns the source for the file at p.Flag, or for the files of the folder there.
func NewFolder(p Options, parse Parser) *File {
	f := New(p, p.Flag, parse)
	f.folder = true
	return f
}

// Name returns the name of the file.
func (f *File) Name() string { return f.name }

// Load implements directory.Source.
func (f *File) Load(context.Context) directory.Update {
	f.mu.Lock()
	defer f.mu.Unlock()
	u, _ := f.loadLocked(true)
	return u
}

// loadLocked reads the file. It returns false if the content is unchanged and anew is not set.
func (f *File) loadLocked(anew bool) (u directory.Update, changed bool) {
	texts, err := f.texts()
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%s\x00%d\x00", t.path, len(t.src))
		h.Write(t.src)
	}
	fmt.Fprint(h, err)
	digest := [sha256.Size]byte(h.Sum(nil))
	if digest == f.digest && !anew {
		return u, false
	}
	f.digest = digest
	if err != nil {
		u.Problems = append(u.Problems, err)
	}
	for _, t := range texts {
		f.parseText(t, &u)
	}
	f.problem = errors.Join(u.Problems...)
	f.named = f.named || len(u.Specs) > 0
	return u, true
}

// text is the content of a file.
type text struct {
	path string
	src  []byte
}

// parseText adds the agents of a text to u.
func (f *File) parseText(t text, u *directory.Update) {
	if plain, err := textfile.Unmarked(t.src); err == nil && len(bytes.TrimSpace(plain)) == 0 && f.named {
		u.Problems = append(u.Problems, fmt.Errorf("%s: the file is empty; for no entries, write an empty list", t.path))
		return
	}
	d := yamlfile.New(t.path, f.lookup)
	u.Specs = append(u.Specs, f.parse(d, t.src)...)
	for _, p := range d.Problems() {
		u.Problems = append(u.Problems, p)
	}
}

// texts reads the first existing path.
func (f *File) texts() ([]text, error) {
	for _, path := range f.paths {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case info.IsDir() && f.folder:
			f.read = true
			return folder(path)
		case info.IsDir():
			return nil, fmt.Errorf("%s: is a folder", path)
		}
		f.read = true
		t, err := read(path)
		if err != nil {
			return nil, err
		}
		return []text{t}, nil
	}
	if f.must || f.read {
		return nil, fmt.Errorf("%s: file not found", f.paths[0])
	}
	return nil, nil
}

// folder reads the files of a folder that can list agents. An error in one file does not
// stop the others from being read.
func folder(path string) ([]text, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var texts []text
	var errs []error
	for _, e := range entries {
		name := e.Name()
		if !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)) || strings.HasPrefix(name, ".") {
			continue
		}
		t, err := read(filepath.Join(path, name))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		texts = append(texts, t)
	}
	return texts, errors.Join(errs...)
}

func read(path string) (text, error) {
	file, err := os.Open(path)
	if err != nil {
		return text{}, err
	}
	defer file.Close()
	src, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return text{}, err
	case len(src) > maxFile:
		return text{}, fmt.Errorf("%s: is larger than %d MiB", path, maxFile>>20)
	}
	return text{path, src}, nil
}

// Follow implements directory.Source.
func (f *File) Follow(ctx context.Context, changed func(directory.Update)) error {
	f.watcher.Follow(ctx, watch.File{Paths: f.paths, Reports: true, Read: func(asked bool) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if u, ok := f.loadLocked(asked); ok {
			changed(u)
		}
		return f.problem
	}})
	return nil
}
