package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/testenv"
	"github.com/parley-a2a/parley/internal/testing/tlstest"
)

// marks are the secrets by their places. Each place has its own secret.
type marks map[string]string

// mark creates the secret of a place. It is valid in a header, and changes when it is encoded
// for a URL or in base64.
func (m marks) mark(place string) string {
	m[place] = fmt.Sprintf("mk%02d+Zq7/%s=", len(m), strings.ToUpper(hex.EncodeToString([]byte(place))))
	return m[place]
}

// forms returns the forms in which a secret may leak: unchanged, escaped, in hexadecimal
// digits, and within base64 at each offset.
func forms(secret string) []string {
	all := []string{secret, url.QueryEscape(secret), url.PathEscape(secret), hex.EncodeToString([]byte(secret)), strings.ReplaceAll(secret, "/", `\/`)}
	for _, s := range all[:2] {
		for shift := range 3 {
			padded := append(bytes.Repeat([]byte{'x'}, shift), s...)
			text := base64.RawStdEncoding.EncodeToString(padded[:len(padded)-len(padded)%3])[(shift*8+5)/6:]
			all = append(all, text, strings.NewReplacer("+", "-", "/", "_").Replace(text))
		}
	}
	return all
}

// leaks returns the places whose secrets a text contains.
func (m marks) leaks(text string) []string {
	var all []string
	for _, place := range slices.Sorted(maps.Keys(m)) {
		if slices.ContainsFunc(forms(m[place]), func(form string) bool { return strings.Contains(text, form) }) {
			all = append(all, place)
		}
	}
	return all
}

// echo is a server that reveals the secrets of requests in its answers, like badly written
// servers, and records them.
type echo struct {
	*httptest.Server
	mu   sync.Mutex
	seen strings.Builder
}

func newEcho(t *testing.T) *echo {
	e := new(echo)
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		received := fmt.Sprintf("%v %s", r.Header, body)
		e.mu.Lock()
		e.seen.WriteString(received + "\n")
		e.mu.Unlock()
		switch {
		case strings.HasSuffix(r.URL.Path, ".json"):
			fmt.Fprintf(w, `{"name":"far","version":"1","description":"d","skills":[],"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],`+
				`"capabilities":{},"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, e.URL+"/rpc")
		case strings.HasPrefix(r.URL.Path, "/v1/"): // a collector
			w.WriteHeader(http.StatusOK)
		case strings.HasPrefix(r.URL.Path, "/key"): // JSON-RPC refuses with 200
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":%q}}`, received)
		default:
			w.Header().Set("WWW-Authenticate", `Bearer error_description="`+r.Header.Get("Authorization")+`"`)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":%q},"detail":%q}`, received, received)
		}
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *echo) text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.seen.String()
}

// secretConfig returns a configuration with a secret in every place that can hold one.
func secretConfig(t *testing.T, m marks, dir string, e *echo) string {
	t.Helper()
	ca := tlstest.NewAuthority(t, "ca")
	ca.Write(t, dir, "ca")
	pair := ca.Issue(t, x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	pair.Write(t, dir, "hub")
	m["tls.key"] = strings.Split(string(pair.KeyPEM), "\n")[1]
	signing := ca.Issue(t, x509.Certificate{})
	signing.Write(t, dir, "sign")
	m["cards.signing_keys"] = strings.Split(string(signing.KeyPEM), "\n")[1]
	if err := os.WriteFile(filepath.Join(dir, "partner.key"), []byte(m.mark("auth.api_keys from a file")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	agent := func(name, auth, more string) string {
		return fmt.Sprintf("  - {name: %s, endpoint: {backend: a2a, base_url: %q, auth: {%s}}%s}\n", name, e.URL+"/"+name, auth, more)
	}
	return `
tls: {cert: hub.pem, key: hub.key}
public_url: https://127.0.0.1:1
bus: {url: "amqp://hub:` + url.QueryEscape(m.mark("bus.url")) + `@127.0.0.1:1/x"}
rockbot: {url: "amqp://rock:` + url.QueryEscape(m.mark("rockbot.url")) + `@127.0.0.1:1/x", serve: [echo]}
cards: {signing_keys: [sign.key]}
extended_card: {token: "` + m.mark("extended_card.token") + `"}
push: {allow: [loopback], signing_secrets: ["whsec_` + base64.StdEncoding.EncodeToString([]byte(m.mark("push.signing_secrets"))) + `"]}
directory: {allow: [loopback]}
auth:
  api_keys:
    "` + m.mark("auth.api_keys") + `": {agent_id: admin, roles: [admin], owner: local}
    "${file:partner.key}": {agent_id: partner}
  bearer_tokens: {"${BEARER}": {agent_id: other}}
model_providers:
  - {name: m, base_url: "` + e.URL + `/model", api_key: "` + m.mark("model_providers.api_key") + `", headers: {X-Model: "` + m.mark("model_providers.headers") + `"}}
mcp_servers:
  - {name: web, url: "` + e.URL + `/mcp", headers: {Authorization: "Bearer ` + m.mark("mcp_servers.headers") + `"}}
  - {name: prog, command: "false", env: {SECRET: "` + m.mark("mcp_servers.env") + `"}}
agents:
` + agent("bearer", `type: bearer, token: "`+m.mark("endpoint.auth bearer")+`"`, "") +
		agent("key", `type: apiKey, token: "`+m.mark("endpoint.auth apiKey")+`"`, "") +
		agent("header", `type: header, name: X-Own, token: "`+m.mark("endpoint.auth header")+`"`, "") +
		agent("oauth", `type: oauth2, client_id: hub, client_secret: "`+m.mark("endpoint.auth oauth2")+`", token_url: "`+e.URL+`/token"`, "") +
		`  - {name: told, url: "` + e.URL + `/told", identity: {mode: exchange, token_url: "` + e.URL + `/token", client_id: hub, client_secret: "` + m.mark("identity.client_secret") + `", audience: x}}
  - {name: thinker, model: {model: m}}
  - {name: prog, command: ["false"], env: {SECRET: "` + m.mark("agents.env") + `"}}
`
}

// secretHub is a process with this configuration, and its output.
type secretHub struct {
	t       *testing.T
	cmd     *exec.Cmd
	url     string
	output  *testenv.Buffer
	web     *http.Client
	outputs map[string]string
}

func startSecretHub(t *testing.T, dir string, env ...string) *secretHub {
	t.Helper()
	path, err := exec.LookPath("parley")
	if err != nil {
		t.Fatal(err)
	}
	h := &secretHub{t: t, output: new(testenv.Buffer), outputs: make(map[string]string)}
	h.cmd = exec.Command(path, "serve", "--config", filepath.Join(dir, "parley.yaml"), "--listen", "127.0.0.1:0",
		"--grpc-listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--log-level", "debug")
	h.cmd.Env = append(append(os.Environ(), "GORACE="+noNap), env...)
	h.cmd.Stderr = h.output
	stdout, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.cmd.Process.Kill(); h.cmd.Wait() })
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		fmt.Fprintln(h.output, lines.Text())
		if at, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "Address "); ok {
			h.url = strings.TrimSpace(at)
		}
		if strings.HasPrefix(lines.Text(), "Try: ") {
			break
		}
	}
	if h.url == "" {
		t.Fatalf("the hub does not start:\n%s", h.output)
	}
	transport, err := (&certFlags{CA: filepath.Join(dir, "ca.pem")}).transport()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.CloseIdleConnections)
	h.web = &http.Client{Transport: transport, Timeout: 2 * time.Minute}
	return h
}

// ask sends a request like "POST /path" and keeps the answer.
func (h *secretHub) ask(key, request, body string) string {
	h.t.Helper()
	q := httpQuery{web: h.web, at: h.url, what: request, body: body, header: []string{"A2A-Version: 1.0"}}
	if key != "" {
		q.header = append(q.header, "Authorization: Bearer "+key)
	}
	resp, output := q.answered(h.t)
	text := fmt.Sprintf("%s %v %s", resp.Status, resp.Header, output)
	h.outputs[fmt.Sprintf("%s #%d", request, len(h.outputs))] = text
	return text
}

// TestSecretsStayInside puts a different secret into every place that can hold one, and lets
// the hub use them, also with servers that reveal them. Then it searches all outputs for them:
// answers, cards, logs, metrics, spans, the output of commands, and the data folder.
func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	m, e, dir := make(marks), newEcho(t), t.TempDir()
	text := secretConfig(t, m, dir, e)
	if err := os.WriteFile(filepath.Join(dir, "parley.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	collector := newEcho(t)
	h := startSecretHub(t, dir, "BEARER="+m.mark("auth.bearer_tokens from the environment"),
		"OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-collector=secret")
	admin := m["auth.api_keys"]
	inside := h.exercise(m, e, admin)
	h.commands(dir, admin)
	if err := h.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Wait(); err != nil {
		t.Errorf("the hub: %v", err)
	}
	h.outputs["log"] = h.output.String()
	h.outputs["spans and metrics that were sent"] = collector.text()
	for name, reply := range h.outputs {
		if got := m.leaks(reply); len(got) > 0 {
			t.Errorf("%s contains the secrets of %v:\n%.2000s", name, got, reply)
		}
	}
	stored := storedText(t, filepath.Join(dir, "data"))
	if got := m.leaks(stored); len(got) > 0 {
		t.Errorf("the data folder has the secrets of %v in plain text", got)
	}
	// The secrets must have been used: otherwise the test proves nothing.
	shown := (marks{}).with(m, inside...).leaks(e.text())
	if len(shown) != len(inside) {
		t.Errorf("only %v reached their recipients, want %v", shown, inside)
	}
	if log := h.outputs["log"]; !strings.Contains(log, "level=DEBUG") {
		t.Errorf("the log has no records of debugging:\n%.1000s", log)
	}
	if sent := collector.text(); len(sent) < 1000 {
		t.Errorf("no spans were sent: %q", sent)
	}
}

// with returns the marks of the given places.
func (marks) with(m marks, places ...string) marks {
	some := make(marks)
	for _, p := range places {
		some[p] = m[p]
	}
	return some
}

// exercise makes the hub use its secrets. It returns the places whose secrets were sent to
// other servers.
func (h *secretHub) exercise(m marks, e *echo, admin string) []string {
	send := func(agent string) string {
		return h.ask(admin, "POST /a2a/"+agent, fmt.Sprintf(sendV1, "m-"+agent))
	}
	for _, agent := range []string{"bearer", "key", "header", "oauth", "told", "thinker", "prog", "echo"} {
		send(agent)
	}
	// Secrets of callers, by the administrators' interface and by the protocol.
	h.ask(admin, "POST /api/v1/agents", `{"title":"reg","url":"`+e.URL+`/reg","credentials":{"apiKey":"`+m.mark("registered apiKey")+`","bearer":"`+
		m.mark("registered bearer")+`","headerName":"X-Reg","headerValueBase64":"`+base64.StdEncoding.EncodeToString([]byte(m.mark("registered header")))+`"}}`)
	h.ask(admin, "POST /api/v1/agents/reg/refresh", "")
	send("reg")
	h.ask(admin, "PUT /api/v1/agents/reg", `{"url":"`+e.URL+`/reg2"}`)
	h.ask(admin, "PUT /api/v1/agents/reg", `{"url":"https://elsewhere.example/"}`)
	h.ask(admin, "PUT /api/v1/agents/reg", `{"url":"`+e.URL+`/reg","credentials":{"apiKey":["`+m["registered apiKey"]+`"]}}`)
	h.ask(admin, "PUT /api/v1/agents/reg", `{"url":"`+e.URL+`/reg","credentials":{"headerName":"X-A","headerValueBase64":"`+m["registered header"]+`!"}}`)
	h.ask(admin, "PUT /api/v1/agents/bearer", `{"url":"`+e.URL+`/reg","credentials":{"apiKey":"`+m["registered apiKey"]+`"}}`)
	hook := `{"url":"` + e.URL + `/hook","token":"` + m.mark("webhook token") + `","authentication":{"scheme":"Bearer","credentials":"` + m.mark("webhook credentials") + `"}}`
	sent := h.ask(admin, "POST /a2a/slow", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"hooked","role":"ROLE_USER","parts":[{"text":"1"}]},"configuration":{"returnImmediately":true,"taskPushNotificationConfig":`+hook+`}}}`)
	id := between(sent, `"id":"`, `"`)
	h.ask(admin, "POST /a2a/slow", `{"jsonrpc":"2.0","id":1,"method":"ListTaskPushNotificationConfigs","params":{"taskId":"`+id+`"}}`)
	h.ask(admin, "POST /a2a/slow", `{"jsonrpc":"2.0","id":1,"method":"CreateTaskPushNotificationConfig","params":{"taskId":"`+id+`","url":"ftp://x/","token":"`+m["webhook token"]+`"}}`)
	h.ask(admin, "POST /a2a/slow", `{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"`+id+`"}}`)
	// Reads by an administrator, by a caller, without a key, and with wrong secrets.
	paths := []string{
		"/api/v1/agents", "/api/v1/agents/reg", "/api/v1/agents/bearer", "/api/v1/agents/thinker", "/api/v1/agents/prog", "/api/v1/keys", "/api/v1/push",
		"/api/v1/status", "/api/v1/tasks", "/api/v1/mcp/servers", "/api/v1/trust", "/api/v1/inbox", "/api/v1/search?q=far", "/api/v1/dead", "/api/v1/broker",
		"/.well-known/agent-card.json", "/.well-known/agent.json", "/.well-known/jwks.json", "/a2a/reg/.well-known/agent-card.json",
		"/a2a/bearer/.well-known/agent.json", "/metrics", "/readyz", "/healthz", "/v1/models", "/v1/a2a/extendedAgentCard", "/v1/a2a/tasks", "/nothing",
	}
	for _, key := range []string{admin, m["auth.api_keys from a file"], m["auth.bearer_tokens from the environment"], m["extended_card.token"], "", "wrong" + admin, admin + " " + admin} {
		for _, path := range paths {
			if key == admin || path == "/api/v1/agents/reg" || strings.HasSuffix(path, "Card") {
				h.ask(key, "GET "+path, "")
			}
		}
	}
	h.ask(admin, "POST /a2a", `{"jsonrpc":"2.0","id":"`+strings.Repeat("x", 10)+`","method":"GetTask","params":{`)
	if c, err := net.Dial("tcp", strings.TrimPrefix(h.url, "https://")); err == nil { // no handshake, which is logged at level debug
		fmt.Fprintf(c, "GET /?key=%s HTTP/1.1\r\nX-Api-Key: %s\r\n\r\n", url.QueryEscape(admin), admin)
		_, _ = io.Copy(io.Discard, c)
		c.Close()
	}
	h.ask(admin, "POST /mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	return []string{
		"endpoint.auth bearer", "endpoint.auth apiKey", "endpoint.auth header", "endpoint.auth oauth2",
		"model_providers.api_key", "model_providers.headers", "mcp_servers.headers", "registered apiKey", "registered bearer", "registered header",
		"webhook token", "webhook credentials",
	}
}

func between(text, before, after string) string {
	_, rest, _ := strings.Cut(text, before)
	found, _, _ := strings.Cut(rest, after)
	return found
}

// commands runs the commands that an operator may run beside the hub.
func (h *secretHub) commands(dir, admin string) {
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"PARLEY_URL": h.url, "PARLEY_API_KEY": admin, "PARLEY_CA": filepath.Join(dir, "ca.pem"), "BEARER": "another-bearer-0123456"}[name]
		return v, ok
	}
	for _, words := range []string{
		"agents list --json", "agents show reg --json", "agents show reg", "agents probe --json", "keys list --json", "push list --json",
		"tasks list --limit 0 --json", "card --json", "send --agent bearer hello", "send --agent thinker hello", "inbox list --json", "dead list",
	} {
		_, out, errs := invoke(h.t, OS{LookupEnv: env}, strings.Fields(words)...)
		h.outputs["parley "+words] = out + errs
	}
	path, err := exec.LookPath("parley")
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), 2*time.Minute)
	defer cancel()
	doctor := exec.CommandContext(ctx, path, "doctor", "--json", "--config", filepath.Join(dir, "parley.yaml"), "--data", filepath.Join(dir, "data"),
		"--url", h.url, "--ca", filepath.Join(dir, "ca.pem"))
	doctor.Env = append(os.Environ(), "BEARER=another-bearer-0123456", "PARLEY_API_KEY="+admin)
	out, _ := doctor.CombinedOutput() // it exits with an error because it has findings
	h.outputs["parley doctor --json"] = string(out)
	if !bytes.Contains(out, []byte(`"subject":"tls"`)) {
		h.t.Errorf("the doctor says %s", out)
	}
}

// storedText returns the content of all files of a data folder.
func storedText(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		b.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestForms checks that the search finds leaked secrets.
func TestForms(t *testing.T) {
	t.Parallel()
	m := make(marks)
	secret := m.mark("place")
	for _, text := range []string{
		secret, "a " + secret + " b", url.QueryEscape(secret), "?x=" + url.PathEscape(secret), hex.EncodeToString([]byte(secret)),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte("a:" + secret + ":b")),
		base64.URLEncoding.EncodeToString([]byte("Bearer " + secret + ", more")), base64.RawURLEncoding.EncodeToString([]byte("u:" + secret)),
	} {
		if got := m.leaks(text); len(got) != 1 {
			t.Errorf("%q is not found in %q", secret, text)
		}
	}
	if got := m.leaks(secret[:8]); len(got) != 0 {
		t.Errorf("the beginning alone counts: %v", got)
	}
}
