package grpcbind_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	pb0 "github.com/a2aproject/a2a-go/a2apb"
	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/testing/grpctest"
	"github.com/parley-a2a/parley/internal/testing/transcript"
)

// TestTranscripts replays the transcripts. A request of gRPC is "CALL method", or "CALL3 method" in
// v0.3, with metadata for headers and a body in ProtoJSON; an answer is the number of the status and the messages, or
// the status with its details.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Suite{
		Files: "testdata/*.txtar",
		Start: func(t *testing.T, s transcript.Story) transcript.Server {
			cfg := grpcbind.Config{}
			if strings.HasSuffix(s.Name, "push") {
				cfg = pushing(cfg)
			}
			refusing := &executor{run: func(_ context.Context, _ *a2asrv.ExecutorContext, yield yielder) {
				yield(nil, a2a.NewError(a2a.ErrUnsupportedContentType, "no poems"))
			}}
			h := start(t, cfg, mirror, agents{"refusing": refusing, "ask": ask, "plain": mirror, "brief": brief, "words": words, "extended": words})
			// ProtoJSON omits the fraction of a whole second.
			whole := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
			token := regexp.MustCompile(`"nextPageToken":"([\w-]+)"`)
			return transcript.Server{Do: h.exchange, Masks: []transcript.Mask{{Name: "$TIME", Pattern: whole}, {Name: "$TOKEN", Pattern: token}}}
		},
	}.Run(t)
}

// exchange makes a call of a transcript.
func (h *hub) exchange(r transcript.Request) transcript.Response {
	h.t.Helper()
	services := map[string]protoreflect.ServiceDescriptor{
		"CALL":  pb.File_a2av1_proto.Services().ByName("A2AService"),
		"CALL3": pb0.File_a2a_proto.Services().ByName("A2AService"),
	}
	ctx := h.t.Context()
	for _, header := range r.Headers {
		name, value, _ := strings.Cut(header, ": ")
		ctx = with(ctx, name, value)
	}
	var lines []string
	c := grpctest.Client{Conn: h.conn, Service: services[r.Method]}
	err := c.Call(ctx, r.Path, r.Body, func(line string) bool {
		lines = append(lines, line)
		return true
	})
	if err != nil {
		lines = append(lines, grpctest.Status(err))
	}
	return transcript.Response{Code: int(status.Code(err)), Body: strings.Join(lines, "\n")}
}
