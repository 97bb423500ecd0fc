package sqlitestore

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/task"
)

// TestSidecarsOfLayout10 opens a file that was written when checkpoints, record requests (then
// marks) and lineages had tables of their own. All of them must be found, the file must be
// sound, and its tasks must continue.
func TestSidecarsOfLayout10(t *testing.T) {
	t.Parallel()
	db := openTest(t, unzipped(t, "testdata/layout10.db.gz"), Options{})
	wantSound(t, db)
	s := db.Tasks()
	root, one, two := headOf(t, s, "anna", "root"), headOf(t, s, "anna", "child-1"), headOf(t, s, "anna", "child-2")
	grandchild, ended := headOf(t, s, "anna", "grandchild"), headOf(t, s, "bert", "ended")
	for _, tt := range []struct {
		key  task.Key
		kind task.SidecarKind
		want string
	}{
		{root.Key, task.SidecarCheckpoint, "root's \x00\xff"},
		{two.Key, task.SidecarCheckpoint, "child's"},
		{one.Key, task.SidecarCheckpoint, ""},
		{root.Key, task.SidecarRecordRequest, `{"session":"s/1","caller":"Anna","at":1}`},
		{ended.Key, task.SidecarRecordRequest, `{"session":"s/2","caller":"Bert","at":1}`},
	} {
		if got, err := s.Sidecar(t.Context(), tt.key, tt.kind); string(got) != tt.want || err != nil {
			t.Errorf("Sidecar(%d, %d) = %q, %v, want %q", tt.key, tt.kind, got, err, tt.want)
		}
	}
	for key, want := range map[task.Key]task.Lineage{
		root.Key: {}, ended.Key: {},
		one.Key:        {Parent: root.Key, Root: root.Key, Hops: 1},
		two.Key:        {Parent: root.Key, Root: root.Key, Hops: 1},
		grandchild.Key: {Parent: one.Key, Root: root.Key, Hops: 2},
	} {
		if got, err := task.LineageOf(t.Context(), s, key); got != want || err != nil {
			t.Errorf("LineageOf(%d) = %+v, %v, want %+v", key, got, err, want)
		}
	}
	wantHeads(t, s, &task.SidecarQuery{Kind: task.SidecarRecordRequest}, root, ended)
	wantHeads(t, s, &task.SidecarQuery{Kind: task.SidecarLineage, Parent: root.Key}, one, two)

	c := step(t, one, status(task.Completed, 9))
	c.Sidecars[task.SidecarCheckpoint] = []byte("new")
	if err := s.Append(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	wantHeads(t, s, &task.SidecarQuery{Kind: task.SidecarCheckpoint}, root, c.Next, two)
	if n, err := s.Sweep(t.Context(), 100, 10); n != 3 || err != nil {
		t.Fatalf("Sweep = %d, %v, want 3", n, err)
	}
	wantHeads(t, s, &task.SidecarQuery{Kind: task.SidecarLineage}, grandchild)
	wantHeads(t, s, &task.SidecarQuery{Kind: task.SidecarRecordRequest}, root)
	wantSound(t, db)
}

// unzipped unpacks a file into a folder of the test.
func unzipped(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "parley.db")
	write(t, path, string(b))
	return path
}

func headOf(t *testing.T, s Tasks, owner task.Owner, id string) task.Head {
	t.Helper()
	found, err := s.Find(t.Context(), a2a.TaskID(id))
	if err != nil || len(found) != 1 || found[0].Owner != owner {
		t.Fatalf("Find(%s) = %+v, %v, want one task of %s", id, found, err, owner)
	}
	return found[0]
}

// wantHeads fails the test unless q selects the sidecars of the tasks.
func wantHeads(t *testing.T, s Tasks, q *task.SidecarQuery, want ...task.Head) {
	t.Helper()
	q.Limit = 10
	page, err := s.Sidecars(t.Context(), q)
	var got []task.Head
	for i := range page {
		got = append(got, page[i].Head)
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("tasks of Sidecars(%+v): %v (-want +got):\n%s", *q, err, diff)
	}
}
