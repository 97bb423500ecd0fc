package grpcbind_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	pb0 "github.com/a2aproject/a2a-go/a2apb"
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

// TestLargeParts checks that callers over gRPC, of both versions, get addresses in place of
// large parts, and that the official client reads them.
func TestLargeParts(t *testing.T) {
	t.Parallel()
	store, err := blobstore.Open(t.TempDir(), blobstore.Options{Keep: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	keeper := &blobstore.Externalizer{Store: store, Base: "https://hub.example", Threshold: 1000}
	h := start(t, grpcbind.Config{Engine: engine.New(engine.Config{Store: new(memstore.Store), Parts: keeper})}, mirror, nil)
	content := bytes.Repeat([]byte("0123456789"), 1000)
	part := a2a.NewRawPart(content)
	part.Filename, part.MediaType = "a.png", "image/png"
	c := h.sdkClient()
	got, err := c.SendMessage(t.Context(), user(part))
	if err != nil {
		t.Fatal(err)
	}
	task := got.(*a2a.Task)
	again, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID})
	if err != nil {
		t.Fatal(err)
	}
	var streamed *a2a.Part
	for ev, err := range c.SendStreamingMessage(t.Context(), user(part)) {
		if err != nil {
			t.Fatal(err)
		}
		if a, ok := ev.(*a2a.TaskArtifactUpdateEvent); ok {
			streamed = a.Artifact.Parts[0]
		}
	}
	for where, p := range map[string]*a2a.Part{
		"answer": task.Artifacts[0].Parts[0], "history": again.History[0].Parts[0], "task": again.Artifacts[0].Parts[0], "stream": streamed,
	} {
		if p.Filename != "a.png" || p.MediaType != "image/png" || p.Metadata["parley.part"] == nil {
			t.Errorf("%s: %+v", where, p)
		}
		h.wantContent(where, string(p.Content.(a2a.URL)), content)
	}
	old, err := h.legacy().GetTask(t.Context(), &pb0.GetTaskRequest{Name: "tasks/" + string(task.ID)})
	if err != nil {
		t.Fatal(err)
	}
	f := old.GetArtifacts()[0].GetParts()[0].GetFile()
	if f.GetMimeType() != "image/png" {
		t.Errorf("v0.3: %v", f)
	}
	h.wantContent("v0.3", f.GetFileWithUri(), content)
}

// wantContent checks the content that the hub stores for the address of a part.
func (h *hub) wantContent(where, address string, want []byte) {
	h.t.Helper()
	tail, ok := strings.CutPrefix(address, "https://hub.example"+blobstore.PathPrefix)
	id, d, valid := blobstore.ParsePath(tail)
	if !ok || !valid {
		h.t.Fatalf("%s: %q is no address of a part", where, address)
	}
	p, err := h.engine.Part(h.t.Context(), &op.Caller{Principal: &auth.Principal{ID: auth.Local}}, id, d)
	if err != nil {
		h.t.Fatalf("%s: %v", where, err)
	}
	defer p.Close()
	if got, err := io.ReadAll(p); !bytes.Equal(got, want) || err != nil {
		h.t.Errorf("%s: %d bytes, %v", where, len(got), err)
	}
}
