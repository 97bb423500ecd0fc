package crash

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
)

// secretOf is a password in the address of a database. The server accepts every password.
const secretOf = "pass-word-of-the-database"

// withPassword adds a password to the address of a database.
func withPassword(url string) string {
	return strings.Replace(url, "parley@", "parley:"+secretOf+"@", 1)
}

// concealed fails t if the output of a hub contains the password.
func concealed(t *testing.T, output string) {
	t.Helper()
	if strings.Contains(output, secretOf) {
		t.Error("the hub has written the password of the database")
	}
}

// TestKilledDatabase kills the database of a hub, and both together. Meanwhile the hub refuses
// messages as unavailable. It waits for a database that is not there at its start. No task that a
// caller knows is lost.
func TestKilledDatabase(t *testing.T) {
	s := pgtest.Start(t)
	url := withPassword(s.Database(t))
	h := &smallHub{t, hubtest.Start(t, hubtest.Options{Flags: []string{"--store", url}})}
	ids := h.sent(20)

	s.Kill()
	if code, body := h.ask("refused"); code != http.StatusServiceUnavailable {
		t.Errorf("send without a database = %d %s, want 503", code, body)
	}
	if code, body := h.read("/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("readyz without a database = %d %s, want 503", code, body)
	}
	s.Launch(t)
	if err := h.Process().Await(t.Context(), "store recovered"); err != nil {
		t.Fatal(err)
	}
	if gone := h.missing(ids); len(gone) > 0 {
		t.Errorf("%d of %d tasks are lost with the database", len(gone), len(ids))
	}
	ids = append(ids, h.sent(1)...)

	h.Kill()
	s.Kill()
	waiting := hubtest.Launch(t, hubtest.Command{
		Args: []string{"serve", "--listen", h.Addr(), "--data", h.Data(), "--store", url}, Dir: h.Dir(),
	})
	if err := waiting.Await(t.Context(), "waiting for it"); err != nil {
		t.Fatal(err)
	}
	if code, body := h.read("/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "waits for its database") {
		t.Errorf("readyz of a hub that waits = %d %s, want 503 and the reason", code, body)
	}
	if code, body := h.read("/healthz"); code != http.StatusOK {
		t.Errorf("healthz of a hub that waits = %d %s", code, body)
	}
	s.Launch(t)
	if err := waiting.Await(t.Context(), "msg=ready "); err != nil {
		t.Fatal(err)
	}
	if gone := h.missing(ids); len(gone) > 0 {
		t.Errorf("%d of %d tasks are lost with hub and database", len(gone), len(ids))
	}
	if _, err := os.Stat(filepath.Join(h.Data(), "parley.db")); err == nil {
		t.Error("a hub with a database has created the file of SQLite")
	}
	concealed(t, h.Output()+waiting.Output())
}

// TestStopWithoutADatabase stops a hub whose database is away. It ends in order, with status 0, and
// warns that data was not stored.
func TestStopWithoutADatabase(t *testing.T) {
	s := pgtest.Start(t)
	h := &smallHub{t, hubtest.Start(t, hubtest.Options{Flags: []string{"--store", s.Database(t)}})}
	h.sent(5)
	s.Kill()
	if err := h.Process().Interrupt(); err != nil {
		t.Errorf("stop without a database = %v, want status 0", err)
	}
	_, said, _ := strings.Cut(h.Output(), "draining") // before, a retry may have failed
	if !strings.Contains(said, `level=WARN msg="the last outcomes of tasks were not stored`) || strings.Contains(said, "level=ERROR") {
		t.Errorf("the log of the stop does not warn of what was not stored, or has an error:\n%s", said)
	}
}

// TestStoresOfOneFolder: a hub with a database says that it does not use the file of SQLite in its
// folder, and a hub with another master key does not start.
func TestStoresOfOneFolder(t *testing.T) {
	url := pgtest.Start(t).Database(t)
	first := &smallHub{t, hubtest.Start(t, hubtest.Options{})}
	first.sent(1)
	first.Stop()
	h := hubtest.Start(t, hubtest.Options{Data: first.Data(), Flags: []string{"--store", url}})
	if !strings.Contains(h.Output(), "is not used") {
		t.Error("the hub does not say which store it uses")
	}

	if err := hubtest.New(t, hubtest.Options{Flags: []string{"--store", url}}).Start(); err == nil || !strings.Contains(err.Error(), "another hub is using the database") {
		t.Errorf("second hub on the database: %v", err)
	}
	h.Stop()
	for _, env := range []string{"PARLEY_MASTER_KEY=", "PARLEY_MASTER_KEY=" + strings.Repeat("a1", 32)} {
		err := hubtest.New(t, hubtest.Options{Flags: []string{"--store", url}, Env: []string{env}}).Start()
		if err == nil || !strings.Contains(err.Error(), "the master key does not match the database") {
			t.Errorf("hub with %q: %v", env, err)
		}
	}
}
