package shards

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
)

// The large parts of an owner are in the shard of its tasks, also before the first task.
func TestParts(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	db := openTest(t, options("a", server.Database(t), server.Database(t)))
	p := db.Parts(time.Hour)
	for number := range 2 {
		k := blobstore.Key{Owner: owned(db, number), Task: "t"}
		if _, err := p.Open(k, blobstore.Digest{}); !errors.Is(err, blobstore.ErrNotFound) {
			t.Errorf("Open for a new owner = %v, want ErrNotFound", err)
		}
		part, err := p.Put(k, blobstore.Part{}, strings.NewReader("content"))
		if err != nil {
			t.Fatal(err)
		}
		p.Keep(k, part.Digest)
		inside, err := db.shard(number).db.Parts(time.Hour).Open(k, part.Digest)
		if err != nil {
			t.Fatalf("the part is not in shard %d: %v", number, err)
		}
		_ = inside.Close()
		got, err := p.Open(k, part.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(got); err != nil || string(b) != "content" {
			t.Errorf("content = %q, %v", b, err)
		}
		_ = got.Close()
		other, err := p.Link(blobstore.Key{Owner: k.Owner, Task: "u"}, k.Task, part.Digest)
		if err != nil || other.Size != part.Size {
			t.Errorf("Link = %+v, %v", other, err)
		}
	}
	if n, err := p.Sweep(t.Context(), nil, time.Now()); n != 0 || err != nil {
		t.Errorf("Sweep = %d, %v", n, err)
	}
}
