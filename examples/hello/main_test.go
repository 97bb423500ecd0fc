package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/examples/exampletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestShout serves parley.yaml with the command parley and calls its agent as a user would.
func TestShout(t *testing.T) {
	t.Parallel()
	program := exampletest.Parley(t)
	hub := exampletest.Start(t, program, "serve", "--listen=127.0.0.1:0", "--data="+t.TempDir())
	got, code := exampletest.Run(t, program, "send", "--url="+hub.URL, "--agent=shout", "hello")
	if want := "HELLO"; got != want || code != 0 {
		t.Errorf("parley send --agent shout prints %q and ends with %d, want %q and 0", got, code, want)
	}
}

// TestHello sends a name over JSON-RPC, without a client of Parley.
func TestHello(t *testing.T) {
	t.Parallel()
	var hub parley.Hub
	hub.Handle(&a2a.AgentCard{Name: "hello"}, agent.Func(hello))
	server := httptest.NewServer(hub.Handler())
	defer server.Close()
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() {
		if err := hub.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	})

	const body = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":` +
		`{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"Ada"}]}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Result struct {
			Message struct {
				Parts []struct{ Text string }
			}
		}
		Error json.RawMessage
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	parts := answer.Result.Message.Parts
	if len(parts) != 1 || parts[0].Text != "Hello, Ada!" {
		t.Errorf("SendMessage answered %+v (error %s), want the text %q", answer.Result, answer.Error, "Hello, Ada!")
	}
}
