package hostile

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	pb0 "github.com/a2aproject/a2a-go/a2apb"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/testing/dialecttest"
	"github.com/parley-a2a/parley/internal/testing/grpctest"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/tlstest"
	"github.com/parley-a2a/parley/internal/testing/tokentest"
)

// people are the callers of the matrix: ann and amy belong to one organisation, bob to another
// one, and cat to none.
var people = map[string]string{"ann": "acme", "amy": "acme", "bob": "globex", "cat": ""}

// profiles are the dialects of keys, for callers that have no other way to state theirs.
var profiles = []string{"v1.0", "v0.3", dialecttest.Derived, dialecttest.Gateway}

// scheme is a way to authenticate.
type scheme struct {
	name string
	// header returns the name and the value of the authenticating header; nil if the connection
	// authenticates with a certificate.
	header func(m *matrix, who, profile string) (name, value string)
}

// mute reports whether the scheme cannot state the dialect of its caller.
func (s *scheme) mute() bool { return s.header == nil || s.name == "token" }

// headers returns the headers of a request for the scheme.
func (s *scheme) headers(m *matrix, who, profile string) []string {
	if s.header == nil {
		return nil
	}
	name, value := s.header(m, who, profile)
	return []string{name, value}
}

// schemes are all authentication schemes.
var schemes = []scheme{
	{"API key", func(_ *matrix, who, profile string) (string, string) { return "X-Api-Key", profileKey(who, profile) }},
	{"bearer", func(_ *matrix, who, profile string) (string, string) {
		return "Authorization", "Bearer " + profileKey(who, profile)
	}},
	{"token", func(m *matrix, who, _ string) (string, string) {
		return "Authorization", "Bearer " + m.issuer.Token(m.t, m.issuer.Good(tokentest.Object{"sub": who, "tenant": people[who]}))
	}},
	{"certificate", nil},
}

// client is the set of connections of a caller.
type client struct {
	http *http.Client
	grpc map[string]*grpctest.Client
}

// client returns the connections of a caller with a certificate, or otherwise the shared ones.
func (m *matrix) client(s *scheme, who string) *client {
	if s.header == nil {
		return m.clients[who]
	}
	return m.clients[""]
}

func profileKey(who, profile string) string { return "sk-" + who + "-" + profile + "-00000000" }

// matrix is the running command with ann's data.
type matrix struct {
	t      *testing.T
	hub    *hubtest.Hub
	issuer *tokentest.Issuer
	url    string
	// clients are the connections of each caller with a certificate, and the shared ones of all
	// others.
	clients map[string]*client
	// things are ann's ids: of tasks and of their parts.
	things things
}

// things are the guessed values, by placeholder in requests.
type things map[string]string

func (g things) in(request string) string {
	for name, v := range g {
		request = strings.ReplaceAll(request, name, v)
	}
	return request
}

// out replaces values by placeholders, so that the answers to two guesses can be compared.
func (g things) out(s string) string {
	for name, v := range g {
		s = strings.ReplaceAll(s, v, name)
	}
	return s
}

// missing are ids that do not exist, of the same form and length.
var missing = things{
	"$ID": "01a20333-0000-7000-8000-000000000000", "$CTX": "context-of-tim", "$CONFIG": "hook-of-tim",
	"$NOTE": "plans/of-tim", "$ITEM": "aaaaaaaaaaaaaaaa", "$APPROVAL": "bbbbbbbbbbbbbbbb", "$SESSION": "session-of-tim", "$NEW": "new-id-2", "$DIGEST": strings.Repeat("0", 64),
}

// startMatrix starts the hub, and creates ann's data.
func startMatrix(t *testing.T) *matrix {
	t.Helper()
	grpcAddr := hubtest.Addr(t)
	m := &matrix{
		t: t, hub: hubtest.New(t, hubtest.Options{}), clients: make(map[string]*client),
		issuer: &tokentest.Issuer{URL: "https://id.example", Audience: "https://hub.example", KID: "k1", Key: tokentest.NewKey(t)},
	}
	m.url = "https://" + m.hub.Addr()
	authority := tlstest.NewAuthority(t, "all")
	authority.Issue(t, x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}).Write(t, m.hub.Dir(), "hub")
	authority.Write(t, m.hub.Dir(), "ca")
	if err := os.WriteFile(filepath.Join(m.hub.Dir(), "keys.json"), m.issuer.KeySet(t), 0o600); err != nil {
		t.Fatal(err)
	}
	m.hub.Configure(m.configuration(grpcAddr))
	if err := m.hub.Start(); err != nil {
		t.Fatal(err)
	}
	m.clients[""] = m.connect(grpcAddr, &tls.Config{RootCAs: authority.Pool(), MinVersion: tls.VersionTLS13})
	for who := range people {
		own := authority.Issue(t, x509.Certificate{DNSNames: []string{who + ".example"}})
		m.clients[who] = m.connect(grpcAddr, &tls.Config{
			RootCAs: authority.Pool(), MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own.TLS()},
		})
	}
	m.populate()
	return m
}

// connect creates connections.
func (m *matrix) connect(grpcAddr string, config *tls.Config) *client {
	m.t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+grpcAddr, grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		m.t.Fatal(err)
	}
	c := &client{
		http: &http.Client{Timeout: patience, Transport: &http.Transport{DisableCompression: true, TLSClientConfig: config}},
		grpc: map[string]*grpctest.Client{
			"CALL":  {Conn: conn, Service: pb.File_a2av1_proto.Services().ByName("A2AService")},
			"CALL3": {Conn: conn, Service: protoreflect.ServiceDescriptor(pb0.File_a2a_proto.Services().ByName("A2AService"))},
		},
	}
	m.t.Cleanup(func() {
		conn.Close()
		c.http.CloseIdleConnections()
	})
	return c
}

// configuration returns the configuration of the hub. The agent asks a question without text,
// because the chunks of a text would differ from run to run.
func (m *matrix) configuration(grpcAddr string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `
grpc_listen: %s
tls: {cert: hub.pem, key: hub.key, client_ca: ca.pem, clients: optional}
default_agent: ask
limits: {keep_alive: 200ms}
push: {allow: [loopback]}
parts: {threshold: 1KiB}
extended_card: {authenticated: true}
agents:
  - {name: ask, command: [/bin/sh, -c, "cat >/dev/null; exit 3"]}
  - {name: gated, command: cat, trust: gated}
auth:
  tokens:
    - name: corp
      issuer: https://id.example
      audiences: [https://hub.example]
      keys_file: keys.json
      owner_claim: tenant
      owners: {acme: acme, globex: globex}
  certificates:
`, grpcAddr)
	for who, org := range people {
		fmt.Fprintf(&b, "    - {dns: %s.example, agent_id: %s-certificate, owner: %q}\n", who, who, org)
	}
	fmt.Fprintf(&b, "  api_keys:\n    %s: {agent_id: root, owner: root, roles: [admin]}\n", profileKey("root", "v1.0"))
	for who, org := range people {
		for _, p := range profiles {
			fmt.Fprintf(&b, "    %s: {agent_id: %s-%s, owner: %q, dialect: %s}\n", profileKey(who, p), who, p, org, p)
		}
	}
	return b.String()
}

// annsWord is part of all texts of ann.
const annsWord = "annmark"

// populate creates ann's task, which waits, with a webhook, a note, a question and a session.
func (m *matrix) populate() {
	m.t.Helper()
	as := schemes[0]
	m.things = things{
		"$CTX": "context-of-ann", "$CONFIG": "hook-of-ann", "$NOTE": "plans/of-ann", "$SESSION": "session-of-ann", "$NEW": "new-id-1",
	}
	post := func(path, body string) string {
		a := m.ask(&as, "ann", "v1.0", "POST "+path+"\n"+body)
		if !strings.HasPrefix(a, "200") && !strings.HasPrefix(a, "201") {
			m.t.Fatalf("%s: %s", path, a)
		}
		return a
	}
	a := post("/v1/a2a/ask/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","contextId":"context-of-ann",
		"parts":[{"text":"`+annsWord+`"},{"raw":"`+base64.StdEncoding.EncodeToString(bytes.Repeat([]byte(annsWord), 500))+`"}]},"metadata":{"sessionId":"session-of-ann"}}`)
	m.things["$ID"] = firstMatch(m.t, a, `"task":\{"id":"([^"]+)"`)
	m.things["$DIGEST"] = firstMatch(m.t, a, `/v1/parts/[^/"]+/([0-9a-f]{64})`)
	post("/v1/a2a/tasks/"+m.things["$ID"]+"/pushNotificationConfigs", `{"id":"hook-of-ann","url":"http://127.0.0.1:1/`+annsWord+`"}`)
	a = post("/api/v1/inbox", `{"text":"`+annsWord+`"}`)
	m.things["$ITEM"] = firstMatch(m.t, a, `"id":"([a-z2-7]{16})"`)
	a = m.ask(&as, "ann", "v1.0", "PUT /api/v1/memory/note?key=plans/of-ann\n"+`{"value":"`+annsWord+`","ttl":"2h"}`)
	if !strings.HasPrefix(a, "2") {
		m.t.Fatal(a)
	}
	m.things["$APPROVAL"] = m.approval()
	search := "GET /api/v1/tasks?q=" + annsWord
	for began := time.Now(); !strings.Contains(m.ask(&as, "ann", "v1.0", search), m.things["$ID"]); { // the index is behind
		if time.Since(began) > patience {
			m.t.Fatal("a search does not find the task of ann")
		}
	}
}

// approval makes ann's request of a gated agent wait for an approval, and returns the id of the
// item.
func (m *matrix) approval() string {
	m.t.Helper()
	as := schemes[0]
	post := func(who, request string) {
		if a := m.ask(&as, who, "v1.0", request); !strings.HasPrefix(a, "200") {
			m.t.Fatalf("%s: %s: %s", who, request, a)
		}
	}
	post("root", "POST /api/v1/trust\n"+`{"agentId":"ann-v1.0","level":"propose"}`)
	item := m.follow(&as, "root", "/api/v1/inbox/events", func() {
		post("ann", "POST /v1/a2a/gated/message:send\n"+`{"message":{"messageId":"g","role":"ROLE_USER","contextId":"context-of-ann-2",
			"parts":[{"text":"`+annsWord+`"}]},"configuration":{"returnImmediately":true}}`)
	}, `"kind":"approval"`)
	return firstMatch(m.t, item, `"id":"([a-z2-7]{16})"`)
}

func firstMatch(t *testing.T, s, expr string) string {
	t.Helper()
	found := regexp.MustCompile(expr).FindStringSubmatch(s)
	if found == nil {
		t.Fatalf("no %s in %s", expr, s)
	}
	return found[1]
}

// TestForeignInEveryDialect makes every request of every dialect, over every path of a tenant
// and with every scheme, with ann's ids and with ids that do not exist. A caller of another
// organisation, or of none, gets the same answer for both. A caller of ann's organisation gets
// ann's data.
func TestForeignInEveryDialect(t *testing.T) {
	t.Parallel()
	m := startMatrix(t)
	before := m.seen()
	// Requests that create objects come last, because lists would show these.
	m.eachStranger(t, "guesses", false)
	m.eachStranger(t, "claims", true)
	if after := m.seen(); after != before {
		t.Errorf("somebody has changed what ann sees, from %s\nto %s", before, after)
	}
	for _, s := range schemes {
		t.Run(s.name+"/amy", func(t *testing.T) {
			m.t = t
			m.share(&s)
		})
	}
	m.t = t
}

// eachStranger makes the requests that create objects, or the others, as each stranger.
func (m *matrix) eachStranger(t *testing.T, phase string, makes bool) {
	t.Helper()
	for _, s := range schemes {
		for _, who := range []string{"bob", "cat"} {
			t.Run(phase+"/"+s.name+"/"+who, func(t *testing.T) {
				m.t = t
				m.guess(&s, who, makes)
			})
		}
	}
	m.t = t
}

// seen returns ann's view of all her data.
func (m *matrix) seen() string {
	m.t.Helper()
	var all strings.Builder
	for _, request := range []string{
		"GET /v1/a2a/tasks?contextId=$CTX&includeArtifacts=true&historyLength=10", "GET /v1/a2a/tasks/$ID", "GET /v1/a2a/tasks/$ID/pushNotificationConfigs",
		"GET /api/v1/memory/note?key=$NOTE", "GET /api/v1/memory?prefix=plans/", "GET /api/v1/inbox/$ITEM",
		"GET /api/v1/memory/conversation?context=$CTX",
	} {
		a := m.ask(&schemes[0], "ann", "v1.0", m.things.in(request))
		if !strings.Contains(a, annsWord) {
			m.t.Errorf("ann does not see her own: %s: %s", request, a)
		}
		all.WriteString(a + "\n")
	}
	return all.String()
}

// guess makes every request twice, as a caller that is unrelated to ann.
func (m *matrix) guess(s *scheme, who string, makes bool) {
	m.t.Helper()
	tried := 0
	for _, r := range requests() {
		if r.makes != makes {
			continue
		}
		tried++
		var learned []string
		for _, g := range []things{m.things, missing} {
			a := m.ask(s, who, r.profile, g.in(r.text), r.header...)
			if strings.Contains(a, annsWord) {
				m.t.Errorf("%s: %s learns of ann: %s", r.name, who, a)
			}
			learned = append(learned, settled(g.out(a), r.makes))
		}
		if learned[0] != learned[1] {
			m.t.Errorf("%s: foreign and missing differ:\n%s\nforeign: %s\nmissing: %s", r.name, r.text, learned[0], learned[1])
		}
		if !r.makes && !r.empty && strings.HasPrefix(learned[0], "2") && !strings.Contains(learned[0], `"error"`) && !strings.Contains(learned[0], `"isError":true`) {
			m.t.Errorf("%s: %s is not refused: %s", r.name, who, learned[0])
		}
	}
	m.t.Logf("%d requests", 2*tried)
}

// share makes the reading requests as a caller of ann's organisation.
func (m *matrix) share(s *scheme) {
	m.t.Helper()
	for _, r := range requests() {
		if !r.reads || s.mute() && r.profile == dialecttest.Gateway {
			continue // it does not state the dialect of its caller
		}
		a := m.ask(s, "amy", r.profile, m.things.in(r.text), r.header...)
		if !strings.HasPrefix(a, "200 OK") || !anns.MatchString(a) {
			m.t.Errorf("%s: amy is not shown what is her organisation's:\n%s\n%s", r.name, r.text, a)
		}
	}
}

// anns matches the data of ann in an answer.
var anns = regexp.MustCompile(annsWord + `|"(id|name)": ?"[^"]*hook-of-ann"|"context(_i|I)d":"context-of-ann"`)

// uuids matches the ids of tasks and contexts.
var uuids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

var madeAnew = regexp.MustCompile(`run-[a-z2-7]{32}|chatcmpl-[A-Za-z0-9_-]+|[A-Z2-7]{26}|"(created|timestamp)":\d+|\d{4}-\d\d-\d\dT[0-9:.]+Z`)

// sessions matches the names of MCP sessions and streams.
var sessions = regexp.MustCompile(`Mcp-Session-Id: \S+\n|id: [A-Z2-7]{26}_\d+\n`)

// madeStream are the events of a stream of a task. How many there are, and what the first one has, depends on how far the
// agent was when the stream began.
var madeStream = regexp.MustCompile(`(?s)id: \d+\ndata: .*"state":("[^"]+").*`)

// settled returns an answer without values that differ from run to run. If made is set, ids and
// times are among them.
func settled(a string, made bool) string {
	a = sessions.ReplaceAllString(a, "")
	if made {
		a = uuids.ReplaceAllString(a, "uuid")
		a = madeAnew.ReplaceAllString(a, "new")
		a = madeStream.ReplaceAllString(a, "stream until $1")
	}
	return a
}

// attempt is a request of a client of some dialect.
type attempt struct {
	name, text, profile string
	header              []string
	// makes is set if the request creates an object of the caller, with any guess; empty if the
	// answer for a caller without such objects is an empty one.
	makes, empty bool
	// reads is set if an authorized caller gets data of ann.
	reads bool
}

// requests are all requests of the matrix: the operations of every dialect, over each path that
// leads to an agent, and those of every other surface.
func requests() []attempt {
	var all []attempt
	for _, to := range dialecttest.All() {
		for _, o := range dialecttest.Operations() {
			w, has := to.Has[o]
			if !has {
				continue
			}
			for i, text := range overPaths(w.Request) {
				all = append(all, attempt{
					name: fmt.Sprintf("%s of %s, path %d", o, to.Name, i), text: text, profile: profileOf(&to), header: versionOf(&to),
					makes: to.Name == dialecttest.Jobs || to.Name == "v1.0 REST" && (o == "next" || o == "stream"), // which let their callers choose ids
					empty: o == "list",
					reads: i == 0 && (o == "get" || o == "list" || o == "subscribe" || o == "pushGet" || o == "pushList"),
				})
			}
		}
	}
	for _, a := range append(parameters(), otherSurfaces()...) {
		a.profile = "v1.0"
		all = append(all, a)
	}
	return all
}

// parameters are requests of v1.0 with parameters that package dialecttest does not have.
func parameters() []attempt {
	at := func(name, text string, header ...string) attempt {
		return attempt{name: "v1.0: " + name, text: text, header: header}
	}
	return []attempt{
		reading(empty(at("a context in full", "GET /v1/a2a/tasks?contextId=$CTX&includeArtifacts=true&historyLength=100"))),
		reading(empty(at("a context and a state", "GET /v1/a2a/tasks?contextId=$CTX&status=TASK_STATE_INPUT_REQUIRED"))),
		reading(empty(at("a context since", "GET /v1/a2a/tasks?contextId=$CTX&statusTimestampAfter=2020-01-01T00:00:00Z"))),
		reading(at("without history", "GET /v1/a2a/tasks/$ID?historyLength=0")),
		reading(at("with its tree", "GET /v1/a2a/tasks/$ID", "A2A-Extensions", card.TaskTree)),
		reading(at("from version 1", "POST /v1/a2a/tasks/$ID:subscribe", "Last-Event-ID", "1")),
		at("from the future", "POST /v1/a2a/tasks/$ID:subscribe", "Last-Event-ID", "99"),
		at("from nonsense", "POST /v1/a2a/tasks/$ID:subscribe", "Last-Event-ID", "x"),
		reading(at("webhooks by one", "GET /v1/a2a/tasks/$ID/pushNotificationConfigs?pageSize=1")),
		at("a webhook without an id", "POST /v1/a2a/tasks/$ID/pushNotificationConfigs\n"+`{"url":"https://a.example/x"}`),
		at("a message with a webhook of it", "POST /v1/a2a/message:send\n"+`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},"configuration":{"taskPushNotificationConfig":{"taskId":"$ID","id":"$CONFIG","url":"https://a.example/x"}}}`),
		anew(at("a message in its context", "POST /v1/a2a/message:send\n"+`{"message":{"messageId":"m","role":"ROLE_USER","contextId":"$CTX","parts":[{"text":"x"}]}}`)),
		anew(at("a message that refers to it", "POST /v1/a2a/message:send\n"+`{"message":{"messageId":"m","role":"ROLE_USER","referenceTaskIds":["$ID"],"parts":[{"text":"x"}]}}`)),
		anew(at("its id is claimed", "POST /v1/a2a/message:send\n"+`{"message":{"messageId":"m","role":"ROLE_USER","taskId":"$ID","contextId":"$CTX","parts":[{"text":"x"}]}}`, "A2A-Extensions", card.ClientTaskIDs)),
	}
}

func profileOf(to *dialecttest.Tongue) string {
	for _, p := range profiles {
		if strings.HasPrefix(strings.ReplaceAll(to.Name, " job", ""), p) {
			return p
		}
	}
	return "v1.0"
}

func versionOf(to *dialecttest.Tongue) []string {
	if to.Version == "" {
		return nil
	}
	return []string{"A2A-Version", to.Version}
}

// overPaths returns a request over every path of a tenant: its own, that of the default agent,
// and that of an agent that does not have the task.
func overPaths(request string) []string {
	all := []string{request}
	for _, swap := range [][2]string{
		{"POST /a2a/ask\n", "POST /a2a\n"},
		{"POST /a2a/ask\n", "POST /\n"},
		{"POST /a2a/ask\n", "POST /a2a/ask/a2a\n"},
		{"POST /a2a/ask\n", "POST /a2a/echo\n"},
		{"/v1/a2a/ask/", "/v1/a2a/"},
		{"/v1/a2a/ask/", "/v1/a2a/echo/"},
		{" /v1/", " /a2a/ask/v1/"},
		{" /v1/", " /a2a/echo/v1/"},
		{`"tenant":"ask",`, ""},
		{`"tenant":"ask"`, `"tenant":"echo"`},
		{"/a2a/ask/tasks/send", "/tasks/send"},
	} {
		if swap[0] == " /v1/" && strings.Contains(request, " /v1/a2a/") {
			continue
		}
		if other := strings.Replace(request, swap[0], swap[1], 1); other != request {
			all = append(all, other)
		}
	}
	return all
}
