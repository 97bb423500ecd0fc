package agentfile

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/file/watch"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	next := path + ".next" // in the way of editors
	if err := os.WriteFile(next, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
}

// summary returns the names of an update and its problems.
func summary(u directory.Update) string {
	var parts []string
	for _, s := range u.Specs {
		parts = append(parts, string(s.Name))
	}
	for _, err := range u.Problems {
		_, problem, _ := strings.Cut(err.Error(), "/f/")
		parts = append(parts, "("+problem+")")
	}
	return strings.Join(parts, " ")
}

// list is a format of files.
type list struct {
	Agents []struct {
		Name string `yaml:"name"`
		URL  string `yaml:"url"`
	} `yaml:"agents"`
}

// parseList reads a list.
func parseList(d *yamlfile.Decoder, src []byte) []directory.Spec {
	var file list
	d.Decode(src, &file)
	var all []Entry
	for i, a := range file.Agents {
		all = append(all, Entry{directory.Spec{Name: directory.NameOf(a.Name), Title: a.Name, URL: a.URL}, fmt.Sprintf("agents[%d]", i)})
	}
	return Check(d, all, nil)
}

// listName is the name of the file with a list.
const listName = "agents.yaml"

func listFile(o Options) *File { return New(o, listName, parseList) }

func agents(names ...string) string {
	var b strings.Builder
	b.WriteString("agents:\n")
	for _, n := range names {
		b.WriteString("- {name: " + n + ", url: 'http://" + n + "'}\n")
	}
	return b.String()
}

// follow returns a channel with the summaries of all later updates.
func follow(t *testing.T, f *File) <-chan string {
	t.Helper()
	updates := make(chan string)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	var all sync.WaitGroup
	f.watcher = &watch.Watcher{Logger: slog.New(slog.DiscardHandler)}
	all.Go(func() { f.watcher.Run(ctx) })
	go func() {
		done <- f.Follow(ctx, func(u directory.Update) {
			select {
			case updates <- summary(u):
			case <-ctx.Done():
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		all.Wait()
		if err := <-done; err != nil {
			t.Errorf("Follow: %v", err)
		}
	})
	return updates
}

func TestFollow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f", listName)
	write(t, path, agents("a"))
	f := listFile(Options{Flag: path})
	if got := summary(f.Load(t.Context())); got != "a" {
		t.Fatalf("Load = %q", got)
	}
	write(t, path, agents("a", "b")) // before Follow watches the file
	updates := follow(t, f)
	if got := <-updates; got != "a b" {
		t.Errorf("changes since Load: %q", got)
	}
	write(t, path, agents("a", "b")+"# the same agents in another text\n")
	if got := <-updates; got != "a b" {
		t.Errorf("an edit: %q", got)
	}
	write(t, path, "agents: [{name: c, ulr: x}]")
	if got := <-updates; !strings.Contains(got, "agents.yaml:1: agents[0].ulr") {
		t.Errorf("a broken edit: %q", got)
	}
	write(t, path, "")
	if got := <-updates; !strings.Contains(got, "the file is empty") {
		t.Errorf("an empty file: %q", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := <-updates; !strings.Contains(got, "file not found") {
		t.Errorf("a file that is gone: %q", got)
	}
	write(t, path, agents("z"))
	if got := <-updates; got != "z" {
		t.Errorf("a file that is there again: %q", got)
	}
}

// A Kubernetes volume is a link to a link to a folder; a new version changes the inner link.
func TestFollowLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, name+".next")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, name+".next"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "one", listName), agents("old"))
	write(t, filepath.Join(dir, "two", listName), agents("new"))
	link("one", "data")
	link("data/"+listName, listName)
	f := listFile(Options{Flag: filepath.Join(dir, listName)})
	if got := summary(f.Load(t.Context())); got != "old" {
		t.Fatalf("Load = %q", got)
	}
	updates := follow(t, f)
	link("two", "data")
	if got := <-updates; got != "new" {
		t.Errorf("after the link was turned: %q", got)
	}
}

func TestSearchPaths(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	f := listFile(Options{Data: data})
	if got := f.Load(t.Context()); len(got.Specs)+len(got.Problems) != 0 {
		t.Errorf("no file anywhere: %q", summary(got))
	}
	write(t, filepath.Join(data, listName), agents("a"))
	if got := summary(f.Load(t.Context())); got != "a" {
		t.Errorf("the file of the data folder: %q", got)
	}
	missing := listFile(Options{Flag: filepath.Join(data, "f", "none.yaml"), Data: data})
	if got := summary(missing.Load(t.Context())); got != "(none.yaml: file not found)" {
		t.Errorf("a file that was asked for: %q", got)
	}
	if got := listFile(Options{Flag: data}).Load(t.Context()); len(got.Problems) != 1 {
		t.Errorf("a folder in place of a file: %q", summary(got))
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "f")
	write(t, filepath.Join(dir, "b.json"), `{"agents": [{"name": "b", "url": "http://b"}]}`)
	write(t, filepath.Join(dir, "a.yaml"), agents("a"))
	write(t, filepath.Join(dir, "broken.yml"), "agents: [{name: c, ulr: x}]")
	write(t, filepath.Join(dir, "notes.txt"), "no list")
	f := NewFolder(Options{Flag: dir}, parseList)
	if got := summary(f.Load(t.Context())); got != `a b (broken.yml:1: agents[0].ulr: unknown key; did you mean url?)` {
		t.Errorf("Load = %q", got)
	}
	updates := follow(t, f)
	write(t, filepath.Join(dir, "d.json"), agents("d"))
	if got := <-updates; !strings.HasPrefix(got, "a b d") {
		t.Errorf("one more file: %q", got)
	}
}
