package dump

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sample writes a file with all tables, n rows of entries, and two files.
func sample(tb testing.TB, n int) []byte {
	tb.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{Parley: "test", Store: "sqlite", MasterCheck: []byte("sealed")})
	if err != nil {
		tb.Fatal(err)
	}
	for _, t := range Tables() {
		if err := w.Table(&t); err != nil {
			tb.Fatal(err)
		}
		if t.Name != "entries" && t.Name != "hooks" {
			continue
		}
		for i := range n {
			row := make([]Value, len(t.Columns))
			for c := range row {
				row[c] = Value{Int: int64(i * c)}
				if t.Columns[c].Kind != Int {
					row[c] = Value{Bytes: bytes.Repeat([]byte{byte(i)}, i%5*c)}
				}
				if t.Columns[c].Kind == Bytes && i%3 == 0 {
					row[c].Bytes = nil
				}
			}
			if err := w.Row(row); err != nil {
				tb.Fatal(err)
			}
		}
	}
	for _, name := range []string{"owners/a", "owners/empty"} {
		content := strings.Repeat(name, n*(1-strings.Count(name, "empty")))
		if err := w.File(FileHead{Name: name, Size: int64(len(content))}, strings.NewReader(content)); err != nil {
			tb.Fatal(err)
		}
	}
	if _, err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// read reads a file and returns a description of its content.
func read(text []byte) (found []string, err error) {
	r, err := NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return found, Load(context.Background(), r, Sink{
		Table: func(t *Table) error {
			row := make([]Value, len(t.Columns))
			for {
				more, err := r.Row(row)
				if err != nil || !more {
					return err
				}
				found = append(found, fmt.Sprintf("%s %v", t.Name, row))
			}
		},
		File: func(h FileHead, content io.Reader) error {
			text, err := io.ReadAll(content)
			found = append(found, fmt.Sprintf("%s %q", h.Name, text))
			return err
		},
		Done: func() error { found = append(found, "done"); return nil },
	})
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	found, err := read(sample(t, 20_000))
	if err != nil || len(found) != 40_003 || found[len(found)-1] != "done" {
		t.Fatalf("read %d parts, %v, want 40003", len(found), err)
	}
	want := []string{"entries [{0 []} {0 []}]", "entries [{1 []} {0 [1]}]", "entries [{2 []} {0 [2 2]}]"}
	want[1] = "entries [{0 []} {0 [1]}]"
	want[2] = "entries [{0 []} {0 [2 2]}]"
	if diff := cmp.Diff(want, found[:3]); diff != "" {
		t.Errorf("rows mismatch (-want +got):\n%s", diff)
	}
}

// TestDamagedFiles cuts a file and flips a byte at every third position. The error names a position in it.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	whole := sample(t, 4)
	refused := func(name string, text []byte) {
		t.Helper()
		found, err := read(text)
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrFormat) {
			t.Fatalf("file %s = %v, want ErrDamaged", name, err)
		}
		if len(found) > 0 && found[len(found)-1] == "done" {
			t.Fatalf("file %s counts as complete", name)
		}
		var at int
		if m := regexp.MustCompile(`at byte (\d+)`).FindStringSubmatch(err.Error()); m == nil && !errors.Is(err, ErrFormat) {
			t.Fatalf("file %s = %v, want a position", name, err)
		} else if m != nil {
			fmt.Sscan(m[1], &at)
		}
		if at > len(text) {
			t.Fatalf("file %s = %v, a position behind its end", name, err)
		}
	}
	for at := 0; at < len(whole); at += 3 {
		refused(fmt.Sprintf("cut at %d", at), whole[:at])
		flipped := bytes.Clone(whole)
		flipped[at] ^= 1
		refused(fmt.Sprintf("changed at %d", at), flipped)
	}
	refused("with more bytes", append(bytes.Clone(whole), 'x'))
	// A frame that is whole and missing.
	at := bytes.Index(whole, []byte(`{"table":"turns"`))
	length := bytes.Index(whole[at:], []byte(`]}`)) + 2 + 4
	refused("without a table", append(bytes.Clone(whole[:at-3]), whole[at+length:]...))
}

func FuzzReader(f *testing.F) {
	f.Add(sample(f, 3))
	f.Add([]byte(magic))
	f.Add([]byte(magic + "\xff\xff\xff\xff\x0fH"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := read(text); err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrFormat) {
			t.Errorf("error = %v, want ErrDamaged or ErrFormat", err)
		}
	})
}

// TestFormerColumn reads a table that an earlier version wrote, with the former name of a column.
func TestFormerColumn(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{Parley: "test", Store: "sqlite"})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range Tables() {
		for i := range table.Columns {
			if table.Name == "hooks" && table.Columns[i].Name == "delivered" {
				table.Columns[i].Name = "told"
			}
		}
		if err := w.Table(&table); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b.Bytes(), []byte(`"delivered"`)) {
		t.Fatal("the file has the present name")
	}
	r, err := NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	var names string
	err = Load(t.Context(), r, Sink{
		Table: func(table *Table) error {
			if table.Name == "hooks" {
				names = table.Names()
			}
			return nil
		},
		File: func(FileHead, io.Reader) error { return nil },
		Done: func() error { return nil },
	})
	if want := "task, id, url, dialect, scheme, secret, created_at, delivered, settled"; err != nil || names != want {
		t.Errorf("hooks has the columns %s, %v, want %s", names, err, want)
	}
}
