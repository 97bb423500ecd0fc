package peer_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/peer"
	"github.com/parley-a2a/parley/internal/outbound/transport"
)

var update = flag.Bool("update", false, "write the transcripts again")

// tape records the requests of a test and answers each with a working task.
type tape struct{ files []txtar.File }

func (p *tape) RoundTrip(r *http.Request) (*http.Response, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s\n", r.Method, r.URL.RequestURI())
	var names []string
	for name := range r.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%s: %s\n", name, r.Header.Get(name))
	}
	if r.Body != nil {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(&b, "\n%s\n", body)
	}
	p.files[len(p.files)-1].Data = append(p.files[len(p.files)-1].Data, b.Bytes()...)
	answer := `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}`
	switch {
	case strings.HasSuffix(r.URL.Path, "/tasks/send"):
		answer = `{"taskId":"m","contextId":"c","state":"Completed"}`
	case strings.Contains(r.URL.Path, "message:"):
		answer = `{"task":` + answer + `}`
	case !strings.Contains(r.URL.Path, "/tasks"):
		answer = `{"jsonrpc":"2.0","id":"1","result":` + answer + `}`
	}
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(answer)), Request: r,
	}, nil
}

// TestWire compares the traffic in each dialect with its recording.
func TestWire(t *testing.T) {
	t.Parallel()
	const message = `{"message":{"messageId":"m","role":"ROLE_USER","contextId":"c","parts":[{"text":"hello"},{"data":7},` +
		`{"raw":"AAEC","filename":"f.bin","mediaType":"x/y"}],"metadata":{"skill":"greet"}},` +
		`"configuration":{"returnImmediately":true,"historyLength":3},"metadata":{"correlationId":"corr"}}`
	for _, w := range tongues {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			p := &tape{}
			one := w.dial(t, "http://agent.test", "bob", peer.Options{HTTP: &http.Client{Transport: p}, Idempotent: true})
			ctx := t.Context()
			two := 2
			for _, call := range []struct {
				name string
				make func() error
			}{
				{"send", func() error { _, err := one.Send(ctx, []byte(message)); return err }},
				{"stream", func() error {
					for range one.Stream(ctx, []byte(message)) {
						break
					}
					return nil
				}},
				{"subscribe", func() error {
					for range one.Subscribe(ctx, transport.Position{Task: "t", EventID: "5"}) {
						break
					}
					return nil
				}},
				{"get", func() error { _, err := one.Get(ctx, "t", &two); return err }},
				{"cancel", func() error { _, err := one.Cancel(ctx, a2a.TaskID("t"), nil); return err }},
				{"cancel with metadata", func() error {
					_, err := one.Cancel(ctx, a2a.TaskID("t"), []byte(`{"why":1.50}`))
					return err
				}},
			} {
				p.files = append(p.files, txtar.File{Name: call.name})
				if err := call.make(); err != nil {
					p.files[len(p.files)-1].Data = append(p.files[len(p.files)-1].Data, "error: "+err.Error()+"\n"...)
				}
			}
			compare(t, w, p.files)
		})
	}
}

func compare(t *testing.T, w tongue, files []txtar.File) {
	t.Helper()
	name := filepath.Join("testdata", "wire-"+strings.ReplaceAll(w.name, " ", "-")+".txtar")
	got := txtar.Format(&txtar.Archive{Comment: []byte("What is sent to an agent that speaks " + w.name + ".\n\n"), Files: files})
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
	if w.binding == card.TaskSend && !strings.Contains(string(got), "not in the dialect") {
		t.Error("a job can do what it cannot")
	}
}
