package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/peer"
	"github.com/parley-a2a/parley/internal/tasktree"
)

// lister returns the address of a server whose card declares extension. To GetTask it answers with a
// task whose list of tasks is read, or not before the request is given up if that is empty.
func lister(t *testing.T, extension, list string) string {
	t.Helper()
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	mux.HandleFunc("GET /.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"name":"lister","description":"d","version":"1","capabilities":{"extensions":[{"uri":%q}]},`+
			`"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[],`+
			`"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, extension, srv.URL+"/rpc")
	})
	mux.HandleFunc("POST /rpc", func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			ID     json.RawMessage
			Method string
			Params struct{ ID string }
		}
		err := json.NewDecoder(r.Body).Decode(&asked)
		if err != nil || asked.Method != "GetTask" || asked.Params.ID != "there" || r.Header.Get("A2A-Extensions") != card.TaskTree {
			t.Errorf("the server is asked for %+v with %q, %v", asked, r.Header.Get("A2A-Extensions"), err)
		}
		if list == "" {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"id":"there","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"metadata":{%q:%s}}}`, asked.ID, card.TaskTree, list)
	})
	return srv.URL
}

// TestReadTree reads lists over the wire: a good one, one that is too large, and one of a server that
// hangs, which the reader gives up after three seconds although it may take longer.
func TestReadTree(t *testing.T) {
	t.Parallel()
	const good = `{"tasks":[{"id":"x"}]}`
	const there = `{"key":"k","task":"there"}`
	for name, tt := range map[string]struct {
		extension, list, checkpoint, want string
		err                               error
		after                             time.Duration
	}{
		"a list":        {card.TaskTree, good, there, good, nil, 0},
		"not declared":  {"urn:x:other", good, there, "", nil, 0},
		"no task yet":   {card.TaskTree, good, `{"key":"k"}`, "", tasktree.ErrEarly, 0},
		"nearly full":   {card.TaskTree, `"` + strings.Repeat("x", 255<<10) + `"`, there, `"` + strings.Repeat("x", 255<<10) + `"`, nil, 0},
		"too large":     {card.TaskTree, `"` + strings.Repeat("x", 256<<10) + `"`, there, "", peer.ErrTooLarge, 0},
		"far too large": {card.TaskTree, `"` + strings.Repeat("x", 50<<20) + `"`, there, "", peer.ErrTooLarge, 0},
		"a hang":        {card.TaskTree, "", there, "", context.DeadlineExceeded, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &remote.Agent{URL: lister(t, tt.extension, tt.list)}
			t.Cleanup(func() { _ = a.Close() })
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			got, err := a.ReadTree(ctx, []byte(tt.checkpoint))
			if string(got) != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("ReadTree returns %d bytes, %v, want %d, %v", len(got), err, len(tt.want), tt.err)
			}
			if took := time.Since(began); took < tt.after || ctx.Err() != nil {
				t.Errorf("ReadTree took %v, want %v", took, tt.after)
			}
		})
	}
}
