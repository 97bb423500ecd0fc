package pgstore

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
)

// A full database refuses writes as full and answers reads. It accepts writes once it has room.
func TestFull(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	dir := hubtest.Disk(t, "40m")
	info, err := os.Stat(fmt.Sprintf("/proc/%d", s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	own := info.Sys().(*syscall.Stat_t)
	if err := errors.Join(os.Chown(dir, int(own.Uid), int(own.Gid)), os.Chmod(filepath.Dir(dir), 0o755)); err != nil { //nolint:gosec // the user of the server enters it
		t.Fatal(err)
	}
	s.Exec(t, "postgres", "CREATE TABLESPACE small LOCATION '"+dir+"'")
	s.Exec(t, "postgres", "CREATE DATABASE small TABLESPACE small")
	db := openTest(t, s.URL("small"), Options{})
	put(t, db, "one")
	s.Exec(t, "small", "CREATE TABLE filler AS SELECT repeat('x', 1000) FROM generate_series(1, 10000)")
	s.Exec(t, "small", "CHECKPOINT") // a page without a place on the disk could not be replaced by one that is read
	for n := 0; ; n++ {
		var text strings.Builder
		for range 8000 {
			text.WriteString(rand.Text()) // the database compresses other texts
		}
		c := created(fmt.Sprint("large ", n))
		c.Entries[0].Body = fmt.Appendf(nil, `{"messageId":"m1","metadata":{"text":%q}}`, text.String())
		if err := db.Tasks().Append(t.Context(), c); err == nil {
			continue
		} else if !errors.Is(err, task.ErrFull) {
			t.Errorf("Append to a full database: %v, want ErrFull", err)
		}
		break
	}
	mustFind(t, db, "one")
	s.Exec(t, "small", "DROP TABLE filler")
	recovered(t, db)
	put(t, db, "two")
	mustFind(t, db, "one", "two")
}
