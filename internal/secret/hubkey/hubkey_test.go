package hubkey

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/bus"
)

func TestLoadKeepsTheHub(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), FileName)
	// A file that a crash may have left behind.
	if err := os.WriteFile(path+".new", []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	first, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file = %v, %v, want it for the user alone", info, err)
	}
	second, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first.HubKey(), second.HubKey()); diff != "" {
		t.Errorf("key after a restart (-first +second):\n%s", diff)
	}
	if left, _ := filepath.Glob(path + "?*"); len(left) != 0 {
		t.Errorf("files left behind: %v", left)
	}
	keys, err := bus.NewKeyring(first.HubKey())
	if err != nil {
		t.Fatal(err)
	}
	e := &bus.Envelope{ID: "1", Type: "job.deny", Source: "hub/" + second.Hub()}
	if err := second.Sign(e); err != nil {
		t.Fatal(err)
	}
	if err := keys.Verify(e); err != nil {
		t.Errorf("an envelope of the restarted hub: %v", err)
	}
}

func TestLoadMakesEachHubItsOwn(t *testing.T) {
	t.Parallel()
	a, err := Load(filepath.Join(t.TempDir(), FileName))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Load(filepath.Join(t.TempDir(), FileName))
	if err != nil {
		t.Fatal(err)
	}
	if a.Hub() == b.Hub() || a.HubKey().ID() == b.HubKey().ID() {
		t.Errorf("two hubs are %v and %v, want other ids and keys", a.HubKey(), b.HubKey())
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	folder := filepath.Join(dir, "folder")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	seed := base64.StdEncoding.EncodeToString(make([]byte, 32))
	for path, want := range map[string]string{
		file("open", `{"hub":"a","seed":"`+seed+`"}`, 0o640):     "chmod 600",
		file("short", `{"hub":"a","seed":"AAAA"}`, 0o600):        "seed has 3 bytes instead of 32",
		file("seedless", `{"hub":"a"}`, 0o600):                   "has no member seed",
		file("nameless", `{"seed":"`+seed+`"}`, 0o600):           "the id of a hub has letters",
		file("spaced", `{"hub":"a b","seed":"`+seed+`"}`, 0o600): "the id of a hub has letters",
		file("empty", "", 0o600):                                 "unexpected end of JSON input",
		file("large", strings.Repeat(" ", maxSize+1), 0o600):     "longer than any key",
		folder:                            "not a regular file",
		filepath.Join(dir, "gone", "key"): "no such file",
	} {
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("Load(%s): %v, want an error with the path and %q", path, err, want)
		}
	}
}
