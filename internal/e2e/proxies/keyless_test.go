package proxies

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// marks are headers by which proxies mark the requests that they forward.
var marks = []string{
	"X-Forwarded-For: 203.0.113.5", "X-Forwarded-Proto: https", "X-Forwarded-Host: agents.example",
	"Forwarded: for=203.0.113.5", "X-Real-IP: 203.0.113.5", "Via: 1.1 proxy",
}

// surfaces are requests that a hub without keys answers on its own machine, and the beginnings of its
// refusals.
var surfaces = []struct{ name, method, path, body, header, refusal string }{
	{"JSON-RPC", "POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`, "A2A-Version: 1.0", `{"jsonrpc":"2.0",`},
	{"JSON-RPC of v0.3", "POST", "/", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"x"}}`, "A2A-Version: 0.3", `{"jsonrpc":"2.0",`},
	{"HTTP+JSON", "GET", "/v1/a2a/tasks", "", "A2A-Version: 1.0", `{"error":{"code":403,`},
	{"card", "GET", "/.well-known/agent-card.json", "", "A: b", `{"error":{"code":403,`},
	{"OpenAI", "GET", "/v1/models", "", "A: b", `{"error":{`},
	{"AG-UI", "GET", "/ag-ui", "", "A: b", `{`},
	{"MCP", "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Accept: application/json, text/event-stream", `{"error":{`},
	{"/api/v1", "GET", "/api/v1/agents", "", "A: b", `{"error":{"code":403,`},
	{"console", "GET", "/console/", "", "A: b", "this hub has no keys"},
}

// TestKeylessHubRefusesProxies: a hub without keys serves its own machine, and no request that a proxy has
// forwarded.
func TestKeylessHubRefusesProxies(t *testing.T) {
	t.Parallel()
	grpcAddr := testenv.Addr(t)
	h := hubtest.Start(t, hubtest.Options{Flags: []string{"--grpc-listen", grpcAddr}, Config: "public_url: https://agents.example\nallowed_hosts: [other.example]\ntrust_forwarded: true\n"})
	for _, s := range surfaces {
		if code, body := ask(t, h, s.method+" "+s.path, s.body, s.header); code == http.StatusForbidden {
			t.Errorf("%s, directly: %d %s", s.name, code, body)
		}
		for _, mark := range marks {
			code, body := ask(t, h, s.method+" "+s.path, s.body, s.header, mark)
			name, _, _ := strings.Cut(mark, ":")
			if code != http.StatusForbidden || !strings.HasPrefix(body, s.refusal) || !strings.Contains(body, "parley keys add") ||
				!strings.Contains(strings.ToLower(body), "header "+strings.ToLower(name)) {
				t.Errorf("%s, %s: %d %s", s.name, mark, code, body)
			}
		}
		// A proxy that leaves no mark may keep Host.
		for _, host := range []string{"agents.example", "other.example"} {
			if code, body := ask(t, h, s.method+" "+s.path, s.body, s.header, "Host: "+host); code != http.StatusForbidden || !strings.Contains(body, "parley keys add") {
				t.Errorf("%s, host %s: %d %s", s.name, host, code, body)
			}
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body := ask(t, h, "GET "+path, "", marks[0], "Host: agents.example"); code != http.StatusOK {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	conn, err := grpc.NewClient(grpcAddr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	named, err := grpc.NewClient(grpcAddr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("agents.example"))
	if err != nil {
		t.Fatal(err)
	}
	defer named.Close()
	if _, err := pb.NewA2AServiceClient(named).ListTasks(t.Context(), new(pb.ListTasksRequest)); status.Code(err) != codes.PermissionDenied {
		t.Errorf("gRPC, authority agents.example: %v", err)
	}
	for _, mark := range append([]string{"a: b"}, marks...) {
		name, value, _ := strings.Cut(mark, ": ")
		want := codes.PermissionDenied
		if name == "a" {
			want = codes.OK
		}
		_, err := pb.NewA2AServiceClient(conn).ListTasks(metadata.AppendToOutgoingContext(t.Context(), name, value), new(pb.ListTasksRequest))
		if got := status.Convert(err); got.Code() != want || err != nil && !strings.Contains(got.Message(), "parley keys add") {
			t.Errorf("gRPC, %s: %v", mark, err)
		}
	}
}

// TestKeylessHubBehindProxies: a hub without keys refuses what each proxy of the page forwards.
func TestKeylessHubBehindProxies(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{})
	for i := range proxies {
		p := &proxies[i]
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			s := p.start(t, h, "", func(text string) string { return text })
			if code, body, _ := s.do(t, s.client(t, true), http.MethodGet, "/v1/models", "", ""); code != http.StatusForbidden || !strings.Contains(body, "parley keys add") {
				t.Errorf("HTTP: %d %s", code, body)
			}
			ctx, conn := s.dialGRPC(t)
			if _, err := pb.NewA2AServiceClient(conn).ListTasks(ctx, new(pb.ListTasksRequest)); status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "parley keys add") {
				t.Errorf("gRPC: %v", err)
			}
		})
	}
}

// TestProxyThatAuthenticates: with allow_anonymous a hub without keys serves requests that a proxy
// forwards, but their callers are no administrators.
func TestProxyThatAuthenticates(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{Config: "allow_anonymous: true\n"})
	for _, s := range surfaces {
		if code, body := ask(t, h, s.method+" "+s.path, s.body, s.header, marks[0], "Host: agents.example"); code == http.StatusForbidden {
			t.Errorf("%s: %d %s", s.name, code, body)
		}
	}
	for _, mark := range marks {
		if code, body := ask(t, h, "GET /api/v1/keys", "", mark); code != http.StatusForbidden {
			t.Errorf("keys, %s: %d %s", mark, code, body)
		}
	}
}

// TestNamesOfAKeyedHub: a hub with keys answers to its public address and to further names, and with a valid
// key to every name.
func TestNamesOfAKeyedHub(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{Config: "public_url: https://agents.example\nallowed_hosts: [other.example]\nauth: {api_keys: {" + key + ": {agent_id: me}}}\n"})
	for _, s := range surfaces {
		for host, want := range map[string]bool{"agents.example": true, "other.example": true, "evil.example": s.name != "console"} {
			headers := []string{s.header, "Host: " + host, marks[0]}
			if s.name != "console" {
				headers = append(headers, "Authorization: Bearer "+key)
			}
			if code, body := ask(t, h, s.method+" "+s.path, s.body, headers...); (code != http.StatusForbidden) != want {
				t.Errorf("%s, host %s: %d %s", s.name, host, code, body)
			}
		}
		if code, body := ask(t, h, s.method+" "+s.path, s.body, s.header, "Host: evil.example"); code != http.StatusForbidden || !strings.Contains(body, "public_url") {
			t.Errorf("%s, host evil.example without a key: %d %s", s.name, code, body)
		}
		if code, body := ask(t, h, s.method+" "+s.path, s.body, s.header, "Origin: https://evil.example", "Authorization: Bearer "+key); code != http.StatusForbidden {
			t.Errorf("%s, a page elsewhere: %d %s", s.name, code, body)
		}
	}
}

// ask sends a request with headers, "Name: value".
func ask(t *testing.T, h *hubtest.Hub, line, body string, headers ...string) (int, string) {
	t.Helper()
	method, path, _ := strings.Cut(line, " ")
	r, err := http.NewRequestWithContext(t.Context(), method, h.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, each := range headers {
		name, value, _ := strings.Cut(each, ": ")
		r.Header.Set(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	code, answered, _ := answer(t, client, r)
	return code, answered
}

// TestRefusalOfALargeRequestArrives: a client that sends its whole request before it reads gets the
// refusal of a request that the hub does not read.
func TestRefusalOfALargeRequestArrives(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{Config: "limits: {body: 1MB}\nauth: {api_keys: {" + key + ": {agent_id: me}}}\n"})
	const size = 24 << 20
	for _, tt := range []struct{ line, headers, want string }{
		{"POST /a2a", "Authorization: Bearer " + key + "\r\nA2A-Version: 1.0\r\n", "413"},
		{"POST /a2a", "", "401"},
		{"POST /a2a", "Origin: https://evil.example\r\n", "403"},
		{"POST /v1/a2a/message:send", "Authorization: Bearer " + key + "\r\n", "413"},
		{"POST /v1/chat/completions", "Authorization: Bearer " + key + "\r\n", "413"},
		{"POST /mcp", "Authorization: Bearer " + key + "\r\nAccept: application/json, text/event-stream\r\n", "413"},
		{"POST /api/v1/inbox/x", "Authorization: Bearer " + key + "\r\n", "4"},
		{"POST /nowhere", "", "404"},
		{"POST /console/sign-in", "", "4"},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %s chunked %t", tt.line, tt.want, chunked), func(t *testing.T) {
				t.Parallel()
				if got := sendsFirst(t, h, tt.line+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+tt.headers, size, chunked); !strings.HasPrefix(got, "HTTP/1.1 "+tt.want) {
					t.Errorf("answered %q, want %s", got, tt.want)
				}
			})
		}
	}
}

// sendsFirst sends a request with a body of that size, and then reads the first line of the answer.
func sendsFirst(t *testing.T, h *hubtest.Hub, head string, size int, chunked bool) string {
	t.Helper()
	piece, end := strings.Repeat("x", 1<<20), ""
	head += fmt.Sprintf("Content-Length: %d\r\n\r\n", size)
	if chunked {
		head = strings.Replace(head, fmt.Sprintf("Content-Length: %d", size), "Transfer-Encoding: chunked", 1)
		piece, end = fmt.Sprintf("%x\r\n%s\r\n", len(piece), piece), "0\r\n\r\n"
	}
	conn, err := net.Dial("tcp", h.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stop := context.AfterFunc(t.Context(), func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	send := func(text string) {
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatalf("send: %v", err)
		}
	}
	send(head)
	for range size >> 20 {
		send(piece)
	}
	if end != "" {
		send(end)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return line
}
