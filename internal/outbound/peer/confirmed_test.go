package peer_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// confirming answers every call with a completed task, and names extensions in a header.
func confirming(header, list string) http.HandlerFunc {
	const done = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}`
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(header, list)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.Contains(r.URL.Path, "message:stream"):
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"task\":%s}\n\n", done)
		case strings.Contains(r.URL.Path, "message:"):
			fmt.Fprintf(w, `{"task":%s}`, done)
		default:
			fmt.Fprint(w, done)
		}
	}
}

// TestWithConfirmed checks that the answers to sends are reported with the extensions of their
// header, in either spelling, and that answers to other calls, and errors, are not.
func TestWithConfirmed(t *testing.T) {
	t.Parallel()
	const message = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}`
	send := func(ctx context.Context, p *peer.Peer) error {
		_, err := p.Send(ctx, []byte(message))
		return err
	}
	stream := func(ctx context.Context, p *peer.Peer) (err error) {
		for _, err = range p.Stream(ctx, []byte(message)) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	get := func(ctx context.Context, p *peer.Peer) error {
		_, err := p.Get(ctx, "t", nil)
		return err
	}
	var many []string
	for i := range 101 {
		many = append(many, fmt.Sprint("urn:x:", i))
	}
	for name, tt := range map[string]struct {
		serve http.HandlerFunc
		call  func(context.Context, *peer.Peer) error
		fails bool
		want  [][]string
	}{
		"send":       {serve: confirming("A2A-Extensions", "urn:a, ,urn:b,urn:a"), call: send, want: [][]string{{"urn:a", "urn:b"}}},
		"v0.3":       {serve: confirming("X-A2A-Extensions", "urn:a"), call: send, want: [][]string{{"urn:a"}}},
		"stream":     {serve: confirming("A2A-Extensions", "urn:a"), call: stream, want: [][]string{{"urn:a"}}},
		"none":       {serve: confirming("X-Other", "urn:a"), call: send, want: [][]string{nil}},
		"very many":  {serve: confirming("A2A-Extensions", strings.Join(many, ",")), call: send, want: [][]string{many[:100]}},
		"other call": {serve: confirming("A2A-Extensions", "urn:a"), call: get},
		"error": {serve: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("A2A-Extensions", "urn:a")
			http.Error(w, `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"no"}}`, http.StatusBadRequest)
		}, call: send, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := at(t, serve(t, tt.serve), rest, "1.0", peer.Options{})
			var got [][]string
			err := tt.call(peer.WithConfirmed(t.Context(), func(uris []string) { got = append(got, uris) }), p)
			if tt.fails != (err != nil) {
				t.Fatalf("the call = %v", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("reports mismatch (-want +got):\n%s", diff)
			}
			if err := tt.call(t.Context(), p); tt.fails != (err != nil) {
				t.Errorf("the call without a report = %v", err)
			}
		})
	}
}
