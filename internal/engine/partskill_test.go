package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

// killAt names the point at which the process below waits to be killed, killDir its data
// folder.
const (
	killAt  = "PARLEY_TEST_PARTS_KILL"
	killDir = "PARLEY_TEST_PARTS_DIR"
)

// waiting reports and then waits forever, before or after it stores a change.
type waiting struct {
	task.Store
	at string
}

func (w *waiting) Append(ctx context.Context, c *task.Change) error {
	if w.at == "before the entry" {
		fmt.Println("now")
		select {}
	}
	err := w.Store.Append(ctx, c)
	if w.at == "after the entry" {
		fmt.Println("now")
		select {}
	}
	return err
}

func openKilled(t *testing.T, dir, at string) (*engine.Engine, *blobstore.Externalizer) {
	t.Helper()
	db, err := sqlitestore.Open(filepath.Join(dir, "db"), sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	k := externalizerIn(t, filepath.Join(dir, "parts"))
	var seen []string
	b := start(t, engine.Config{Store: &waiting{db.Tasks(), at}, Parts: k}, mirror(&seen))
	return b.Engine, k
}

// TestPartsKilledProcess is the process that TestPartsKilled kills; alone it does nothing.
func TestPartsKilledProcess(t *testing.T) {
	at := os.Getenv(killAt)
	if at == "" {
		return
	}
	e, _ := openKilled(t, os.Getenv(killDir), at)
	r := file("one", map[string]any{"raw": bulk})
	r.Message.TaskID, r.NewIDs = "the-task", true
	_, err := e.Send(t.Context(), alice, r)
	t.Errorf("Send() = %v, although the process was not killed", err)
}

// If a hub is killed between the file and the entry, the file is removed after a grace period
// and not before. If it is killed after the entry, it has the part.
func TestPartsKilled(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"before the entry", "after the entry"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			killSending(t, dir, at)
			e, k := openKilled(t, dir, "")
			b := &bench{Engine: e, t: t}
			d := onlyDigest(t, dir)
			stored := at == "after the entry"
			want := func(when string, tasks int) {
				t.Helper()
				got, err := b.part("the-task", d, alice)
				if stored != (err == nil) || stored && !bytes.Equal(got, bulk) {
					t.Errorf("%s: Part() = %d bytes, %v", when, len(got), err)
				}
				if n, contents := k.Store.(*blobstore.Folder).Len(); n != tasks || contents != tasks {
					t.Errorf("%s: %d contents of %d tasks, want %d", when, contents, n, tasks)
				}
			}
			want("after the start", 1)
			for _, age := range []time.Duration{blobstore.Grace - time.Minute, blobstore.Grace + time.Minute} {
				e.SweepParts(t.Context(), time.Now().Add(age))
				left := 1
				if age > blobstore.Grace && !stored {
					left = 0
				}
				want(fmt.Sprintf("after %v", age), left)
			}
			for _, name := range all(t, filepath.Join(dir, "parts")) {
				if strings.HasSuffix(name, ".new") || !stored {
					t.Errorf("%s is left", name)
				}
			}
		})
	}
}

// killSending starts a process that sends a large part, and kills it at the given moment.
func killSending(t *testing.T, dir, at string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestPartsKilledProcess$")
	cmd.Env = append(os.Environ(), killAt+"="+at, killDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "now" {
		t.Errorf("the output of the process is %q", lines.Text())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
}

// all returns the names of the files below dir.
func all(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, e.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// onlyDigest returns the digest of the only stored content.
func onlyDigest(t *testing.T, dir string) blobstore.Digest {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "parts", "owners", "*", "*"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	d, ok := blobstore.ParseDigest(filepath.Base(found[0]))
	if !ok {
		t.Fatal(found)
	}
	return d
}
