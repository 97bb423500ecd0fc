package layers

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"
)

// Stacks have the innermost function first.
func TestLayerOf(t *testing.T) {
	t.Parallel()
	for want, stack := range map[string][]string{
		"allocation and collector":        {"runtime.memclr", "runtime.mallocgc", "encoding/json.Unmarshal", "net/http.(*conn).serve"},
		"JSON":                            {"runtime.memmove", "encoding/json.Unmarshal", "net/http.(*conn).serve"},
		"store: commit, write of the log": {"syscall.Syscall", "modernc.org/libc.Xpwrite64", "modernc.org/sqlite/lib._sqlite3WalFrames", "modernc.org/sqlite/lib._sqlite3_step"},
		"store: fsync":                    {"syscall.Syscall", "modernc.org/libc.Xfsync", "modernc.org/sqlite/lib._sqlite3WalFrames"},
		"store: statements":               {"modernc.org/sqlite/lib._sqlite3VdbeExec", "github.com/parley-a2a/parley/store/sqlitestore.(*Tasks).Append"},
		"write the answer":                {"syscall.write", "internal/poll.(*FD).Write", "net.(*netFD).Write", "net/http.checkConnErrorWriter.Write", "net/http.(*conn).serve"},
		"HTTP server: the rest":           {"net/http.(*conn).serve"},
		"other":                           {"main.main"},
	} {
		if got := layerOf(stack); got != want {
			t.Errorf("layer of %v is %q, want %q", stack, got, want)
		}
	}
}

// TestRead profiles itself: the layers add up to the profile, and the picture is XML.
func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cpu")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		t.Fatal(err)
	}
	sum := 0
	for i := range 50_000_000 {
		sum += i % (i + 1)
	}
	pprof.StopCPUProfile()
	if err := f.Close(); err != nil || sum == 1 {
		t.Fatal(err)
	}
	p, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	left := p.Total
	for _, s := range p.Shares() {
		left -= s.CPU
	}
	if left != 0 {
		t.Errorf("the layers of %v leave %v", p.Total, left)
	}
	var b bytes.Buffer
	if err := p.Flame(&b, "a <title>"); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%.500s", err, b.String())
		}
	}
	if _, err := Read(os.DevNull); err == nil {
		t.Error("an empty file is a profile")
	}
}
