package sse

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// readEvents reads a stream to its end: "id|data" for each event.
func readEvents(r io.Reader, limit int64) ([]string, error) {
	s := NewReader(r, limit, nil)
	var all []string
	for {
		m, err := s.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, m.ID+"|"+string(m.Data))
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string]string{
		"":                              "",
		": hello\n\n":                   "",
		"id: 1\ndata: x\n\n":            "1|x",
		"id:1\r\ndata:x\r\n\r\n":        "1|x",
		"data: x\nid: 1\n\n":            "1|x",
		"data: a\ndata: b\n\n":          "|a\nb",
		"id: 1\n\ndata: x\n\n":          "|x",
		"id: 1\ndata: x\n":              "",
		"id: 1\ndata: x\n\ndata: y\n\n": "1|x |y",
		"event: z\nretry: 5\ndata\n\n":  "|",
		"id: 1\x00\ndata: x\n\n":        "|x",
		"id: " + strings.Repeat("9", 300) + "\ndata: x\n\n": "|x",
		"data: " + strings.Repeat("x", 20<<10) + "\n\n":     "|" + strings.Repeat("x", 20<<10),
	} {
		got, err := readEvents(strings.NewReader(stream), 1<<20)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%.40q is read as %.60q, %v, want %.60q", stream, got, err, want)
		}
	}
	if _, err := readEvents(strings.NewReader(strings.Repeat("data: xxxxxxxx\n", 1000)+"\n"), 1000); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an event that is too long is %v, want ErrTooLarge", err)
	}
}

// TestTypes checks that a type belongs to one event only.
func TestTypes(t *testing.T) {
	t.Parallel()
	r := NewReader(strings.NewReader("event: a\ndata: 1\n\ndata: 2\n\nevent: lost\n\ndata: 3\n\ndata: 4\nevent:b\n\n"), 100, nil)
	for _, want := range []string{"a", "", "", "b"} {
		if e, err := r.Next(); err != nil || e.Type != want {
			t.Errorf("event %q has the type %q, %v, want %q", e.Data, e.Type, err, want)
		}
	}
}

// FuzzReader checks that a stream is read the same however it is split, within its limit.
func FuzzReader(f *testing.F) {
	for _, stream := range []string{"", "id: 1\ndata: x\n\n", "id\n\n\n", "\r\n\r\n", "data", "id: 1\r\n\r\n: c\n\nid: 2", "data:\n\n"} {
		f.Add(stream)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		got, err := readEvents(strings.NewReader(stream), 1000)
		pieces, cut := readEvents(iotest.OneByteReader(strings.NewReader(stream)), 1000)
		if strings.Join(got, "\x00") != strings.Join(pieces, "\x00") || (err == nil) != (cut == nil) {
			t.Errorf("%q is read as %q, %v, byte by byte %q, %v", stream, got, err, pieces, cut)
		}
		for _, e := range got {
			if len(e) > 1000+maxID+20 {
				t.Errorf("an event of %d bytes passed", len(e))
			}
		}
	})
}

// TestFeed writes a stream in pieces of each size.
func TestFeed(t *testing.T) {
	t.Parallel()
	stream := ": hello\n\nid: 1\ndata: one\n\nevent: x\ndata: two\ndata: lines\n\n: still there\n\ndata: incomplete\n"
	want := []Event{{ID: "1", Data: []byte("one")}, {Type: "x", Data: []byte("two\nlines")}}
	for size := 1; size <= len(stream); size++ {
		var got []Event
		f := Feed{Limit: 100, Event: func(e Event) error {
			got = append(got, e)
			return nil
		}}
		for piece := range slices.Chunk([]byte(stream), size) {
			if n, err := f.Write(piece); n != len(piece) || err != nil {
				t.Fatalf("Write(%q) = %d, %v", piece, n, err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pieces of %d bytes (-want +got):\n%s", size, diff)
		}
	}
	f := Feed{Limit: 100, Event: func(Event) error { return io.ErrUnexpectedEOF }}
	if _, err := f.Write([]byte(strings.Repeat("x", 101))); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a large event = %v, want %v", err, ErrTooLarge)
	}
	f = Feed{Limit: 100, Event: f.Event}
	if _, err := f.Write([]byte("data: x\n\n")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Write() = %v, want the error of Event", err)
	}
}

// An event in many pieces is copied a few times, not once for each piece.
func TestFeedOfSmallPieces(t *testing.T) {
	piece := []byte(strings.Repeat("x", 64))
	allocations := testing.AllocsPerRun(1, func() {
		n := 0
		f := Feed{Limit: 1 << 20, Event: func(e Event) error { n += len(e.Data); return nil }}
		write := func(b []byte) {
			if _, err := f.Write(b); err != nil {
				t.Fatal(err)
			}
		}
		write([]byte("data: "))
		for range 4096 {
			write(piece)
		}
		write([]byte("\n"))
		write([]byte("\n"))
		if n != 4096*len(piece) {
			t.Fatalf("the event has %d bytes, want %d", n, 4096*len(piece))
		}
	})
	if allocations > 200 {
		t.Errorf("%v allocations for 4096 pieces, want a few", allocations)
	}
}
