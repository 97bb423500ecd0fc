package stalled

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"testing"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
)

// event is one server-sent event.
type event struct {
	id   int64
	data string
}

// events reads server-sent events until the reader ends. The last error is the cause of the
// end, unless that is io.EOF between two events.
func events(r io.Reader) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		var ev event
		b := bufio.NewReaderSize(r, 64<<10)
		for {
			line, err := b.ReadString('\n')
			if err != nil {
				if !errors.Is(err, io.EOF) || line != "" || ev != (event{}) {
					yield(ev, fmt.Errorf("stream broke off: %w", err))
				}
				return
			}
			switch line = strings.TrimSuffix(line, "\n"); {
			case line == "" && ev != (event{}):
				if !yield(ev, nil) {
					return
				}
				ev = event{}
			case strings.HasPrefix(line, "id: "):
				if ev.id, err = strconv.ParseInt(line[4:], 10, 64); err != nil {
					yield(ev, fmt.Errorf("event id is no version: %w", err))
					return
				}
			case strings.HasPrefix(line, "data: "):
				ev.data = line[6:]
			}
		}
	}
}

// stream opens a stream of HTTP+JSON. The caller closes the body.
func (h *hub) stream(ctx context.Context, c call) *http.Response {
	h.t.Helper()
	c.path = "/v1/a2a" + c.path
	resp, err := h.open(ctx, c)
	if err != nil {
		h.t.Fatalf("%s: %v", c.path, err)
	}
	h.t.Cleanup(func() { resp.Body.Close() })
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || ct != "text/event-stream" {
		b, _ := io.ReadAll(resp.Body)
		h.t.Fatalf("%s: %d %s %s; want a stream", c.path, resp.StatusCode, ct, b)
	}
	return resp
}

// reading reads a stream event by event.
type reading struct {
	t    testing.TB
	next func() (event, error, bool)
}

func (h *hub) read(body io.Reader) *reading {
	next, stop := iter.Pull2(events(body))
	h.t.Cleanup(stop)
	return &reading{h.t, next}
}

// event returns the next event.
func (r *reading) event() event {
	r.t.Helper()
	ev, err, ok := r.next()
	if err != nil || !ok {
		r.t.Fatalf("no event: %v", err)
	}
	return ev
}

// rest returns all further events.
func (r *reading) rest() []event {
	r.t.Helper()
	var all []event
	for {
		ev, err, ok := r.next()
		if !ok {
			return all
		}
		if err != nil {
			r.t.Fatal(err)
		}
		all = append(all, ev)
	}
}

// gapless fails the test unless the ids of events are consecutive, beginning after the given
// one.
func gapless(t testing.TB, after int64, all []event) {
	t.Helper()
	for _, ev := range all {
		if after++; ev.id != after {
			t.Fatalf("event %d follows %d: %.100s", ev.id, after-1, ev.data)
		}
	}
}

// recvAll reads a gRPC stream to its end.
func recvAll(s grpc.ServerStreamingClient[pb.StreamResponse]) ([]*pb.StreamResponse, error) {
	var all []*pb.StreamResponse
	for {
		m, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, m)
	}
}
