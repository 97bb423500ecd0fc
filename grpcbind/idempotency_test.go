package grpcbind_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	e := engine.New(engine.Config{Store: new(memstore.Store), Idempotency: engine.Idempotency{Header: true}})
	h := start(t, grpcbind.Config{Engine: e}, words, nil)
	ctx := with(t.Context(), "idempotency-key", "k")
	var ids []string
	for range 2 {
		a, err := h.client.SendMessage(ctx, textRequest("one two"))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, a.GetTask().GetId())
	}
	s, err := h.client.SendStreamingMessage(ctx, textRequest("one two"))
	if err != nil {
		t.Fatal(err)
	}
	frames, err := drain(s)
	if err != nil || len(frames) != 5 {
		t.Fatalf("the repeated stream has %d frames, %v, want 5", len(frames), err)
	}
	ids = append(ids, frames[0].GetTask().GetId())
	if ids[0] == "" || ids[1] != ids[0] || ids[2] != ids[0] {
		t.Errorf("the repeated message gets the tasks %v, want one", ids)
	}
	if other := h.send(textRequest("one two")).GetId(); other == ids[0] {
		t.Error("a message without a key gets the task of the key")
	}
	_, err = h.client.SendMessage(ctx, textRequest("three"))
	want := failure{Code: codes.AlreadyExists, Reason: "IDEMPOTENCY_KEY_REUSED", Meta: map[string]string{"taskId": ids[0]}}
	if diff := cmp.Diff(want, failureOf(t, err)); diff != "" {
		t.Errorf("another message with the key mismatch (-want +got):\n%s", diff)
	}
}

func TestBadIdempotencyKeys(t *testing.T) {
	t.Parallel()
	e := engine.New(engine.Config{Store: new(memstore.Store), Idempotency: engine.Idempotency{Header: true}})
	h := start(t, grpcbind.Config{Engine: e}, words, nil)
	for _, kv := range [][]string{{"idempotency-key", ""}, {"idempotency-key", "a", "idempotency-key", "b"}} {
		_, err := h.client.SendMessage(with(t.Context(), kv...), textRequest("a"))
		if f := failureOf(t, err); f.Code != codes.InvalidArgument {
			t.Errorf("SendMessage with %q = %v, want InvalidArgument", kv, f)
		}
	}
}
