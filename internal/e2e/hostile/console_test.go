package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pagesOfTasks are the requests of a browser that name something of ann. Those with a body are
// forms.
var pagesOfTasks = []string{
	"task?id=$ID", "task?id=$ID&after=0", "task?id=$ID&owner=$OWNER", "task/entry?id=$ID&v=1", "task/entry?id=$ID&v=1&owner=$OWNER", "task/raw?id=$ID&v=1", "task/raw?id=$ID&v=1&as=v0.3",
	"task/raw?id=$ID&v=1&owner=$OWNER", "task/part?id=$ID&v=1&part=0", "task/part?id=$ID&v=1&part=1", "task/part?id=$ID&v=1&part=1&owner=$OWNER", "task/events?id=$ID", "task/events?id=$ID&owner=$OWNER&after=0",
	"tasks?id=$ID", "tasks?q=$ID", "tasks?context=$CTX", "tasks?q=" + strings.ToUpper(annsWord), "tasks?owner=$OWNER", "tasks?scope=all&owner=$OWNER", "tasks?scope=all&id=$ID", "try?agent=ask&context=$CTX", "counts/events?scope=all&owner=$OWNER",
	"inbox?state=all&task=$ID", "webhooks?task=$ID", "dead?queue=$ID", "audit?task=$ID", "sign-in?next=/console/task?id=$ID", "conformance?id=$ID", "samples?id=$ID", "agents?agent=$ID", "queues?find=$ID", "compare?a=$ID", "compare?a=$ID&ao=$OWNER", "compare?b=$ID&a=$ID", "keys?find=$OWNER", "policy?caller=$OWNER&agent=ask", "calls?find=$OWNER", "costs?find=$OWNER", "context?context=$CTX", "context?context=$CTX&owner=$OWNER", "context\ncontext=$CTX&agent=ask&id=$ID&text=x", "keys\nid=$ID&verb=revoke",
	"task/cancel\nid=$ID", "task/cancel\nid=$ID&owner=$OWNER", "task/answer\nid=$ID&text=x", "task/operate\nid=$ID&verb=fail&reason=x", "task/operate\nid=$ID&owner=$OWNER&verb=redrive",
	"task/item?id=$ID&from=1&to=1", "task/item?id=$ID&from=1&to=1&owner=$OWNER", "task/again\nid=$ID&key=" + formKey, "task/again\nid=$ID&owner=$OWNER&key=" + formKey, "try\nagent=ask&context=$CTX&id=$ID&text=x",
	"tasks/stop\nverb=all&owner=$OWNER", "tasks/stop\nverb=all&scope=all&context=$CTX", "tasks/stop\nverb=chosen&task=id%3D$ID", "tasks/stop\nverb=stop&task=id%3D$ID&task=id%3D$ID%26owner%3D$OWNER",
	"agents\nverb=pause&agent=$ID", "queues?find=$OWNER",
	"inbox\nid=$ITEM&verb=answer&text=x", "inbox\nid=$ITEM&verb=refuse", "inbox\nid=$APPROVAL&verb=approve", "inbox\nid=$APPROVAL&verb=refuse", "webhooks\nid=$ID&config=$CONFIG", "dead\nid=$ID&verb=drop", "conformance\nurl=$ID", "conformance?url=$ID",
}

// formKey is the key that a form for a new task has.
const formKey = "0c6f1f0e-3b0e-4b60-9c4c-0c3d6d1f7a11"

// TestEveryPageIsAsked: pagesOfTasks has each page and form of the console, but those that take no id.
func TestEveryPageIsAsked(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(filepath.Join("..", "..", "front", "console", "console.go"))
	if err != nil {
		t.Fatal(err)
	}
	without := []string{"POST sign-in", "POST sign-out", "GET audit/verify"}
	routes := regexp.MustCompile(`"(GET|POST) /console/([a-z/-]+)"`).FindAllSubmatch(source, -1)
	if len(routes) < 35 {
		t.Fatalf("console.go has %d routes", len(routes))
	}
	for _, r := range routes {
		method, path := string(r[1]), string(r[2])
		form := method == http.MethodPost
		asked := slices.ContainsFunc(pagesOfTasks, func(request string) bool {
			to, _, posts := strings.Cut(request, "\n")
			to, _, _ = strings.Cut(to, "?")
			return to == path && posts == form
		})
		if !asked && !slices.Contains(without, method+" "+path) {
			t.Errorf("pagesOfTasks lacks %s %s", method, path)
		}
	}
}

// visitor is a browser without a script.
type visitor struct {
	m      *matrix
	client *http.Client
	form   string // the token of its forms
}

var formToken = regexp.MustCompile(`name="token" value="([^"]+)"`)

// visit signs a caller in. A certificate needs no sign-in.
func (m *matrix) visit(s *scheme, who string) *visitor {
	m.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		m.t.Fatal(err)
	}
	shared := m.client(s, who).http
	v := &visitor{m: m, client: &http.Client{Timeout: shared.Timeout, Transport: shared.Transport, Jar: jar}}
	v.request("sign-in")
	if s.header == nil {
		return v
	}
	_, key := s.header(m, who, "v1.0")
	if a := v.request("sign-in\nkey=" + url.QueryEscape(strings.TrimPrefix(key, "Bearer "))); !strings.HasPrefix(a, "200") || !strings.Contains(a, "Sign out") {
		m.t.Fatalf("%s does not sign in: %s", who, a)
	}
	return v
}

// request sends a request of pagesOfTasks and returns status, headers and body after redirections.
// Of a stream it returns the first bytes.
func (v *visitor) request(request string) string {
	v.m.t.Helper()
	path, form, posts := strings.Cut(request, "\n")
	ctx, cancel := context.WithCancel(v.m.t.Context())
	defer cancel()
	method, body := http.MethodGet, ""
	if posts {
		method, body = http.MethodPost, form+"&token="+url.QueryEscape(v.form)
	}
	r, err := http.NewRequestWithContext(ctx, method, v.m.url+"/console/"+path, strings.NewReader(body))
	if err != nil {
		v.m.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := v.client.Do(r)
	if err != nil {
		v.m.t.Fatal(err)
	}
	defer resp.Body.Close()
	var b []byte
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		b = make([]byte, 14)
		_, err = io.ReadFull(resp.Body, b)
	} else {
		b, err = io.ReadAll(resp.Body)
	}
	if err != nil {
		v.m.t.Fatal(err)
	}
	if found := formToken.FindSubmatch(b); found != nil {
		v.form = string(found[1])
	}
	resp.Header.Del("Date")
	var all strings.Builder
	fmt.Fprintln(&all, resp.Status, resp.Request.URL.RequestURI())
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		fmt.Fprintln(&all, name, resp.Header[name])
	}
	return all.String() + string(b)
}

// short are the forms in which pages show ids.
func (g things) short() things {
	all := maps.Clone(g)
	for _, name := range []string{"$ID", "$CTX"} {
		if v := g[name]; len(v) > 13 {
			all["~"+name] = v[:8] + "…" + v[len(v)-4:]
		}
	}
	for name, v := range g {
		if q := url.QueryEscape(v); q != v {
			all["%"+name] = q
		}
	}
	return all
}

// TestConsoleOfOthers makes each request of a browser with ann's ids, and with ids that do not
// exist. A caller of another organisation, or of none, gets the same bytes for both.
func TestConsoleOfOthers(t *testing.T) {
	t.Parallel()
	m := startMatrix(t)
	before := m.seen()
	known, unknown := maps.Clone(m.things), maps.Clone(missing)
	known["$OWNER"], unknown["$OWNER"] = "org:acme", "org:none"
	for _, s := range schemes {
		for _, who := range []string{"bob", "cat"} {
			v := m.visit(&s, who)
			for _, request := range pagesOfTasks {
				got, want := v.request(known.in(request)), v.request(unknown.in(request))
				if strings.Contains(got, annsWord) {
					t.Errorf("%s, %s: %s learns of ann: %s", s.name, request, who, got)
				}
				if got, want := known.short().out(got), unknown.short().out(want); got != want {
					t.Errorf("%s, %s: foreign and missing differ for %s:\n%s", s.name, request, who, cmp.Diff(want, got))
				}
			}
			for _, page := range []string{"", "tasks", "inbox?state=all", "agents"} {
				if a := v.request(page); !strings.HasPrefix(a, "200") || strings.Contains(a, annsWord) || strings.Contains(a, "<b>1</b>") || strings.Contains(a, "<b>2</b>") {
					t.Errorf("%s, %q: %s sees something of ann: %s", s.name, page, who, a)
				}
			}
		}
		amy := m.visit(&s, "amy")
		for _, request := range []string{"task?id=$ID", "task/entry?id=$ID&v=1", "task/part?id=$ID&v=1&part=1"} {
			if a := amy.request(known.in(request)); !strings.HasPrefix(a, "200") || !strings.Contains(a, annsWord) {
				t.Errorf("%s, %s: amy is not shown the data of her organisation: %s", s.name, request, a)
			}
		}
		if a := amy.request("tasks?context=context-of-ann"); !strings.Contains(a, "<b>1</b>") {
			t.Errorf("%s: amy sees no count: %s", s.name, a)
		}
	}
	if after := m.seen(); after != before {
		t.Errorf("a stranger has changed ann's data from %s\nto %s", before, after)
	}
}

// TestEveryOperationOfOthers calls each operation of /api/v1/openapi.json with ann's ids in the place
// of its parameters, and with ids that do not exist. So no operation is forgotten.
func TestEveryOperationOfOthers(t *testing.T) {
	t.Parallel()
	m := startMatrix(t)
	before := m.seen()
	s := &schemes[0]
	_, text, _ := strings.Cut(m.ask(s, "bob", "v1.0", "GET /api/v1/openapi.json"), "\n{")
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte("{"+text), &doc); err != nil || len(doc.Paths) < 40 {
		t.Fatalf("%d paths, %v", len(doc.Paths), err)
	}
	parameter := regexp.MustCompile(`\{[^}]+\}`)
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			if method == "parameters" || method == "put" {
				continue // bob may write notes for himself
			}
			for _, thing := range []string{"$ID", "$ITEM", "$CONFIG", "$NOTE"} {
				request := strings.ToUpper(method) + " " + parameter.ReplaceAllLiteralString(path, thing) + "?id=" + thing + "&key=" + thing + "&task=" + thing + "&follow=false"
				if method != "get" {
					request += "\n{}"
				}
				got, want := m.ask(s, "bob", "v1.0", m.things.in(request)), m.ask(s, "bob", "v1.0", missing.in(request))
				if strings.Contains(got, annsWord) {
					t.Errorf("%s: bob learns of ann: %s", request, got)
				}
				if got, want := settled(m.things.out(got), true), settled(missing.out(want), true); got != want {
					t.Errorf("%s: foreign and missing differ:\nforeign: %s\nmissing: %s", request, got, want)
				}
				if !strings.Contains(path, "{") && method == "get" && !strings.Contains(path, "note") {
					break // it has no place for an id
				}
			}
		}
	}
	if after := m.seen(); after != before {
		t.Errorf("bob has changed ann's data from %s\nto %s", before, after)
	}
}
