package grpcbind_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

// wire is a caller that writes frames.
type wire struct {
	t    *testing.T
	conn net.Conn
	fr   *http2.Framer
	next uint32
}

// answer is the beginning of the answer to a call: that its message may arrive, or the end.
type answer struct {
	admitted bool
	status   codes.Code
}

func (h *hub) wire() *wire {
	h.t.Helper()
	conn, err := h.listener.DialContext(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { conn.Close() })
	w := &wire{t: h.t.(*testing.T), conn: conn, fr: http2.NewFramer(conn, conn), next: 1}
	w.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		h.t.Fatal(err)
	}
	w.must(w.fr.WriteSettings())
	return w
}

func (w *wire) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// call begins a call of SendMessage by a caller, and returns its stream.
func (w *wire) call(name string) uint32 {
	w.t.Helper()
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, f := range []string{":method POST", ":scheme http", ":path /lf.a2a.v1.A2AService/SendMessage", ":authority hub", "content-type application/grpc", "te trailers", "x-name " + name} {
		k, v, _ := strings.Cut(f, " ")
		if v != "" {
			w.must(e.WriteField(hpack.HeaderField{Name: k, Value: v}))
		}
	}
	id := w.next
	w.next += 2
	w.must(w.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: b.Bytes(), EndHeaders: true}))
	return id
}

// announce sends the prefix of a message of n bytes.
func (w *wire) announce(id uint32, n int) {
	w.t.Helper()
	w.must(w.fr.WriteData(id, false, binary.BigEndian.AppendUint32([]byte{0}, uint32(n))))
}

// answer reads up to the first answer to a call.
func (w *wire) answer(id uint32) answer {
	w.t.Helper()
	for {
		f, err := w.fr.ReadFrame()
		w.must(err)
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				w.must(w.fr.WriteSettingsAck())
			}
		case *http2.WindowUpdateFrame:
			if f.StreamID == id && f.Increment > 1000 {
				return answer{admitted: true}
			}
		case *http2.MetaHeadersFrame:
			i := slices.IndexFunc(f.Fields, func(h hpack.HeaderField) bool { return h.Name == "grpc-status" })
			if f.StreamID == id && i >= 0 {
				n, err := strconv.Atoi(f.Fields[i].Value)
				w.must(err)
				return answer{status: codes.Code(n)}
			}
		}
	}
}

// sizedText returns a request of about n bytes.
func sizedText(n int) *pb.SendMessageRequest {
	r := textRequest("x")
	r.Message.Parts[0].Content = &pb.Part_Text{Text: strings.Repeat("x", n)}
	return r
}

// A large message is admitted by three times the size that it announces, before it is read, because it is
// joined and decoded before its frames are released: half-sent ones that together have half of the memory
// leave no room for a further one, which is refused with the time after which to retry. A half-sent message
// returns its share when its call ends.
func TestLargeMessagesAreAdmitted(t *testing.T) {
	t.Parallel()
	b := &membudget.Budget{Max: 12 << 20, Wait: 100 * time.Millisecond}
	h := limitedHub(t, engine.Config{Memory: b})
	w, ann := h.wire(), with(t.Context(), "x-name", "ann")
	var all [3]uint32
	for i, want := range []answer{{admitted: true}, {admitted: true}, {status: codes.ResourceExhausted}} {
		all[i] = w.call("ann")
		w.announce(all[i], 1<<20)
		w.must(w.fr.WriteData(all[i], false, make([]byte, 16<<10))) // read once the message is admitted
		if got := w.answer(all[i]); got != want {
			t.Errorf("announced message %d: %+v, want %+v", i, got, want)
		}
	}
	if s := b.Stats(); s.Used != 6<<20 {
		t.Errorf("%d bytes are used, want three times those of both admitted messages", s.Used)
	}
	_, err := h.client.SendMessage(ann, sizedText(500_000))
	refusedFor(t, "a large message beside half-sent ones", err)
	if _, err := h.client.SendMessage(ann, sizedText(50_000)); err != nil {
		t.Errorf("a small message beside half-sent ones: %v", err)
	}
	w.must(w.fr.WriteRSTStream(all[0], http2.ErrCodeCancel))
	w.conn.Close()
	free, err := b.AcquireLong(ann, membudget.Request, 12<<20) // when all have returned their share
	if err != nil {
		t.Fatal(err)
	}
	free.Release()
	if _, err := h.client.SendMessage(ann, sizedText(500_000)); err != nil {
		t.Errorf("a large message afterwards: %v", err)
	}
	if free, err = b.AcquireLong(ann, membudget.Request, 12<<20); err != nil {
		t.Fatal(err)
	}
	free.Release()
}

// A large message without a known caller is refused before it is read. A message above the limit is
// refused by its size, and takes no memory.
func TestLargeMessagesAreRefusedUnread(t *testing.T) {
	t.Parallel()
	b := &membudget.Budget{Max: 64 << 20}
	h := limitedHub(t, engine.Config{Memory: b})
	w := h.wire()
	for _, tt := range []struct {
		caller string
		size   int
		want   codes.Code
	}{{"", 1 << 20, codes.Unauthenticated}, {"ann", 11 << 20, codes.ResourceExhausted}, {"ann", 1<<32 - 1, codes.ResourceExhausted}} {
		id := w.call(tt.caller)
		w.announce(id, tt.size)
		if got, want := w.answer(id), (answer{status: tt.want}); got != want {
			t.Errorf("%d bytes of %q: %+v, want %+v", tt.size, tt.caller, got, want)
		}
	}
	if s := b.Stats(); s != (membudget.Stats{Max: 64 << 20}) {
		t.Errorf("memory of refused messages: %+v, want none", s)
	}
}

// A call has one message.
func TestSecondMessageEndsItsCall(t *testing.T) {
	t.Parallel()
	h := limitedHub(t, engine.Config{})
	w := h.wire()
	id := w.call("ann")
	small, _ := proto.Marshal(textRequest("x"))
	w.announce(id, len(small))
	w.must(w.fr.WriteData(id, false, small))
	w.announce(id, 9<<20)
	if got, want := w.answer(id), (answer{status: codes.InvalidArgument}); got != want {
		t.Errorf("a second message: %+v, want %+v", got, want)
	}
}

// Small messages that arrive slowly have half of the memory; tiny ones pass beside them.
func TestSlowMessagesAreBounded(t *testing.T) {
	t.Parallel()
	h := limitedHub(t, engine.Config{Memory: &membudget.Budget{Max: 1 << 20, Wait: 100 * time.Millisecond}})
	w, ann := h.wire(), with(t.Context(), "x-name", "ann")
	for i, want := range []answer{{admitted: true}, {admitted: true}, {status: codes.ResourceExhausted}} {
		id := w.call("ann")
		w.announce(id, 60_000)
		w.must(w.fr.WriteData(id, false, make([]byte, 16<<10)))
		if got := w.answer(id); got != want {
			t.Errorf("slow message %d: %+v, want %+v", i, got, want)
		}
	}
	if _, err := h.client.SendMessage(ann, textRequest("hi")); err != nil {
		t.Errorf("a tiny message beside slow ones: %v", err)
	}
}

// Messages of each size arrive side by side, also compressed.
func TestMessagesOfAllSizes(t *testing.T) {
	t.Parallel()
	h := start(t, grpcbind.Config{
		Auth: auth.Anyone(), Engine: engine.New(engine.Config{Store: new(memstore.Store), Memory: &membudget.Budget{Max: 64 << 20}}),
	}, words, nil)
	errs := make(chan error)
	calls := 0
	for _, n := range []int{0, 100, 16_000, 32_700, 65_000, 66_000, 1 << 20, 4 << 20} {
		for _, opts := range [][]grpc.CallOption{nil, {grpc.UseCompressor(gzip.Name)}} {
			calls++
			go func() {
				r := sizedText(n)
				r.Message.MessageId = "m" + strconv.Itoa(n)
				a, err := h.client.SendMessage(context.Background(), r, append(opts, grpc.MaxCallRecvMsgSize(64<<20))...)
				if err == nil && len(a.GetTask().GetArtifacts()[0].GetParts()[0].GetText()) != n {
					err = status.Errorf(codes.DataLoss, "%d bytes did not come back", n)
				}
				errs <- err
			}()
		}
	}
	for range calls {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// Callers may ping as often as they like, and a quiet connection gets the pings of the hub.
func TestPings(t *testing.T) {
	t.Parallel()
	h := start(t, grpcbind.Config{Auth: byName(), Limits: grpcbind.Limits{KeepAlive: 20 * time.Millisecond}}, words, nil)
	w := h.wire()
	w.call("ann") // its message does not come
	const most = 50
	for i := range most {
		w.must(w.fr.WritePing(false, [8]byte{byte(i)}))
	}
	answered, asked := 0, 0
	for answered < most || asked < 2 {
		f, err := w.fr.ReadFrame()
		w.must(err)
		switch f := f.(type) {
		case *http2.GoAwayFrame:
			t.Fatalf("the hub ends the connection: %v %q", f.ErrCode, f.DebugData())
		case *http2.PingFrame:
			if f.IsAck() {
				answered++
				continue
			}
			asked++
			w.must(w.fr.WritePing(true, f.Data))
		}
	}
}

// Beside passes requests that are no calls of gRPC to the other handler, among them those of gRPC-Web. A call
// over HTTP/1.1 is refused with a status of gRPC.
func TestBeside(t *testing.T) {
	t.Parallel()
	b := grpcbind.New(grpcbind.Config{Engine: engine.New(engine.Config{Store: new(memstore.Store)})})
	other := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	for _, tt := range []struct {
		contentType string
		major       int
		want        int
	}{
		{"application/grpc", 2, http.StatusOK},
		{"application/grpc+proto", 2, http.StatusOK},
		{"application/grpc;x=y", 2, http.StatusOK},
		{"application/grpc", 1, http.StatusOK},
		{"application/grpc-web", 2, http.StatusTeapot},
		{"application/json", 2, http.StatusTeapot},
		{"", 2, http.StatusTeapot},
	} {
		r := httptest.NewRequest(http.MethodPost, "/lf.a2a.v1.A2AService/None", nil)
		r.ProtoMajor = tt.major
		r.Header.Set("Content-Type", tt.contentType)
		w := httptest.NewRecorder()
		if b.Beside(other).ServeHTTP(w, r); w.Code != tt.want {
			t.Errorf("%q over HTTP/%d: %d, want %d", tt.contentType, tt.major, w.Code, tt.want)
		}
		if said := w.Header().Get("Grpc-Message"); tt.major == 1 && !strings.Contains(said, "HTTP/2") {
			t.Errorf("%q over HTTP/1: message %q, want that HTTP/2 is required", tt.contentType, said)
		}
	}
}
