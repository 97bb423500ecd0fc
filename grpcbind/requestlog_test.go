package grpcbind_test

import (
	"log/slog"
	"regexp"
	"strings"
	"testing"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/grpcbind"
)

// recordLine returns a record as text.
func recordLine(r slog.Record) string {
	line := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	return line
}

// TestCallsAreLogged checks that each call leaves one record at its end, without texts.
func TestCallsAreLogged(t *testing.T) {
	t.Parallel()
	logger, all := records()
	h := start(t, grpcbind.Config{Logger: logger, LogRequests: true, Auth: auth.Anyone()}, words, nil)
	wantRecord := func(want string) {
		t.Helper()
		got := recordLine(<-all)
		if !regexp.MustCompile("^"+want+"$").MatchString(got) || strings.Contains(got, "SECRET") {
			t.Errorf("record %q, want %s", got, want)
		}
	}
	h.send(textRequest("SECRET"))
	wantRecord(`INFO request method=gRPC path=/lf.a2a.v1.A2AService/SendMessage caller=\S+ status=OK bytes=\d{2,} took=\S+`)
	stream, err := h.client.SendStreamingMessage(t.Context(), textRequest("SECRET words"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := drain(stream); err != nil {
		t.Fatal(err)
	}
	wantRecord(`INFO request method=gRPC path=/lf.a2a.v1.A2AService/SendStreamingMessage caller=\S+ status=OK bytes=\d{3,} took=\S+`)
	if _, err := h.client.GetTask(t.Context(), &pb.GetTaskRequest{Id: "nothing"}); err == nil {
		t.Error("GetTask of a missing task = nil")
	}
	wantRecord(`INFO request method=gRPC path=/lf.a2a.v1.A2AService/GetTask caller=\S+ status=NotFound bytes=0 took=\S+`)
}
