package relays

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

const (
	needed  = "urn:x:needed"
	offered = "urn:x:offered"
	unknown = "urn:x:unknown"
)

// demanding is a peer that answers only callers that name its required extension.
func demanding(t *testing.T) *peer {
	return (&peer{
		card:     `,"capabilities":{"streaming":true,"extensions":[{"uri":"urn:x:needed","required":true},{"uri":"urn:x:offered"}]}`,
		confirms: needed + ", " + offered,
		refuse: func(h http.Header) string {
			if !strings.Contains(h.Get("A2A-Extensions"), needed) {
				return `{"code":-32008,"message":"` + needed + ` is required"}`
			}
			return ""
		},
	}).start(t)
}

// TestExtensionsReachThePeer: the extensions that a caller names reach the remote agent, and
// the answer confirms those that the agent confirms. A caller can use a required extension
// through the hub, on every binding.
func TestExtensionsReachThePeer(t *testing.T) {
	t.Parallel()
	p := demanding(t)
	grpcAddr := hubtest.Addr(t)
	hub := hubtest.Start(t, hubtest.Options{
		Flags:  []string{"--grpc-listen", grpcAddr},
		Config: fmt.Sprintf("agents_builtin: false\nagents:\n  - {name: far, url: %q}\n", p.url),
	})
	const body = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}`
	want := needed + "," + offered
	awaitCard(t, hub.URL(), "far", needed)
	for _, tt := range []struct{ name, url, body, header string }{
		{"blocking", "/v1/a2a/far/message:send", body, "A2A-Extensions"},
		{"streaming", "/v1/a2a/far/message:stream", body, "A2A-Extensions"},
		{"v0.3", "/a2a/far", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]}}}`, "X-A2A-Extensions"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := len(p.all())
			resp, err := hubtest.Do(t.Context(), hubtest.Request{URL: hub.URL() + tt.url, Body: tt.body, Header: []string{tt.header, needed + ", " + unknown + ", " + offered}})
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := io.Copy(io.Discard, resp.Body); err != nil { // a stream begins before the hub calls the agent
				t.Fatal(err)
			}
			if got := resp.Header.Get(tt.header); resp.StatusCode != http.StatusOK || got != want {
				t.Errorf("%s: the answer confirms %q, want %q", resp.Status, got, want)
			}
			wantAsked(t, p, before)
		})
	}
	t.Run("gRPC", func(t *testing.T) {
		before := len(p.all())
		conn, err := grpc.NewClient(grpcAddr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		ctx := metadata.AppendToOutgoingContext(t.Context(), "a2a-version", "1.0", "a2a-extensions", needed+","+unknown+","+offered)
		var header metadata.MD
		_, err = pb.NewA2AServiceClient(conn).SendMessage(ctx, &pb.SendMessageRequest{Tenant: "far", Message: &pb.Message{
			MessageId: "m", Role: pb.Role_ROLE_USER, Parts: []*pb.Part{{Content: &pb.Part_Text{Text: "hi"}}},
		}}, grpc.Header(&header))
		if got := strings.Join(header.Get("a2a-extensions"), ","); err != nil || got != want {
			t.Errorf("SendMessage = %v, the header confirms %q, want %q", err, got, want)
		}
		wantAsked(t, p, before)
	})
	t.Run("not met", func(t *testing.T) {
		before := len(p.all())
		err := hubtest.Call(t.Context(), hubtest.Request{URL: hub.URL() + "/v1/a2a/far/message:send", Body: body, Header: []string{"A2A-Extensions", offered}}, nil)
		if err == nil || !strings.Contains(err.Error(), needed) || !strings.Contains(err.Error(), "EXTENSION_SUPPORT_REQUIRED") {
			t.Errorf("without the extension: %v, want EXTENSION_SUPPORT_REQUIRED that names it", err)
		}
		if n := len(p.all()); n != before {
			t.Errorf("the agent was asked %d times", n-before)
		}
	})
}

// wantAsked checks that the peer got one more request, with the caller's extensions.
func wantAsked(t *testing.T, p *peer, before int) {
	t.Helper()
	asked := p.all()
	if len(asked) != before+1 {
		t.Fatalf("the agent was asked %d times, want once", len(asked)-before)
	}
	if got, want := asked[before].header.Get("A2A-Extensions"), needed+","+unknown+","+offered; got != want {
		t.Errorf("the agent was told of %q, want %q", got, want)
	}
}

// awaitCard waits until the hub has read an agent's card that contains a text.
func awaitCard(t *testing.T, hub, agent, text string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		var card json.RawMessage
		if err := hubtest.Call(t.Context(), hubtest.Request{URL: hub + "/a2a/" + agent + "/.well-known/agent-card.json"}, &card); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(card), text) {
			return
		}
	}
	t.Fatalf("the hub has not read the card of agent %s", agent)
}
