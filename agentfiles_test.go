package parley_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley"
)

func TestReadAgents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one := write("b.json", `{"name":"one","url":"https://one.example","tenant":"t","description":"First.","apiKey":"k","headers":{"X-Org":"o"}}`)
	list := write("a.json", ` [{"name":"two","url":"https://two.example","bearer":"b"},{"name":"three","url":"https://three.example"}]`)
	write("notes.txt", "no agent")
	first := parley.RemoteAgent{Name: "one", URL: "https://one.example", Tenant: "t", Description: "First.", APIKey: "k", Header: map[string]string{"X-Org": "o"}}
	others := []parley.RemoteAgent{{Name: "two", URL: "https://two.example", Bearer: "b"}, {Name: "three", URL: "https://three.example"}}
	for path, want := range map[string][]parley.RemoteAgent{one: {first}, list: others, dir: append(others, first)} {
		got, err := parley.ReadAgents(path)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("ReadAgents(%s): %v (-want +got):\n%s", path, err, diff)
		}
	}
	bad := write("c.json", `{"name":"four","adress":"https://four.example"}`)
	for _, path := range []string{bad, dir} {
		if _, err := parley.ReadAgents(path); err == nil || !strings.Contains(err.Error(), "c.json") {
			t.Errorf("ReadAgents(%s) with an unknown member = %v, want an error with the file", path, err)
		}
	}
	if _, err := parley.ReadAgents(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ReadAgents of a missing file = %v", err)
	}
}
