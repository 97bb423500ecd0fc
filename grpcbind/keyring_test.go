package grpcbind_test

import (
	"testing"
	"time"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/grpcbind"
)

// TestKeys checks that a key authorizes gRPC calls in either metadata key, and nothing else
// does.
func TestKeys(t *testing.T) {
	t.Parallel()
	k, text := auth.NewKey(auth.Principal{ID: "ann"}, time.Now())
	other, second := auth.NewKey(auth.Principal{ID: "bob"}, time.Now())
	h := start(t, grpcbind.Config{Auth: &auth.Keyring{Configured: []auth.Key{*k, *other}}}, words, nil)
	for _, kv := range [][]string{
		{"x-api-key", text},
		{"X-Api-Key", text},
		{"authorization", "Bearer " + text},
		{"authorization", "bearer " + text, "x-api-key", text},
	} {
		if _, err := h.client.SendMessage(with(t.Context(), kv...), textRequest("x")); err != nil {
			t.Errorf("SendMessage with %s: %v", kv[0], err)
		}
	}
	list, err := h.client.ListTasks(with(t.Context(), "x-api-key", text), &pb.ListTasksRequest{})
	if err != nil || list.TotalSize != 4 {
		t.Errorf("tasks of ann = %v, %v, want 4", list, err)
	}
	list, err = h.client.ListTasks(with(t.Context(), "x-api-key", second), &pb.ListTasksRequest{})
	if err != nil || list.TotalSize != 0 {
		t.Errorf("tasks of bob = %v, %v, want none", list, err)
	}
	for name, kv := range map[string][]string{
		"none":  nil,
		"wrong": {"x-api-key", "wrong"},
		"basic": {"authorization", "Basic " + text},
		"two":   {"x-api-key", text, "x-api-key", second},
		"mixed": {"x-api-key", text, "authorization", "Bearer " + second},
	} {
		var header metadata.MD
		_, err := h.client.SendMessage(with(t.Context(), kv...), textRequest("x"), grpc.Header(&header))
		if diff := cmp.Diff(failure{Code: codes.Unauthenticated, Reason: "UNAUTHENTICATED"}, failureOf(t, err)); diff != "" {
			t.Errorf("%s: mismatch (-want +got):\n%s", name, diff)
		}
		const words = "Authentication required: provide X-Api-Key header or a bearer token"
		if got := status.Convert(err).Message(); got != words {
			t.Errorf("%s: message %q, want %q", name, got, words)
		}
		if diff := cmp.Diff(auth.Challenges(), header.Get("www-authenticate")); diff != "" {
			t.Errorf("%s: challenges mismatch (-want +got):\n%s", name, diff)
		}
	}
}
