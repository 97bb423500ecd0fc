package client

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll reads a stream through its mark, and returns the id at the end.
func readAll(t *testing.T, wrap func(io.Reader) io.Reader, stream string) string {
	t.Helper()
	at := &cursor{id: "before"}
	body, err := io.ReadAll(wrap(newMarked(io.NopCloser(strings.NewReader(stream)), at)))
	if err != nil || string(body) != stream {
		t.Fatalf("read %q, %v, want %q as it is", body, err, stream)
	}
	return at.id
}

func whole(r io.Reader) io.Reader { return r }

func TestMarked(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string]string{
		"":                                  "before",
		": hello\n\n":                       "before",
		"id: 1\ndata: x\n\n":                "1",
		"id:1\r\ndata: x\r\n\r\n":           "1",
		"data: x\nid: 1\n\n":                "1",
		"id: 1\n\n":                         "1",
		"id: 1\ndata: x\n":                  "before",
		"id: 1\ndata: x":                    "before",
		"id: 1\ndata: x\n\n: alive\n\n":     "1",
		"id: 1\ndata: x\n\ndata: y\n\n":     "",
		"id: 1\ndata: x\n\nid\ndata: y\n\n": "",
		"idx: 1\ndata: x\n\n":               "",
		"id: " + strings.Repeat("9", maxEventID) + "\n\n":   strings.Repeat("9", maxEventID),
		"id: " + strings.Repeat("9", maxEventID+1) + "\n\n": "",
		"id: " + strings.Repeat("9", 20<<10) + "\n\n":       "",
		"id: 1\x00\n\n": "",
		"data: " + strings.Repeat("x", 20<<10) + "\nid: 1\n\n": "1",
	} {
		if got := readAll(t, whole, stream); got != want {
			t.Errorf("the id after %.40q is %q, want %q", stream, got, want)
		}
	}
}

// A reader that has read an event, but not asked for more, may have failed to use it.
func TestMarkedWaitsForTheReader(t *testing.T) {
	t.Parallel()
	at := new(cursor)
	m := newMarked(io.NopCloser(strings.NewReader("id: 1\n\nid: 2\n\n")), at)
	var got []string
	buf := make([]byte, 100)
	for {
		n, err := m.Read(buf)
		got = append(got, strings.TrimSpace(string(buf[:n]))+"@"+at.id)
		if err != nil {
			break
		}
	}
	if want := "id: 1@ @ id: 2@1 @1 @2"; strings.Join(got, " ") != want {
		t.Errorf("lines with the id at that time: %q, want %q", got, want)
	}
}

func FuzzMarked(f *testing.F) {
	for _, stream := range []string{"", "id: 1\ndata: x\n\n", "id\n\n\n", "\r\n\r\n", "data", "id: 1\r\n\r\n: c\n\nid: 2"} {
		f.Add(stream)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		got := readAll(t, whole, stream)
		// However the reader cuts the stream into pieces, the id is the same.
		if pieces := readAll(t, iotest.OneByteReader, stream); pieces != got {
			t.Errorf("the id after %q is %q, byte by byte %q", stream, got, pieces)
		}
		if got != "before" && got != "" && !strings.Contains(stream, "id:") {
			t.Errorf("%q has no id, got %q", stream, got)
		}
		if !usableID([]byte(got)) {
			t.Errorf("the id after %q is %q, which is no header", stream, got)
		}
	})
}
