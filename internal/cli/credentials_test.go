package cli

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/parley-a2a/parley/internal/testing/tlstest"
	"github.com/parley-a2a/parley/internal/testing/tokentest"
)

// leaver is a caller whose credentials end while its streams are open. One of key and cert is set.
type leaver struct {
	*tlsHub
	key  string
	cert *tlstest.Pair
	web  *http.Client
	// browser has the cookie of the console.
	browser *http.Client
	// open are the open streams by their names. A channel is closed at the end of its stream.
	open map[string]chan struct{}
}

// stream opens a stream over HTTP, waits for its beginning, and follows it.
func (l *leaver) stream(name, what, body string, header ...string) {
	l.t.Helper()
	if l.key != "" {
		header = append(header, "Authorization: Bearer "+l.key)
	}
	q := httpQuery{web: l.web, at: l.URL(), what: what, body: body, header: append(header, "A2A-Version: 1.0")}
	resp, err := q.ask(l.t.Context())
	if err != nil {
		l.t.Fatalf("%s: %v", name, err)
	}
	l.follow(name, resp)
}

// call makes a call over HTTP whose answer may begin only with its first event.
func (l *leaver) call(name, what, body string, header ...string) {
	l.t.Helper()
	if l.key != "" {
		header = append(header, "Authorization: Bearer "+l.key)
	}
	q := httpQuery{web: l.web, at: l.URL(), what: what, body: body, header: header}
	ended := make(chan struct{})
	l.open[name] = ended
	go func() {
		defer close(ended)
		resp, err := q.ask(l.t.Context())
		if err != nil {
			return
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
	}()
}

func (l *leaver) follow(name string, resp *http.Response) {
	l.t.Helper()
	l.t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		b, _ := io.ReadAll(resp.Body)
		l.t.Fatalf("%s: %s %s", name, resp.Status, b)
	}
	ended := make(chan struct{})
	l.open[name] = ended
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, resp.Body)
	}()
}

// task begins a task of ten minutes with a webhook and returns its id.
func (l *leaver) task(hook string) string {
	l.t.Helper()
	body := fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":"600"}]},"configuration":{"returnImmediately":true,"taskPushNotificationConfig":{"url":%q}}}`, rand(), hook)
	header := []string{"A2A-Version: 1.0"}
	if l.key != "" {
		header = append(header, "X-Api-Key: "+l.key)
	}
	q := httpQuery{web: l.web, at: l.URL(), what: "POST /v1/a2a/slow/message:send", body: body, header: header}
	resp, text := q.answered(l.t)
	var got struct{ Task struct{ ID string } }
	if err := json.Unmarshal([]byte(text), &got); err != nil || got.Task.ID == "" {
		l.t.Fatalf("send: %s %s", resp.Status, text)
	}
	return got.Task.ID
}

func rand() string { return fmt.Sprint(time.Now().UnixNano()) }

// begin opens a stream at each surface.
func (l *leaver) begin(task string) {
	l.t.Helper()
	message := fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":"600"}]}}`, rand())
	l.stream("JSON-RPC", "POST /a2a/slow", rpc("SendStreamingMessage", message))
	l.stream("HTTP+JSON", "POST /v1/a2a/slow/message:stream", strings.Replace(message, `"messageId":"`, `"messageId":"r`, 1))
	l.stream("resubscribe", "POST /a2a", rpc("SubscribeToTask", fmt.Sprintf(`{"id":%q}`, task)))
	l.stream("AG-UI", "POST /ag-ui/slow", `{"threadId":"t`+rand()+`","runId":"r1","state":{},"tools":[],"context":[],"messages":[{"id":"m","role":"user","content":"600"}],"forwardedProps":{}}`)
	l.stream("API", "GET /api/v1/tasks/"+task+"/log/events", "")
	l.mcp()
	l.grpc(task)
	if l.key != "" {
		l.console(task)
	}
}

func (l *leaver) mcp() {
	l.t.Helper()
	const accept = "Accept: application/json, text/event-stream"
	header := []string{accept}
	if l.key != "" {
		header = append(header, "X-Api-Key: "+l.key)
	}
	q := httpQuery{web: l.web, at: l.URL(), what: "POST /mcp", header: header, body: rpc("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)}
	resp, _ := q.answered(l.t)
	session := "Mcp-Session-Id: " + resp.Header.Get("Mcp-Session-Id")
	q.header, q.body = append(header, session), `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	q.answered(l.t)
	l.call("MCP", "POST /mcp", rpc("tools/call", `{"name":"chat_with_agent","arguments":{"agent":"slow","message":"600"}}`), accept, session)
	l.call("MCP notifications", "GET /mcp", "", "Accept: text/event-stream", session)
}

func (l *leaver) grpc(task string) {
	l.t.Helper()
	conn, err := grpc.NewClient(l.About().GRPC, grpc.WithTransportCredentials(credentials.NewTLS(l.config(l.cert))))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { conn.Close() })
	ctx := l.t.Context()
	if l.key != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "x-api-key", l.key)
	}
	s, err := pb.NewA2AServiceClient(conn).SubscribeToTask(ctx, &pb.SubscribeToTaskRequest{Id: task})
	if err == nil {
		_, err = s.Recv()
	}
	if err != nil {
		l.t.Fatalf("gRPC: %v", err)
	}
	ended := make(chan struct{})
	l.open["gRPC"] = ended
	go func() {
		defer close(ended)
		for err == nil {
			_, err = s.Recv()
		}
		if status.Code(err) != codes.Unauthenticated {
			l.t.Errorf("gRPC: the stream ends with %v, want UNAUTHENTICATED", err)
		}
	}()
}

var formToken = regexp.MustCompile(`name="?token"? value="?([^" >]+)`)

// signIn signs in to the console with the key, and returns the answer.
func (l *leaver) signIn() *http.Response {
	l.t.Helper()
	jar, _ := cookiejar.New(nil) // it never fails
	l.browser = &http.Client{Transport: l.web.Transport, Jar: jar}
	q := httpQuery{web: l.browser, at: l.URL(), what: "GET /console/sign-in"}
	_, page := q.answered(l.t)
	found := formToken.FindStringSubmatch(page)
	if found == nil {
		l.t.Fatalf("console: no form in %s", page)
	}
	resp, err := l.browser.PostForm(l.URL()+"/console/sign-in", url.Values{"token": {found[1]}, "key": {l.key}})
	if err != nil {
		l.t.Fatal(err)
	}
	resp.Body.Close()
	return resp
}

// console signs in and opens the page of a task.
func (l *leaver) console(task string) {
	l.t.Helper()
	l.signIn()
	q := httpQuery{web: l.browser, at: l.URL(), what: "GET /console/task/events?id=" + task}
	resp, err := q.ask(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	l.follow("console", resp)
}

// TestCredentialsEnd ends the credentials of a caller in each way while the caller has a stream at
// each surface, and a webhook. All of them end at once, although their tasks take ten minutes; the
// streams of another key of the same caller stay open.
func TestCredentialsEnd(t *testing.T) {
	t.Parallel()
	const configured = "    key-of-the-leaver-0123: {agent_id: leaver, owner: acme}\n"
	h := startTLS(t, ", client_crl: crl.pem", strings.Replace(rulesOfTest, "  api_keys:\n", "  api_keys:\n"+configured+
		"    key-of-the-stayer-0123: {agent_id: stayer, owner: acme}\n", 1)+
		"    - {dns: leaver.acme.example, agent_id: leaver, owner: acme}\npush: {allow: [loopback]}\n")
	admin := h.web(h.config(h.acme.Issue(t, x509.Certificate{DNSNames: []string{"worker.acme.example"}})), true)
	leaving := h.acme.Issue(t, x509.Certificate{DNSNames: []string{"leaver.acme.example"}})
	api := func(what, body string) (text string) {
		t.Helper()
		q := httpQuery{web: admin, at: h.URL(), what: what, body: body}
		resp, text := q.answered(t)
		if resp.StatusCode >= http.StatusBadRequest {
			t.Fatalf("%s: %s %s", what, resp.Status, text)
		}
		return text
	}
	made := func(more string) (key, id string) {
		t.Helper()
		var got struct{ ID, Key string }
		if err := json.Unmarshal([]byte(api("POST /api/v1/keys", `{"agentId":"leaver","owner":"acme"`+more+`}`)), &got); err != nil || got.Key == "" {
			t.Fatalf("key: %v", err)
		}
		return got.Key, got.ID
	}
	revoked, revokedID := made("")
	expiring, expiringID := made("")
	for _, tt := range []struct {
		name, key string
		cert      *tlstest.Pair
		cut       func()
	}{
		{"a revoked key", revoked, nil, func() { api("DELETE /api/v1/keys/"+revokedID, "") }},
		{"a key that expires", expiring, nil, func() { api("DELETE /api/v1/keys/"+expiringID+"?after=300ms", "") }},
		{"a key that is removed from the file", "key-of-the-leaver-0123", nil, func() {
			file := filepath.Join(h.dir, "parley.yaml")
			text, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(file, []byte(strings.Replace(string(text), configured, "", 1)), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}},
		{"a revoked certificate", "", leaving, func() {
			if err := os.WriteFile(filepath.Join(h.dir, "crl.pem"), h.acme.Revoke(t, x509.RevocationList{}, leaving), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			own := *h
			own.t = t
			var posts atomic.Int64
			hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { posts.Add(1) }))
			defer hook.Close()
			l := &leaver{tlsHub: &own, key: tt.key, cert: tt.cert, web: own.web(h.config(tt.cert), true), open: make(map[string]chan struct{})}
			task := l.task(hook.URL)
			l.begin(task)
			stays := &httpQuery{
				web: own.web(h.config(nil), true), at: h.URL(), what: "POST /a2a", body: rpc("SubscribeToTask", fmt.Sprintf(`{"id":%q}`, task)),
				header: []string{"X-Api-Key: key-of-the-stayer-0123", "A2A-Version: 1.0"},
			}
			resp, err := stays.ask(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			events := bufio.NewScanner(resp.Body)
			events.Buffer(nil, 1<<20)
			next := func() {
				for events.Scan() && !strings.HasPrefix(events.Text(), "data:") {
				}
				if events.Err() != nil || events.Text() == "" || strings.Contains(events.Text(), `"error"`) {
					t.Fatalf("the stream of another key has ended: %q %v", events.Text(), events.Err())
				}
			}
			next()
			began := time.Now()
			tt.cut()
			wait, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for name, ended := range l.open {
				select {
				case <-ended:
				case <-wait.Done():
					t.Errorf("%s: the stream is still open after a minute", name)
				}
			}
			t.Logf("all streams have ended after %v", time.Since(began))
			next()
			next()
			before := posts.Load()
			if before == 0 {
				t.Error("the webhook got nothing before")
			}
			next()
			next()
			next()
			if n := posts.Load(); n != before {
				t.Errorf("the webhook got %d notifications more", n-before)
			}
		})
	}
}

// TestTokensAtEverySurface shows tokens that the hub refuses for other reasons than a bad signature:
// one of a key that cannot be read because the issuer is down, and one without the required scope.
func TestTokensAtEverySurface(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	issuer := tokentest.Issuer{Audience: "hub", KID: "k1", Key: tokentest.NewKey(t)}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = w.Write(issuer.KeySet(t))
	}))
	defer srv.Close()
	issuer.URL = srv.URL
	h := startTLS(t, "", fmt.Sprintf(`
agents_builtin: true
auth:
  tokens:
    - {name: corp, issuer: %[1]q, audiences: [hub], keys_url: "%[1]s/keys", required_scopes: [a2a, hub]}
`, srv.URL))
	web := h.web(h.config(nil), true)
	token := func(changes tokentest.Object) string { return issuer.Token(t, issuer.Good(changes)) }
	good := token(tokentest.Object{"scope": "hub a2a"})
	small := token(tokentest.Object{"scope": "a2a"})
	if code, body, err := h.rpc(web, listV1, "Authorization: Bearer "+good); code != http.StatusOK {
		t.Fatalf("the good token: %d %s %v", code, body, err)
	}
	issuer.KID, issuer.Key = "k2", tokentest.NewKey(t)
	unknown := token(tokentest.Object{"scope": "hub a2a"})
	down.Store(true)
	const scope = `Bearer realm="parley", error="insufficient_scope", scope="a2a hub"`
	for name, tt := range map[string]struct{ what, body, unknown, small string }{
		"JSON-RPC":  {"POST /a2a", listV1, `"code":-32603`, `"code":-31403`},
		"streaming": {"POST /a2a", rpc("SendStreamingMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`), `"code":-32603`, `"code":-31403`},
		"HTTP+JSON": {"GET /v1/a2a/tasks", "", `"status":"UNAVAILABLE"`, `"status":"PERMISSION_DENIED"`},
		"API":       {"GET /api/v1/status", "", `"reason":"UNAVAILABLE"`, `"reason":"UNAUTHORIZED"`},
		"MCP":       {"POST /mcp", rpc("initialize", `{}`), "UNAVAILABLE", "UNAUTHORIZED"},
		"AG-UI":     {"POST /ag-ui/echo", `{"threadId":"t","runId":"r","state":{},"tools":[],"context":[],"messages":[{"id":"m","role":"user","content":"x"}],"forwardedProps":{}}`, "keys of the token", "needs the scope"},
	} {
		for _, each := range []struct {
			token, want string
			status      int
		}{{unknown, tt.unknown, http.StatusServiceUnavailable}, {small, tt.small, http.StatusForbidden}} {
			q := httpQuery{web: web, at: h.URL(), what: tt.what, body: tt.body, header: []string{"A2A-Version: 1.0", "Authorization: Bearer " + each.token}}
			resp, body := q.answered(t)
			if resp.StatusCode != each.status || !strings.Contains(body, each.want) {
				t.Errorf("%s: %s %s, want %d with %s", name, resp.Status, body, each.status, each.want)
			}
			if retry := resp.Header.Get("Retry-After"); (retry != "") != (each.status == http.StatusServiceUnavailable) {
				t.Errorf("%s: %s with Retry-After %q", name, resp.Status, retry)
			}
			if challenge := resp.Header.Get("WWW-Authenticate"); (challenge == scope) != (each.status == http.StatusForbidden) {
				t.Errorf("%s: %s with WWW-Authenticate %q", name, resp.Status, challenge)
			}
		}
	}
	l := &leaver{tlsHub: h, web: web}
	for key, want := range map[string]int{unknown: http.StatusServiceUnavailable, small: http.StatusForbidden} {
		l.key = key
		if resp := l.signIn(); resp.StatusCode != want {
			t.Errorf("console: %s, want %d", resp.Status, want)
		}
	}
	conn, err := grpc.NewClient(h.About().GRPC, grpc.WithTransportCredentials(credentials.NewTLS(h.config(nil))))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for key, want := range map[string]codes.Code{unknown: codes.Unavailable, small: codes.PermissionDenied} {
		var header metadata.MD
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+key)
		_, err := pb.NewA2AServiceClient(conn).ListTasks(ctx, &pb.ListTasksRequest{}, grpc.Header(&header))
		if status.Code(err) != want {
			t.Errorf("gRPC: %v, want %s", err, want)
		}
		if got := header.Get("www-authenticate"); (len(got) == 1 && got[0] == scope) != (want == codes.PermissionDenied) {
			t.Errorf("gRPC: %s with www-authenticate %q", want, got)
		}
		retries := false
		for _, d := range status.Convert(err).Details() {
			_, is := d.(*errdetails.RetryInfo)
			retries = retries || is
		}
		if retries != (want == codes.Unavailable) {
			t.Errorf("gRPC: %s with RetryInfo: %v", want, retries)
		}
	}
}
