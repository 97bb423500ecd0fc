package sse_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/internal/sse"
)

// A client receives each event when it is sent, whole even if several goroutines send, over HTTP/1.1
// and HTTP/2. Sending to a client that has disconnected fails.
func TestWriter(t *testing.T) {
	t.Parallel()
	const senders, each = 8, 50
	for _, http2 := range []bool{false, true} {
		failed := make(chan bool)
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			stream := sse.NewWriter(w, r)
			var all sync.WaitGroup
			for range senders {
				all.Go(func() {
					for range each {
						if err := stream.Send([]byte("data: one\ndata: two\n\n")); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			<-r.Context().Done()
			for stream.Send([]byte(": still there?\n\n")) == nil {
			}
			close(failed)
		}))
		srv.EnableHTTP2 = http2
		srv.StartTLS()
		t.Cleanup(srv.Close)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := srv.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		if got := resp.Header.Get("Content-Type"); got != "text/event-stream" || (resp.ProtoMajor == 2) != http2 {
			t.Errorf("%s with the type %q", resp.Proto, got)
		}
		want := "data: one\ndata: two\n\n"
		got := make([]byte, len(want))
		for range senders * each {
			if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
				t.Fatalf("event %q, %v", got, err)
			}
		}
		cancel()
		<-failed
	}
}
