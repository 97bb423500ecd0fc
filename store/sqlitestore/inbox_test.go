package sqlitestore

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/testing/suite/inboxtest"
)

func TestInbox(t *testing.T) {
	t.Parallel()
	inboxtest.Test(t, func(t *testing.T) inbox.Store { return newTest(t).Inbox() })
}

func TestInboxSurvivesReopening(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	db, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := time.UnixMilli(1_790_000_000_000).UTC()
	want := inbox.Item{ID: "a", Kind: inbox.Approval, Owner: "ann", Text: "may I?", Created: at, State: inbox.Open}
	if _, _, err := db.Inbox().PutItem(t.Context(), &want); err != nil {
		t.Fatal(err)
	}
	if want, err = db.Inbox().SettleItem(t.Context(), "a", &inbox.Settlement{State: inbox.Approved, By: "me", At: at}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = Open(path, Options{}); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	got, err := db.Inbox().Items(t.Context(), new(inbox.Query))
	if diff := cmp.Diff([]inbox.Item{want}, got); diff != "" || err != nil {
		t.Errorf("items of the file opened again: %v (-want +got):\n%s", err, diff)
	}
	if _, err := db.Inbox().SettleItem(t.Context(), "a", &inbox.Settlement{State: inbox.Refused, At: at}); err == nil {
		t.Error("a settled item was settled again after a restart")
	}
}

// TestInboxOwner: the statement of a list filters by owner. TestWants in package tables checks the
// second filter.
func TestInboxOwner(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	for _, it := range []inbox.Item{
		{ID: "a", Kind: inbox.Question, Owner: "ann", Text: "one"},
		{ID: "b", Kind: inbox.Question, Owner: "bob", Text: "two"},
		{ID: "c", Kind: inbox.Notice, Owner: "ann", Text: "three"},
	} {
		it.State, it.Created = inbox.Open, time.UnixMilli(1_790_000_000_000)
		if _, _, err := db.Inbox().PutItem(t.Context(), &it); err != nil {
			t.Fatal(err)
		}
	}
	query := sharedQuery("FROM inbox WHERE owner = ")
	var found []inbox.ID
	err := db.read(t.Context(), func(c *conn) error {
		s := c.start(query)
		s.int(1 << 62)
		for _, v := range []string{"", "ann", "", "", ""} {
			s.text(v)
		}
		s.int(10)
		for s.next() {
			found = append(found, inbox.ID(s.Text()))
		}
		return s.err
	})
	if diff := cmp.Diff([]inbox.ID{"c", "a"}, found); diff != "" || err != nil {
		t.Errorf("the rows of the owner: %v (-want +got):\n%s", err, diff)
	}
}
