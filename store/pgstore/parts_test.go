package pgstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
)

// bytesOf returns n reproducible bytes.
func bytesOf(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)}).Read(b)
	return b
}

func keyOf(id a2a.TaskID) blobstore.Key { return blobstore.Key{Owner: "anna", Task: id} }

func mustPut(t *testing.T, p *Parts, k blobstore.Key, b []byte) blobstore.Part {
	t.Helper()
	part, err := p.Put(k, blobstore.Part{MediaType: "a/b", Filename: "f"}, bytes.NewReader(b))
	if err != nil {
		t.Fatalf("Put: %v", err)
	}
	return part
}

// count returns the number of rows of a table.
func (db *DB) count(t *testing.T, table string) (n int64) {
	t.Helper()
	err := db.read(t.Context(), func(c *conn) (err error) {
		n, err = c.epoch(t.Context(), "SELECT count(*) FROM "+table)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (db *DB) script(t *testing.T, text string) {
	t.Helper()
	if err := db.read(t.Context(), func(c *conn) error { return c.script(t.Context(), text) }); err != nil {
		t.Fatal(err)
	}
}

// wantRows fails the test unless the tables of parts have so many rows.
func wantRows(t *testing.T, db *DB, refs, contents int64) {
	t.Helper()
	if n := db.count(t, "part_refs"); n != refs {
		t.Errorf("%d references, want %d", n, refs)
	}
	if n := db.count(t, "part_contents"); n != contents {
		t.Errorf("%d contents, want %d", n, contents)
	}
	if n := db.count(t, "part_chunks WHERE content NOT IN (SELECT id FROM part_contents)"); n != 0 {
		t.Errorf("%d chunks without a content", n)
	}
}

// namedTasks answers for all tasks whether an entry names a part.
type namedTasks bool

func (namedTasks) Ended(context.Context, blobstore.Key) (time.Time, error) {
	return time.Time{}, errors.New("the database knows the end")
}

func (n namedTasks) Names(context.Context, blobstore.Key, blobstore.Digest) (bool, error) {
	return bool(n), nil
}

func sweepParts(t *testing.T, p *Parts, named bool, now time.Time) int {
	t.Helper()
	n, err := p.Sweep(t.Context(), namedTasks(named), now)
	if err != nil {
		t.Fatalf("Sweep: %v", err)
	}
	return n
}

// aged makes all references older than the grace time.
func (db *DB) aged(t *testing.T) {
	t.Helper()
	db.script(t, fmt.Sprintf("UPDATE part_refs SET held_at = held_at - %d", (blobstore.Grace+time.Second).Milliseconds()))
}

// A part has the same bytes at another hub, as a whole and in ranges, whatever its size.
func TestPartsOfAnotherHub(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t)
	a := openTest(t, url, asMember("a")).Parts(time.Hour)
	b := openTest(t, url, asMember("b")).Parts(time.Hour)
	for _, size := range []int{0, 1, chunkSize - 1, chunkSize, chunkSize + 1, 3*chunkSize + 7} {
		want := bytesOf(size)
		part := mustPut(t, a, keyOf("one"), want)
		if part.Digest != sha256.Sum256(want) || part.Size != int64(size) || part.Keep != time.Hour {
			t.Errorf("Put of %d bytes = %+v", size, part)
		}
		c, err := b.Open(keyOf("one"), part.Digest)
		if err != nil {
			t.Fatalf("Open of %d bytes: %v", size, err)
		}
		if c.Part != part {
			t.Errorf("Open = %+v, want %+v", c.Part, part)
		}
		if err := iotest.TestReader(io.NewSectionReader(c, 0, c.Size), want); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
		if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, want) {
			t.Errorf("ReadAll of %d bytes = %d bytes, %v", size, len(got), err)
		}
	}
	part := mustPut(t, a, keyOf("one"), []byte("bytes"))
	for _, k := range []blobstore.Key{keyOf("two"), {Owner: "eve", Task: "one"}} {
		if _, err := b.Open(k, part.Digest); !errors.Is(err, blobstore.ErrNotFound) {
			t.Errorf("Open for %v: %v, want ErrNotFound", k, err)
		}
		if _, err := b.Link(blobstore.Key{Owner: k.Owner, Task: "three"}, "two", part.Digest); !errors.Is(err, blobstore.ErrNotFound) {
			t.Errorf("Link for %v: %v, want ErrNotFound", k, err)
		}
	}
}

// Equal bytes are one content of an owner, also if hubs put them at once, and each owner has its own.
func TestEqualParts(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t)
	a := openTest(t, url, asMember("a"))
	b := openTest(t, url, asMember("b"))
	want := bytesOf(2*chunkSize + 5)
	var wg sync.WaitGroup
	for i := range 8 {
		p := []*Parts{a.Parts(0), b.Parts(0)}[i%2]
		wg.Go(func() {
			// Half of them cannot be read again, and half of the tasks are the same.
			var r io.Reader = bytes.NewReader(want)
			if i/2%2 == 0 {
				r = io.MultiReader(r)
			}
			if _, err := p.Put(keyOf(a2a.TaskID(fmt.Sprint(i/4))), blobstore.Part{}, r); err != nil {
				t.Errorf("Put: %v", err)
			}
		})
	}
	wg.Wait()
	wantRows(t, a, 2, 1)
	part := mustPut(t, b.Parts(0), blobstore.Key{Owner: "eve", Task: "0"}, want)
	wantRows(t, a, 3, 2)
	if _, err := a.Parts(0).Link(keyOf("linked"), "0", part.Digest); err != nil {
		t.Fatal(err)
	}
	wantRows(t, a, 4, 2)
	for range 4 { // each of the callers
		wantRows(t, a, 4, 2)
		b.Parts(0).Drop(keyOf("0"), part.Digest)
	}
	wantRows(t, a, 3, 2)
	a.Parts(0).Keep(keyOf("1"), part.Digest)
	for range 4 {
		a.Parts(0).Drop(keyOf("1"), part.Digest)
	}
	a.Parts(0).Drop(keyOf("linked"), part.Digest)
	wantRows(t, a, 2, 2) // an entry names that of task 1
	if c, err := a.Parts(0).Open(keyOf("1"), part.Digest); err != nil || c.Size != int64(len(want)) {
		t.Errorf("Open of the last part: %v", err)
	}
}

// A reader that fails leaves no part.
func TestUnreadPart(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	failed := errors.New("failed")
	r := io.MultiReader(bytes.NewReader(bytesOf(chunkSize+1)), iotest.ErrReader(failed))
	if _, err := db.Parts(0).Put(keyOf("one"), blobstore.Part{}, r); !errors.Is(err, failed) || errors.Is(err, task.ErrUnavailable) {
		t.Errorf("Put: %v, want %v", err, failed)
	}
	wantRows(t, db, 0, 0)
}

// The sweep removes the parts of ended and deleted tasks, and those that no entry names.
func TestSweepParts(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	p := db.Parts(time.Hour)
	now := time.Now()
	kept := mustPut(t, p, keyOf("open"), bytesOf(10)).Digest
	p.Keep(keyOf("open"), kept)
	put(t, db, "open")
	ended := created("ended")
	ended.Next.State, ended.Next.StatusAt = task.Completed, task.MillisOf(now)
	ended.Next.Visibility = task.Visible
	if err := db.Tasks().Append(t.Context(), ended); err != nil {
		t.Fatal(err)
	}
	p.Keep(keyOf("ended"), mustPut(t, p, keyOf("ended"), bytesOf(chunkSize+1)).Digest)
	p.Keep(keyOf("deleted"), mustPut(t, p, keyOf("deleted"), bytesOf(12)).Digest)
	unknown := mustPut(t, p, keyOf("open"), bytesOf(13)).Digest
	wantRows(t, db, 4, 4)
	if n := sweepParts(t, p, false, now.Add(time.Minute)); n != 0 {
		t.Errorf("the sweep has removed %d parts that are new", n)
	}
	db.aged(t)
	if n := sweepParts(t, p, true, now.Add(time.Minute)); n != 1 { // of the deleted task
		t.Errorf("the sweep has removed %d parts, want 1", n)
	}
	wantRows(t, db, 3, 3)
	db.script(t, "UPDATE part_refs SET pending = 1 WHERE size = 13")
	if n := sweepParts(t, p, false, now.Add(time.Minute)); n != 1 {
		t.Errorf("the sweep has removed %d parts without an entry, want 1", n)
	}
	if _, err := p.Open(keyOf("open"), unknown); !errors.Is(err, blobstore.ErrNotFound) {
		t.Errorf("Open of a part without an entry: %v", err)
	}
	if n := sweepParts(t, p, false, now.Add(2*time.Hour)); n != 1 { // of the ended task
		t.Errorf("the sweep has removed %d parts of ended tasks, want 1", n)
	}
	wantRows(t, db, 1, 1)
	if _, err := p.Open(keyOf("open"), kept); err != nil {
		t.Errorf("Open of a part that is kept: %v", err)
	}
}

// A sweep of more parts than a page sees each of them.
func TestSweepPages(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	p := db.Parts(0)
	mustPut(t, p, keyOf("one"), bytesOf(10))
	db.script(t, `INSERT INTO part_refs SELECT owner, convert_to('t' || n, 'UTF8'), digest, space, size, media, filename, keep, stored, 0, 0, 0
	FROM part_refs, generate_series(1, 1200) n`)
	if n := sweepParts(t, p, false, time.Now()); n != 1200 {
		t.Errorf("the sweep has removed %d parts, want 1200", n)
	}
	wantRows(t, db, 1, 1)
}

// A chunk that was changed, cut or lost is reported, and no other bytes are returned for it.
func TestDamagedChunks(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t)
	var met []Damage
	db := openTest(t, url, Options{Damaged: func(d Damage) { met = append(met, d) }})
	p := db.Parts(0)
	want := bytesOf(3 * chunkSize)
	part := mustPut(t, p, keyOf("one"), want)
	good := "UPDATE part_chunks SET data = set_byte(data, 5, get_byte(data, 5) # 1) WHERE n = 1"
	for name, damage := range map[string]struct{ sql, repair string }{
		"changed": {good, good},
		"cut":     {"UPDATE part_chunks SET data = substr(data, 1, 1000) WHERE n = 1", ""},
		"lost":    {"DELETE FROM part_chunks WHERE n = 1", ""},
	} {
		before := len(met)
		db.script(t, "BEGIN; CREATE TABLE saved AS TABLE part_chunks; "+damage.sql+"; COMMIT")
		c, err := p.Open(keyOf("one"), part.Digest)
		if err != nil {
			t.Fatalf("%s: Open: %v", name, err)
		}
		got, err := io.ReadAll(c)
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), part.Digest.String()) || !bytes.Equal(got, want[:chunkSize]) {
			t.Errorf("%s: ReadAll = %d bytes, %v; want the first chunk and ErrDamaged", name, len(got), err)
		}
		if len(met) != before+1 {
			t.Errorf("%s: %d damages were reported, want 1", name, len(met)-before)
		}
		db.script(t, "TRUNCATE part_chunks; INSERT INTO part_chunks TABLE saved; DROP TABLE saved")
	}
	db.script(t, "DELETE FROM part_chunks")
	if _, err := p.Open(keyOf("one"), part.Digest); !errors.Is(err, ErrDamaged) {
		t.Errorf("Open without the first chunk: %v", err)
	}
	db.script(t, "DELETE FROM part_contents")
	if _, err := p.Open(keyOf("one"), part.Digest); !errors.Is(err, blobstore.ErrLost) {
		t.Errorf("Open without the content: %v, want ErrLost", err)
	}
}

// A content whose reader is cut off is not stored as a shorter one.
func TestPutCutOff(t *testing.T) {
	t.Parallel()
	p := openTest(t, pgtest.Shared(t).Database(t), Options{}).Parts(0)
	cut := io.MultiReader(bytes.NewReader(bytesOf(chunkSize+7)), iotest.ErrReader(io.ErrUnexpectedEOF))
	if part, err := p.Put(keyOf("t1"), blobstore.Part{}, cut); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Put = %+v, %v; want the error of the reader", part, err)
	}
}
