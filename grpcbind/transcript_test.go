package grpcbind_test

import (
	"regexp"
	"strings"
	"testing"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/status"

	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/testing/grpctest"
	"github.com/parley-a2a/parley/internal/testing/transcript"
)

// TestTranscripts replays the transcripts. A request of gRPC is "CALL method" with metadata for
// headers and a body in ProtoJSON; an answer is the number of the status and the messages, or
// the status with its details.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Suite{
		Files: "testdata/*.txtar",
		Start: func(t *testing.T, _ transcript.Story) transcript.Server {
			h := start(t, grpcbind.Config{}, mirror, agents{"ask": ask, "plain": mirror})
			// ProtoJSON omits the fraction of a whole second.
			whole := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
			return transcript.Server{Do: h.exchange, Masks: []transcript.Mask{{Name: "$TIME", Pattern: whole}}}
		},
	}.Run(t)
}

// exchange makes a call of a transcript.
func (h *hub) exchange(r transcript.Request) transcript.Response {
	h.t.Helper()
	if r.Method != "CALL" {
		h.t.Fatalf("%s is no call", r.Method)
	}
	ctx := h.t.Context()
	for _, header := range r.Headers {
		name, value, _ := strings.Cut(header, ": ")
		ctx = with(ctx, name, value)
	}
	var lines []string
	c := grpctest.Client{Conn: h.conn, Service: pb.File_a2av1_proto.Services().ByName("A2AService")}
	err := c.Call(ctx, r.Path, r.Body, func(line string) bool {
		lines = append(lines, line)
		return true
	})
	if err != nil {
		lines = append(lines, grpctest.Status(err))
	}
	return transcript.Response{Code: int(status.Code(err)), Body: strings.Join(lines, "\n")}
}
