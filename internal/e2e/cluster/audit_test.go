package cluster

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The audit logs of the hubs of one database are verified by one command. It names the hub of a changed
// entry, and the hubs whose logs it did not get; parley doctor examines the database of its flag.
func TestAuditsOfAllHubs(t *testing.T) {
	t.Parallel()
	url, hubs := begin(t, "a", "b")
	a, b := hubs[0], hubs[1]
	verify := func(data ...string) (string, error) {
		return a.Parley(t.Context(), append([]string{"audit", "verify", "--store", url}, data...)...)
	}
	out, err := verify(a.Data(), b.Data())
	if err != nil || !strings.Contains(out, "hub a: "+a.Data()) || !strings.Contains(out, "hub b: "+b.Data()) || strings.Count(out, ": sound: ") != 2 {
		t.Errorf("verify of both logs: %v\n%s", err, out)
	}
	if out, err := verify(a.Data()); err == nil || !strings.Contains(out+err.Error(), "hubs of the database were not given: b") {
		t.Errorf("verify without the log of hub b: %v\n%s", err, out)
	}
	empty := filepath.Join(t.TempDir(), "empty.yaml") // that of hub a names the database
	if err := os.WriteFile(empty, []byte("log: {level: info}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := a.Parley(t.Context(), "doctor", "--config", empty, "--offline", "--data", t.TempDir(), "--store", url); err != nil || !strings.Contains(out, "tasks with") {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	b.Stop()
	file := filepath.Join(b.Data(), "audit", "000000000001.jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(text, []byte(`"config.load"`), []byte(`"config.lead"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err = verify(a.Data(), b.Data())
	if err == nil || !strings.Contains(out, "hub b: "+file) || !strings.Contains(out, "the entry was changed") || strings.Count(out, ": sound: ") != 1 {
		t.Errorf("verify of a changed log: %v\n%s", err, out)
	}
}
