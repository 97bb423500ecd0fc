package cluster

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
)

// Hubs behind a pooler in transaction mode act as one, with and without a direct address: they stream the tasks of each
// other, and a killed one starts again.
func TestPooler(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	url := s.Database(t)
	address := s.Pooler(t, "transaction").Through(url)
	a, b := join(t, address, "a"), join(t, address, "b", fmt.Sprintf("store_direct: %q", url))

	const polls = "passes no notifications"
	hints := func(m *member) string {
		var report struct {
			Checks []struct{ Name, Detail string }
		}
		m.call(hubtest.Request{URL: "/readyz"}, &report)
		for _, c := range report.Checks {
			if c.Name == "hints" {
				return c.Detail
			}
		}
		return ""
	}
	if got := hints(a); !strings.Contains(got, polls) || !strings.Contains(a.Output(), polls) {
		t.Errorf("without store_direct, the check hints says %q", got)
	}
	if got := hints(b); strings.Contains(got, polls) || strings.Contains(b.Output(), polls) {
		t.Errorf("with store_direct, the check hints says %q", got)
	}
	for _, m := range [][2]*member{{a, b}, {b, a}} {
		completed(t, m[1].follow(m[0].send("slow", message{text: "2"}).ID))
	}
	got := a.send("slow", message{text: "600"})
	b.call(hubtest.Request{URL: "/v1/a2a/tasks/" + got.ID + ":cancel", Body: "{}"}, got)
	if got.Status.State != "TASK_STATE_CANCELED" {
		t.Errorf("state = %s", got.Status.State)
	}

	left := a.send("slow", message{text: "20"})
	a.Kill()
	if events := b.follow(left.ID); len(events) == 0 || !strings.Contains(events[len(events)-1].Data, "TASK_STATE_") {
		t.Errorf("events of the killed hub at the other one: %v", events)
	}
	if err := a.Start(); err != nil {
		t.Fatalf("start again: %v\n%s", err, a.Output())
	}
	completed(t, a.follow(b.send("slow", message{text: "1"}).ID))

	// A program that needs the database alone names the address that it needs.
	for _, m := range []*member{a, b} {
		file := filepath.Join(t.TempDir(), "export")
		if out, err := m.Parley(t.Context(), "export", "--data", t.TempDir(), "--running", file, "--store", address); err != nil {
			t.Errorf("export of running hubs: %v\n%s", err, out)
		}
		if out, err := m.Parley(t.Context(), "export", "--data", t.TempDir(), file+"2", "--store", address); err == nil || !strings.Contains(out+err.Error(), "store_direct") {
			t.Errorf("export without hubs: %v, %s", err, out)
		}
	}
	if out, err := b.Parley(t.Context(), "hubs", "list", "--store", address); err != nil || !strings.Contains(out, "a\t") || !strings.Contains(out, "b\t") {
		t.Errorf("hubs list = %q, %v", out, err)
	}
	for _, m := range []*member{a, b} {
		out, _ := m.Parley(t.Context(), "doctor", "--offline", "--data", t.TempDir())
		if found := strings.Contains(out, polls); found != (m == a) {
			t.Errorf("doctor of hub %s = %s", m.id, out)
		}
	}
}

// Addresses that do not fit are refused with the reason.
func TestDirectAddress(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	url, other := s.Database(t), s.Database(t)
	address := s.Pooler(t, "transaction").Through(url)
	for config, want := range map[string]string{
		fmt.Sprintf("store: %q\nhub_id: a\nstore_direct: %q", address, other):   "store_direct is the address of another database",
		fmt.Sprintf("store: %q\nhub_id: a\nstore_direct: %q", address, address): "not in session mode",
		fmt.Sprintf("store: %q", address):                                       "set hub_id",
		fmt.Sprintf("store_direct: %q", url):                                    "store_direct is for a PostgreSQL database",
		fmt.Sprintf("store: sqlite\nstore_direct: %q", url):                     "store is sqlite",
	} {
		h := hubtest.New(t, hubtest.Options{Config: fmt.Sprintf("%s\nmaster_key: %q\n", config, key)})
		if err := h.Start(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", config, err, want)
		}
	}
}
