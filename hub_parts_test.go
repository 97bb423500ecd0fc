package parley_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

// printer returns the bytes or the text of a message as a file.
type printer struct{ shout }

func (printer) Execute(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		sent, ok := ec.Message.Parts[0].Content.(a2a.Raw)
		if !ok {
			sent = a2a.Raw(strings.Repeat(ec.Message.Parts[0].Text(), 1000))
		}
		page := &a2a.Part{Content: sent, Filename: "page.bin", MediaType: "application/octet-stream"}
		if yield(a2a.NewArtifactEvent(ec, page), nil) {
			yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil), nil)
		}
	}
}

// Large parts are stored as files in a folder, and callers receive an address to read them.
func ExampleOpenBlobs() {
	folder, err := os.MkdirTemp("", "parts")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	parts, err := parley.OpenBlobs(folder, parley.BlobOptions{Threshold: 1000})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer parts.Close()
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	defer srv.Close()
	hub := &parley.Hub{Blobs: parts, PublicURL: srv.URL}
	hub.Handle(&a2a.AgentCard{Name: "Printer", Version: "1.0.0"}, printer{})
	mux.Handle("/", hub.Handler())
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- hub.Run(ctx) }()

	c, err := client.Dial(ctx, srv.URL, client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := c.Send(ctx, &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("0123456789"))})
	if err != nil {
		fmt.Println(err)
		return
	}
	page := r.(*a2a.Task).Artifacts[0].Parts[0]
	body, err := c.Open(ctx, page)
	if err != nil {
		fmt.Println(err)
		return
	}
	read, err := io.ReadAll(body)
	fmt.Println(strings.HasPrefix(string(page.URL()), srv.URL+"/v1/parts/"), len(read), err, body.Close())

	c.Close()
	stop()
	fmt.Println(<-done)
	// Output:
	// true 10000 <nil> <nil>
	// <nil>
}

// hubOfParts serves a printer with a folder of parts until stop is called.
func hubOfParts(t *testing.T, hub *parley.Hub) (c *client.Client, stop func()) {
	t.Helper()
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	hub.PublicURL = srv.URL
	hub.Handle(&a2a.AgentCard{Name: "Printer", Version: "1.0.0"}, printer{})
	mux.Handle("/", hub.Handler())
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := hub.Run(ctx); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	c, err := client.Dial(t.Context(), srv.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		c.Close()
		cancel()
		running.Wait()
		srv.Close()
	})
	t.Cleanup(stop)
	return c, stop
}

// TestHubKeepsLargeParts checks that the agent receives bytes and the caller an address, that
// another hub with the same folder and store serves the address, and that files are no larger
// than their content.
func TestHubKeepsLargeParts(t *testing.T) {
	t.Parallel()
	dir, store := filepath.Join(t.TempDir(), "parts"), new(memstore.Store)
	open := func(threshold int64) *parley.Blobs {
		t.Helper()
		p, err := parley.OpenBlobs(dir, parley.BlobOptions{Threshold: threshold, Max: 1 << 20, Expiry: 48 * time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	parts := open(0)
	if _, err := parley.OpenBlobs(dir, parley.BlobOptions{}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("the folder is opened twice: %v", err)
	}
	c, stop := hubOfParts(t, &parley.Hub{Store: store, Blobs: parts, Limits: parley.Limits{Retention: time.Hour, Body: 8 << 20}})
	send := func(size int) (*a2a.Task, error) {
		raw := &a2a.Part{Content: a2a.Raw(bytes.Repeat([]byte{7}, size))}
		r, err := c.Send(t.Context(), &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, raw)})
		if err != nil {
			return nil, err
		}
		return r.(*a2a.Task), nil
	}
	read := func(p *a2a.Part) int {
		t.Helper()
		r, err := c.Open(t.Context(), p)
		if err != nil {
			t.Errorf("open %s: %v", p.URL(), err)
			return 0
		}
		defer r.Close()
		n, err := io.Copy(io.Discard, r)
		if err != nil {
			t.Error(err)
		}
		return int(n)
	}
	small, err := send(1 << 20)
	if err != nil || len(small.Artifacts[0].Parts[0].Raw()) != 1<<20 {
		t.Errorf("what is not above the threshold is not given as bytes: %v", err)
	}
	parts.Close()
	stop()

	parts = open(1000)
	c, stop = hubOfParts(t, &parley.Hub{Store: store, Blobs: parts, Limits: parley.Limits{Retention: time.Hour, Body: 8 << 20}})
	large, err := send(5000)
	if err != nil {
		t.Fatal(err)
	}
	page := large.Artifacts[0].Parts[0]
	if n := read(page); n != 5000 {
		t.Errorf("%d bytes at %s, want 5000", n, page.URL())
	}
	mark, _ := page.Metadata["parley.part"].(map[string]any)
	if got := fmt.Sprint(mark["keptSeconds"]); got != "3600" {
		t.Errorf("the part is kept for %s seconds, want those of the task", got)
	}
	if _, err := send(2 << 20); err == nil || !strings.Contains(err.Error(), "1048576") {
		t.Errorf("a part that is larger than Max: %v", err)
	}
	stop()
	parts.Close()

	parts = open(-1)
	defer parts.Close()
	hub := &parley.Hub{Store: store, Blobs: parts}
	c, stop = hubOfParts(t, hub)
	defer stop()
	again, err := c.Get(t.Context(), &a2a.GetTaskRequest{ID: large.ID})
	if err != nil {
		t.Fatal(err)
	}
	_, place, _ := strings.Cut(string(again.Artifacts[0].Parts[0].URL()), "/v1/parts/")
	if n := read(&a2a.Part{Content: a2a.URL(hub.PublicURL + "/v1/parts/" + place)}); n != 5000 {
		t.Errorf("%d bytes from the next hub, want 5000", n)
	}
	if more, err := send(5000); err != nil || len(more.Artifacts[0].Parts[0].Raw()) != 5000 {
		t.Errorf("with a negative threshold a part is kept as a file: %v", err)
	}
}
