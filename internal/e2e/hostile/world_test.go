package hostile

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/tokentest"
)

// patience is the time limit for everything that the hub bounds. It is longer than the ten
// seconds for a head.
const patience = 2 * time.Minute

const configuration = `
grpc_listen: GRPC
default_agent: tally
limits: {body: 64KiB, body_time: 4s, keep_alive: 1s, streams_per_caller: 3, tasks_per_caller: 6}
auth:
  api_keys:
    KEY-alice: {agent_id: alice, owner: acme}
    KEY-anna: {agent_id: anna, owner: acme}
    KEY-bob: {agent_id: bob, owner: globex}
    KEY-flood: {agent_id: flood}
    KEY-root: {agent_id: root, roles: [admin]}
  tokens:
    - name: corp
      issuer: https://id.example
      audiences: [https://hub.example]
      keys_file: corp.json
      required_scopes: [a2a]
      owner_claim: tenant
      owners: {t-1: acme}
    - name: shop
      issuer: https://shop.example
      audiences: [https://hub.example]
      keys_file: shop.json
cards:
  signing_keys: [signing.pem]
  trusted_keys: [trusted.json]
  trusted_key_sets: ["https://keys.example/jwks.json"]
  require_signatures: true
directory: {allow: [loopback]}
telemetry: {metrics: admin}
parts: {threshold: 1KiB}
policy:
  rules:
    - {allow: [send, stream, get, list, cancel, subscribe, "push.*", card.extended, status, "memory.*", "inbox.*"], who: authenticated}
    - {deny: "*", owners: acme, agents: slow}
idempotency: {header: true}
agents:
  - {name: text, command: cat, inputModes: [text/plain]}
  - name: tally
    command: [/bin/sh, -c, "echo x >> RUNS; cat"]
`

// keyOf returns the key of a caller. For an unknown name the key is invalid.
func keyOf(name string) string { return "sk-" + name + "-5f1b0c9e7d3a48261c" }

// world is the hub under attack, with tasks of honest callers.
type world struct {
	tb   testing.TB
	hub  *hubtest.Hub
	grpc string
	runs string
	// corp is a trusted issuer, shop another one.
	corp, shop *tokentest.Issuer
	elsewhere  *elsewhere
	client     *http.Client
	// names maps placeholders in requests to values: ids of tasks, keys, page tokens.
	names map[string]string
	peers atomic.Uint32
}

// newWorld starts the hub.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{tb: t, grpc: hubtest.Addr(t), names: map[string]string{}, client: &http.Client{
		Timeout: patience, Transport: &http.Transport{DisableCompression: true},
	}}
	t.Cleanup(w.client.CloseIdleConnections)
	w.corp = &tokentest.Issuer{URL: "https://id.example", Audience: "https://hub.example", KID: "k1", Key: tokentest.NewKey(t)}
	w.shop = &tokentest.Issuer{URL: "https://shop.example", Audience: "https://hub.example", KID: "k1", Key: tokentest.NewKey(t)}
	w.elsewhere = newElsewhere(t)
	w.hub = hubtest.New(t, hubtest.Options{})
	w.runs = filepath.Join(w.hub.Dir(), "runs")
	for name, content := range map[string][]byte{
		"corp.json": w.corp.KeySet(t), "shop.json": w.shop.KeySet(t), "runs": nil,
		"signing.pem": pemOf(t, tokentest.NewKey(t)), "trusted.json": w.elsewhere.trusted.KeySet(t),
	} {
		if err := os.WriteFile(filepath.Join(w.hub.Dir(), name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.hub.Configure(strings.NewReplacer("GRPC", w.grpc, "KEY-", "sk-", ": {agent_id", "-5f1b0c9e7d3a48261c: {agent_id", "RUNS", w.runs).Replace(configuration))
	if err := w.hub.Start(); err != nil {
		t.Fatal(err)
	}
	w.populate()
	return w
}

// secretWord is part of all content of bob's tasks. Values that an attacker could guess, such
// as the context of bob's task, do not contain it.
const secretWord = "bobsecret"

// populate creates tasks of alice and of bob.
func (w *world) populate() {
	w.tb.Helper()
	send := func(key, agent, context string) string {
		var got struct{ Task struct{ ID string } }
		text := "hello of " + key
		if key == "bob" {
			text = secretWord
		}
		w.good(key, "POST", "/v1/a2a/"+agent+"/message:send", message(text, `"contextId":"`+context+`"`), &got)
		return got.Task.ID
	}
	w.names["$done"] = send("alice", "tally", "alicecontext")
	w.names["$asked"] = send("alice", "interview", "alicecontext")
	w.names["$second"] = send("alice", "echo", "alicecontext")
	w.names["$foreign"] = send("bob", "interview", "bobscontext")
	w.names["$floods"] = send("flood", "interview", "floodcontext")
	send("bob", "echo", "bobscontext")
	send("bob", "tally", "bobscontext")
	var page struct{ NextPageToken string }
	w.good("alice", "GET", "/v1/a2a/tasks?pageSize=1", "", &page)
	w.names["$page"] = page.NextPageToken
	w.good("bob", "GET", "/v1/a2a/tasks?pageSize=1", "", &page)
	w.names["$bobspage"] = page.NextPageToken
	w.names["$part"], w.names["$bobspart"] = w.file("alice", "alice's file"), w.file("bob", secretWord)
	hook := func(key, id, config string) {
		url := strings.ReplaceAll("https://example.org/"+config, "bobs", secretWord)
		w.good(key, "POST", "/v1/a2a/tasks/"+id+"/pushNotificationConfigs", `{"id":"`+config+`","url":"`+url+`"}`, nil)
	}
	hook("alice", w.names["$asked"], "alicehook")
	hook("alice", w.names["$asked"], "alicehook2")
	hook("bob", w.names["$foreign"], "bobshook")
	w.good("alice", "GET", "/v1/a2a/tasks/"+w.names["$asked"]+"/pushNotificationConfigs?pageSize=1", "", &page)
	w.names["$hookpage"] = page.NextPageToken
	w.good("bob", "PUT", "/api/v1/memory/note?key=plans/bobs", `{"value":"`+secretWord+`","ttl":"2h"}`, nil)
	var key struct {
		Key string
		ID  string
	}
	w.good("root", "POST", "/api/v1/keys", `{"roles":["bus:tally"]}`, &key)
	w.names["$buskey"] = key.Key
	for _, name := range []string{"alice", "anna", "bob", "root", "flood"} {
		w.names["$key-"+name] = keyOf(name)
	}
	for name, v := range w.names {
		if v == "" {
			w.tb.Fatalf("there is no %s", name)
		}
	}
	if b, err := os.ReadFile(w.runs); err != nil || len(b) != 4 {
		w.tb.Fatalf("the agent has run %d times, want twice: %v", len(b)/2, err)
	}
}

// file sends a large part, and returns the path from which the hub serves it.
func (w *world) file(caller, word string) string {
	w.tb.Helper()
	var got struct {
		Task struct {
			History []struct{ Parts []struct{ URL string } }
		}
	}
	raw := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte(word+" "), 200))
	w.good(caller, "POST", "/v1/a2a/interview/message:send",
		`{"message":{"messageId":"m-file","role":"ROLE_USER","parts":[{"text":"x"},{"raw":"`+raw+`","filename":"f.bin"}]}}`, &got)
	for _, m := range got.Task.History {
		for _, p := range m.Parts {
			if _, path, ok := strings.Cut(p.URL, "/v1/parts/"); ok {
				return "/v1/parts/" + path
			}
		}
	}
	w.tb.Fatalf("the file of %s is not kept: %+v", caller, got)
	return ""
}

// good sends a request that must succeed.
func (w *world) good(caller, method, path, body string, into any) {
	w.tb.Helper()
	if err := w.call(caller, method, path, body, into); err != nil {
		w.tb.Fatalf("a good request: %v", err)
	}
}

func (w *world) call(caller, method, path, body string, into any) error {
	r, err := http.NewRequest(method, w.hub.URL()+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("X-Api-Key", keyOf(caller))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := w.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, b)
	}
	if err == nil && into != nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		return fmt.Errorf("%s %s as %s: %w", method, path, caller, err)
	}
	return nil
}

// stored returns the content of the hub as its authorized callers see it, and the number of
// agent runs. The good request after each row reads it.
func (w *world) stored() string {
	var all strings.Builder
	for _, look := range [][2]string{
		{"alice", "/v1/a2a/tasks?pageSize=100&includeArtifacts=true"},
		{"alice", "/v1/a2a/tasks/" + w.names["$asked"]},
		{"alice", "/v1/a2a/tasks/" + w.names["$asked"] + "/pushNotificationConfigs"},
		{"alice", "/api/v1/memory?prefix=plans/"},
		{"bob", "/v1/a2a/tasks?pageSize=100&includeArtifacts=true"},
		{"bob", "/v1/a2a/tasks/" + w.names["$foreign"]},
		{"bob", "/v1/a2a/tasks/" + w.names["$foreign"] + "/pushNotificationConfigs"},
		{"bob", "/api/v1/memory?prefix=plans/"},
		{"root", "/v1/a2a/tasks"},
		{"root", "/api/v1/keys"},
		{"root", "/api/v1/trust"},
		{"root", "/api/v1/inbox"},
		{"root", "/api/v1/push"},
	} {
		var v json.RawMessage
		if err := w.call(look[0], "GET", look[1], "", &v); err != nil {
			fmt.Fprintln(&all, err)
			continue
		}
		fmt.Fprintf(&all, "%s %s %s\n", look[0], look[1], deliveries.ReplaceAllString(string(v), ""))
	}
	b, err := os.ReadFile(w.runs)
	fmt.Fprintln(&all, len(b)/2, err)
	return all.String()
}

// deliveries matches the state of webhook deliveries and the last uses of keys, which change by
// themselves.
var deliveries = regexp.MustCompile(`,"lastUsedAt":"[^"]*"|"(delivery|breaker|pending|failures|attempts|lastError|nextTry|lastAttempt|status|position)":("[^"]*"|[0-9]+|\{[^{}]*\}|null)`)

// leaves fails the test if anything was stored since before.
func (w *world) leaves(t *testing.T, before string) {
	t.Helper()
	if diff := cmp.Diff(before, w.stored()); diff != "" {
		t.Errorf("the stored data has changed (-before +after):\n%s", diff)
	}
}

// in replaces placeholders in a text by their values.
func (w *world) in(s string) string {
	if !strings.Contains(s, "$") {
		return s
	}
	pairs := make([]string, 0, 2*len(w.names))
	for _, long := range []bool{true, false} { // $bobspage before $bob
		for name, v := range w.names {
			if (len(name) > 6) == long {
				pairs = append(pairs, name, v)
			}
		}
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// dial connects from a new local address, if the machine has many, because failed
// authentication is throttled by address.
func (w *world) dial(ctx context.Context, addr string) (net.Conn, error) {
	n := w.peers.Add(1)
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 7, byte(n>>8), byte(n))}}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		c, err = new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
	return c, err
}

// conn returns a new connection for gRPC.
func (w *world) conn() *grpc.ClientConn {
	c, err := grpc.NewClient("passthrough:///"+w.grpc, grpc.WithContextDialer(w.dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(32<<20)))
	if err != nil {
		w.tb.Fatal(err)
	}
	return c
}

// indiscreet matches internals that no answer to an attacker may contain.
var indiscreet = regexp.MustCompile(`goroutine \d|\.go:\d|runtime error|panic|sqlite|\bSQL(ITE\w*)?\b|/tmp/|/home/|parley-data|invalid memory|0xc0`)

// inside matches names of internals that no error may contain.
var inside = regexp.MustCompile(`(?i)github\.com|/internal|httpfront|rawjson|a2ajson|strconv|json: cannot|protojson|cannot unmarshal|reflect`)

// maxError is the largest size of an error, in bytes.
const maxError = 4 << 10

// discreet fails the test if an answer contains internals or secrets.
func (w *world) discreet(t *testing.T, a *answer) {
	t.Helper()
	all := append(bytes.Clone(a.head), a.body...)
	if m := indiscreet.Find(all); m != nil {
		t.Errorf("the answer has %q in it: %.2000s", m, all)
	}
	if bytes.Contains(bytes.ToLower(a.head), []byte("set-cookie")) {
		t.Errorf("a header was injected: %s", a.head)
	}
	if a.status >= 400 || bytes.Contains(a.body, []byte(`"error":{`)) {
		if m := inside.Find(a.body); m != nil || len(a.body) > maxError {
			t.Errorf("an error of %d bytes has %q in it: %.2000s", len(a.body), m, a.body)
		}
	}
	for name, secret := range w.secrets() {
		if bytes.Contains(all, []byte(secret)) {
			t.Errorf("the answer has the %s in it: %.2000s", name, all)
		}
	}
}

// secrets returns the values that no answer and no log may contain.
func (w *world) secrets() map[string]string {
	all := map[string]string{"folder of the hub": w.hub.Dir(), "words of bob": secretWord}
	for name, v := range w.names {
		if strings.HasPrefix(name, "$key-") || name == "$buskey" {
			all["key "+name] = v
		}
	}
	return all
}
