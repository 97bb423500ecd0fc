package sqlitestore

import (
	"path/filepath"
	"testing"

	"github.com/parley-a2a/parley/internal/task"
)

// notices adds n notices, batch of them in a commit.
func notices(t *testing.T, db *DB, n, batch int) {
	t.Helper()
	some := make([][]byte, batch)
	for i := range some {
		some[i] = []byte("x")
	}
	for range n / batch {
		if err := db.Tasks().AddNotices(t.Context(), some); err != nil {
			t.Fatal(err)
		}
	}
}

func timelineOf(t *testing.T, db *DB, after int64, limit int) task.TimelinePage {
	t.Helper()
	page, err := db.Tasks().Timeline(t.Context(), after, limit)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// TestTimelineIsBounded adds many more moments than are kept.
func TestTimelineIsBounded(t *testing.T) {
	t.Parallel()
	const keep = 3000
	db := openTest(t, filepath.Join(t.TempDir(), "db"), Options{KeepMoments: keep})
	for range 20 {
		notices(t, db, 1000, 50)
		page := timelineOf(t, db, 0, 1)
		if kept := page.Newest - page.Oldest + 1; kept > keep+tidyMoments+50 || page.Newest > keep && kept < keep {
			t.Fatalf("%d moments are kept of %d, want about %d", kept, page.Newest, keep)
		}
	}
	page := timelineOf(t, db, 0, 7)
	if page.Newest != 20_000 || len(page.Moments) != 7 || page.Moments[0].Seq != page.Oldest {
		t.Errorf("page = %+v, want 7 moments from the oldest one", page)
	}
}

// TestTimelineContinuesAfterReopening checks that positions and the name of the sequence do not
// change when the file is opened again.
func TestTimelineContinuesAfterReopening(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	db := openTest(t, path, Options{})
	notices(t, db, 4, 2)
	before := timelineOf(t, db, 0, 10)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = openTest(t, path, Options{})
	notices(t, db, 2, 2)
	after := timelineOf(t, db, 3, 10)
	if after.ID != before.ID || before.Newest != 4 || after.Newest != 6 || len(after.Moments) != 3 || after.Moments[0].Seq != 4 {
		t.Errorf("timeline %+v continues as %+v", before, after)
	}
	other := timelineOf(t, openTest(t, filepath.Join(t.TempDir(), "db"), Options{}), 0, 1)
	if other.ID == before.ID || other.ID == "" {
		t.Errorf("ids of two files are %q and %q", before.ID, other.ID)
	}
}

// TestFailedCommitHasNoMoments checks that positions of a commit that failed are used again.
func TestFailedCommitHasNoMoments(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	notices(t, db, 2, 2)
	err := db.write(t.Context(), func(w *writer) error {
		w.moments.AddNotice([]byte("lost"))
		return w.conn.script("no statement")
	})
	if err == nil {
		t.Fatal("the commit has not failed")
	}
	notices(t, db, 1, 1)
	page := timelineOf(t, db, 0, 10)
	if len(page.Moments) != 3 || page.Newest != 3 || string(page.Moments[2].Notice) != "x" {
		t.Errorf("page = %+v, want three moments", page)
	}
}
