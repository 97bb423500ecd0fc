package grpcbind

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"

	"google.golang.org/grpc/peer"
)

// chunks is a connection that returns its bytes in pieces.
type chunks struct {
	net.Conn

	b     []byte
	piece int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.piece)], c.b)
	c.b = c.b[n:]
	return n, nil
}

func (c *chunks) RemoteAddr() net.Addr { return nil }

// frame returns a frame of HTTP/2.
func frame(kind, flags byte, id uint32, payload ...byte) []byte {
	n := len(payload)
	b := binary.BigEndian.AppendUint32([]byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags}, id)
	return append(b, payload...)
}

// preface stands for the preface of a connection.
var preface = bytes.Repeat([]byte{'P'}, prefaceSize)

// The size of a message is known from its prefix, in whatever pieces it arrives, and all bytes pass as
// they are, at most one frame at a time.
func TestMeterReadsSizes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		frames     [][]byte
		size       int64
		compressed bool
		whole      bool
		known      bool
		stopped    error
	}{
		"a small message":       {frames: [][]byte{frame(0, 1, 5, 0, 0, 0, 0, 2, 1, 2)}, size: 2, known: true, whole: true},
		"with a second one":     {frames: [][]byte{frame(0, 1, 5, 0, 0, 0, 0, 2, 1, 2, 0)}, size: 2, known: true, stopped: errSecondMessage},
		"compressed":            {frames: [][]byte{frame(0, 1, 5, 1, 0, 0, 0, 2, 1, 2)}, size: 2, known: true, compressed: true},
		"padded":                {frames: [][]byte{frame(0, 9, 5, 2, 0, 0, 1, 0, 2, 1, 9, 9)}, size: 1<<16 + 2, known: true},
		"all padding":           {frames: [][]byte{frame(0, 8, 5, 200, 1, 2)}},
		"in two frames":         {frames: [][]byte{frame(0, 0, 5, 0, 0, 0), frame(0, 0, 5, 4, 0, 1)}, size: 1 << 10, known: true},
		"of other calls":        {frames: [][]byte{frame(0, 1, 3, 0, 0, 0, 0, 0), frame(1, 4, 7), frame(3, 0, 7, 0, 0, 0, 8)}},
		"without a message":     {frames: [][]byte{frame(0, 1, 5)}, known: true},
		"half a prefix, ended":  {frames: [][]byte{frame(0, 1, 5, 0, 0)}, known: true},
		"a large frame":         {frames: [][]byte{frame(0, 0, 5, append([]byte{0, 0, 1, 0, 0}, make([]byte, 40_000)...)...)}, size: 1 << 16, known: true},
		"with empty frames":     {frames: bytes.SplitAfter(bytes.Repeat(append(frame(0, 0, 5), '|'), 300), []byte("|")), stopped: errSmallFrames},
		"reserved bit of an id": {frames: [][]byte{frame(0, 1, 5|1<<31, 0, 0, 0, 0, 0)}, known: true, whole: true},
	} {
		for _, piece := range []int{1, 7, 1 << 20} {
			var all []byte
			for _, f := range tt.frames {
				all = append(all, bytes.TrimSuffix(f, []byte("|"))...)
			}
			head := frame(frameHeaders, 4, 5, 'h', 'e', 'a', 'd')
			m := newMeter(&chunks{b: append(append(bytes.Clone(preface), head...), all...), piece: piece})
			got := make([]byte, len(preface)+len(head))
			if _, err := io.ReadFull(m, got); err != nil {
				t.Fatal(err)
			}
			if got, want := m.whole(), tt.whole && piece > 1000; got != want {
				t.Errorf("%s by %d: whole = %v, want %v", name, piece, got, want)
			}
			var stopped error
			in, forget := m.watch(func(err error) { stopped = err })
			if rest, err := io.ReadAll(m); err != nil || !bytes.Equal(rest, all) {
				t.Errorf("%s by %d: read %d bytes (%v), want the same %d", name, piece, len(rest), err, len(all))
			}
			forget()
			if in.sized != tt.known || in.size != tt.size || in.compressed != tt.compressed || !errors.Is(stopped, tt.stopped) {
				t.Errorf("%s by %d: size %d (%v), compressed %v, stopped by %v; want %+v", name, piece, in.size, in.sized, in.compressed, stopped, tt)
			}
		}
	}
}

func TestMeterIsFoundByItsPeer(t *testing.T) {
	t.Parallel()
	m := newMeter(&chunks{})
	ctx := peer.NewContext(context.Background(), &peer.Peer{Addr: m.RemoteAddr()})
	if meterOf(ctx) != m || meterOf(context.Background()) != nil || remoteAddr(ctx) != "" {
		t.Errorf("meter %p of a peer with the address %q, want %p", meterOf(ctx), remoteAddr(ctx), m)
	}
}

// FuzzMeter checks that a meter returns the bytes of its connection unchanged.
func FuzzMeter(f *testing.F) {
	f.Add(frame(0, 9, 1, 2, 0, 0, 0, 0, 0, 1, 1), 3)
	f.Add(append(frame(1, 5, 1, 'h'), frame(0, 8, 1)...), 9)
	f.Fuzz(func(t *testing.T, b []byte, piece int) {
		whole := append(append(bytes.Clone(preface), frame(frameHeaders, 0, 1)...), b...)
		m := newMeter(&chunks{b: bytes.Clone(whole), piece: max(1, piece%100)})
		got := make([]byte, len(preface)+frameHeaderSize)
		if _, err := io.ReadFull(m, got); err != nil {
			t.Fatal(err)
		}
		m.whole()
		m.watch(func(error) {})
		rest, err := io.ReadAll(m)
		if err != nil || !bytes.HasPrefix(whole, append(got, rest...)) {
			t.Fatalf("read %x, %x and %v of %x", got, rest, err, whole)
		}
		// A frame whose header is incomplete is not delivered.
		if missing := len(whole) - len(got) - len(rest); missing >= frameHeaderSize {
			t.Errorf("%d bytes are missing", missing)
		}
	})
}
