package proxies

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// TestProxies uses a hub through each proxy, at the root of a site and below a path.
func TestProxies(t *testing.T) {
	t.Parallel()
	hubs := map[string]*hubtest.Hub{"": newHub(t, ""), "/parley": newHub(t, "/parley")}
	for i := range proxies {
		p := &proxies[i]
		root, below := lines(t, p.name)
		for _, way := range []struct {
			name, prefix string
			change       func(string) string
		}{
			{"root", "", func(text string) string { return text }},
			{"path", "/parley", func(text string) string { return strings.ReplaceAll(text, root, below) }},
			{"path removed", "/parley", func(text string) string {
				return strings.ReplaceAll(strings.ReplaceAll(text, root, below), "http://127.0.0.1:4100;", "http://127.0.0.1:4100/;")
			}},
		} {
			if way.name == "path removed" && p.name != "nginx" {
				continue
			}
			t.Run(p.name+"/"+way.name, func(t *testing.T) {
				t.Parallel()
				s := p.start(t, hubs[way.prefix], way.prefix, way.change)
				for _, c := range cases {
					t.Run(c.name, func(t *testing.T) {
						t.Parallel()
						c.run(t, s)
					})
				}
			})
		}
	}
}

// cases are the uses of a hub through each proxy.
var cases = []struct {
	name string
	run  func(*testing.T, *site)
}{
	{"probes", probes},
	{"card", card},
	{"blocking", blocking},
	{"blocking for long", blockingForLong},
	{"stream over HTTP1", func(t *testing.T, s *site) { s.stream(t, s.client(t, false)) }},
	{"stream over HTTP2", func(t *testing.T, s *site) { s.stream(t, s.client(t, true)) }},
	{"gRPC", unary},
	{"stream over gRPC", streamOverGRPC},
	{"console", console},
	{"MCP", mcpTools},
}

func probes(t *testing.T, s *site) {
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body, _ := s.do(t, s.client(t, true), http.MethodGet, path, "", ""); code != http.StatusOK {
			t.Errorf("%s = %d %s", path, code, body)
		}
	}
}

func card(t *testing.T, s *site) {
	_, body, _ := s.do(t, s.client(t, true), http.MethodGet, "/a2a/echo/.well-known/agent-card.json", "", "")
	var card struct {
		SupportedInterfaces []struct{ URL string }
	}
	if err := json.Unmarshal([]byte(body), &card); err != nil || len(card.SupportedInterfaces) != 3 {
		t.Fatalf("card %s: %v", body, err)
	}
	if got := card.SupportedInterfaces[2].URL; got != "https://"+host {
		t.Errorf("the card names gRPC as %s", got)
	}
	for _, i := range card.SupportedInterfaces[:2] {
		if !strings.HasPrefix(i.URL, s.url+"/") {
			t.Errorf("the card names %s, want an address below %s", i.URL, s.url)
		}
	}
}

func blocking(t *testing.T, s *site) {
	for path, body := range map[string]string{
		"/a2a/echo":                 rpc("SendMessage", "hello"),
		"/v1/a2a/echo/message:send": `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}}`,
	} {
		code, got, _ := s.do(t, s.client(t, true), http.MethodPost, path, "application/json", body)
		if code != http.StatusOK || !strings.Contains(got, "TASK_STATE_COMPLETED") && !strings.Contains(got, `"hello"`) {
			t.Errorf("%s = %d %s", path, code, got)
		}
	}
}

// blockingForLong waits for an answer for longer than a proxy waits by default.
func blockingForLong(t *testing.T, s *site) {
	code, got, _ := s.do(t, s.client(t, true), http.MethodPost, "/a2a/silent", "application/json", rpc("SendMessage", "hello"))
	if code != http.StatusOK || !strings.Contains(got, "late") {
		t.Errorf("after %s s: %d %s", silence, code, got)
	}
}

func rpc(method, text string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"` + text + `"}]}}}`
}

// stream reads a stream whose agent says nothing for longer than a proxy keeps idle connections by
// default. Its first event arrives while the agent works.
func (s *site) stream(t *testing.T, client *http.Client) {
	resp, err := client.Do(s.request(t, http.MethodPost, "/a2a/silent", "application/json", rpc("SendStreamingMessage", "hello")))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	id, all := "", ""
	for e, err := range hubtest.Events(resp.Body) {
		if err != nil {
			if err != io.EOF { //nolint:errorlint // hubtest does not wrap it
				t.Errorf("the stream broke: %v", err)
			}
			break
		}
		all += e.Data + "\n"
		if id != "" {
			continue
		}
		var first struct {
			Result struct{ Task struct{ ID string } }
		}
		if err := json.Unmarshal([]byte(e.Data), &first); err != nil || first.Result.Task.ID == "" {
			t.Fatalf("first event %s: %v", e.Data, err)
		}
		id = first.Result.Task.ID
		if _, now, _ := s.do(t, client, http.MethodGet, "/v1/a2a/tasks/"+id, "", ""); strings.Contains(now, "COMPLETED") {
			t.Errorf("the first event came after the end of the task: %s", now)
		}
	}
	if !strings.Contains(all, "late") || !strings.Contains(all, "TASK_STATE_COMPLETED") {
		t.Errorf("the stream is %s", all)
	}
}

// address finds the addresses in a page.
var address = regexp.MustCompile(` (href|src|action|data-[a-z]+)="(/[^"]*)"`)

// console signs in as a browser does, follows the addresses of the page, sends a form and reads a
// stream.
func console(t *testing.T, s *site) {
	client := s.client(t, true)
	code, form, at := s.browse(t, client, http.MethodGet, "/console/", nil)
	if code != http.StatusOK || at.Path != s.prefix+"/console/sign-in" {
		t.Fatalf("the console = %d at %s", code, at)
	}
	code, overview, at := s.browse(t, client, http.MethodPost, "/console/sign-in", url.Values{"token": {token(t, form)}, "key": {key}})
	if code != http.StatusOK || at.Path != s.prefix+"/console/" || !strings.Contains(overview, "Sign out") {
		t.Fatalf("after signing in: %d at %s\n%s", code, at, overview)
	}
	outside, _ := url.Parse("https://" + host + "/other")
	if all := client.Jar.Cookies(outside); len(all) > 0 {
		t.Errorf("the browser sends %v to %s", all, outside)
	}
	for _, m := range address.FindAllStringSubmatch(overview, -1) {
		if !strings.HasPrefix(m[2], s.prefix+"/console/") {
			t.Errorf("the page has %s=%q, want an address below %s/console/", m[1], m[2], s.prefix)
			continue
		}
		to := strings.ReplaceAll(strings.TrimPrefix(m[2], s.prefix), "&amp;", "&")
		if m[1] == "data-counts" {
			s.readsEvent(t, client, to)
		} else if m[1] != "action" {
			if code, body, _ := s.browse(t, client, http.MethodGet, to, nil); code != http.StatusOK {
				t.Errorf("%s = %d %s", to, code, body)
			}
		}
	}
	_, form, _ = s.browse(t, client, http.MethodGet, "/console/try?agent=echo", nil)
	code, _, at = s.browse(t, client, http.MethodPost, "/console/try", url.Values{"token": {token(t, form)}, "agent": {"echo"}, "text": {"hello"}})
	if code != http.StatusOK || at.Path != s.prefix+"/console/task" {
		t.Errorf("after a message: %d at %s", code, at)
	}
}

// readsEvent reads the first event of a stream of the console.
func (s *site) readsEvent(t *testing.T, client *http.Client, path string) {
	t.Helper()
	resp, err := client.Do(s.request(t, http.MethodGet, path, "", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for _, err := range hubtest.Events(resp.Body) {
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return
	}
}

func token(t *testing.T, page string) string {
	t.Helper()
	m := regexp.MustCompile(`name="token" value="([^"]*)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("the page has no token:\n%s", page)
	}
	return m[1]
}

// browse sends a request as a browser does and follows redirections.
func (s *site) browse(t *testing.T, client *http.Client, method, path string, form url.Values) (int, string, *url.URL) {
	t.Helper()
	kind := ""
	if form != nil {
		kind = "application/x-www-form-urlencoded"
	}
	r := s.request(t, method, path, kind, form.Encode())
	r.Header.Del("Authorization")
	if form != nil {
		r.Header.Set("Origin", "https://"+host)
		r.Header.Set("Referer", s.url+path)
	}
	return answer(t, client, r)
}

// mcpTools lists the tools and calls one that reads the hub.
func mcpTools(t *testing.T, s *site) {
	client := s.client(t, true)
	client.Transport = withKey{client.Transport}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: s.url + "/mcp", HTTPClient: client, MaxRetries: -1,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_known_agents"})
	if err != nil || result.IsError {
		t.Errorf("list_known_agents: %v, %+v", err, result)
	}
}

type withKey struct{ http.RoundTripper }

func (w withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+key)
	return w.RoundTripper.RoundTrip(r)
}

func (s *site) request(t *testing.T, method, path, kind, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("A2A-Version", "1.0")
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	return r
}

func (s *site) do(t *testing.T, client *http.Client, method, path, kind, body string) (int, string, *url.URL) {
	t.Helper()
	return answer(t, client, s.request(t, method, path, kind, body))
}

func answer(t *testing.T, client *http.Client, r *http.Request) (int, string, *url.URL) {
	t.Helper()
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b), resp.Request.URL
}
