package httpfront_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/httpfront"
)

const (
	geoURI  = "https://example.com/ext/geo/v1"
	citeURI = "https://example.com/ext/cite/v1"
)

// extensive is an agent that requires geo and knows cite.
func extensive() engine.Agent {
	a := newAgent("extensive", echo())
	a.Card.Capabilities.Extensions = []a2a.AgentExtension{{URI: geoURI, Required: true}, {URI: citeURI}}
	return a
}

// extensionCalls returns the calls whose answers name active extensions, for a task of the
// agent.
func extensionCalls(t *testing.T, h *hub) map[string]func(headers ...string) *answer {
	t.Helper()
	made := h.do("POST", "/v1/a2a/extensive/message:send", message("hello"), "A2A-Extensions: "+geoURI)
	id := between(t, made.body, `"id":"`, `"`)
	calls := map[string]func(headers ...string) *answer{}
	for name, c := range map[string][3]string{
		"rest send":   {"POST", "/v1/a2a/extensive/message:send", message("hello")},
		"rest stream": {"POST", "/v1/a2a/extensive/message:stream", message("hello")},
		"rest get":    {"GET", "/v1/a2a/tasks/" + id, ""},
		"rest list":   {"GET", "/v1/a2a/extensive/tasks", ""},
		"rpc send":    {"POST", "/a2a/extensive", rpc("SendMessage", message("hello"))},
		"rpc stream":  {"POST", "/a2a/extensive", rpc("SendStreamingMessage", message("hello"))},
		"rpc get":     {"POST", "/a2a", rpc("GetTask", `{"id":"`+id+`"}`)},
		"rpc list":    {"POST", "/a2a", rpc("ListTasks", `{"tenant":"extensive"}`)},
	} {
		calls[name] = func(headers ...string) *answer {
			return h.do(c[0], c[1], c[2], append(headers, v1)...)
		}
	}
	// A reader that resumes a task that has ended.
	calls["rest resume"] = func(headers ...string) *answer {
		return h.do("POST", "/v1/a2a/tasks/"+id+":subscribe", "", append(headers, v1, "Last-Event-ID: 1")...)
	}
	return calls
}

func between(t *testing.T, s, before, after string) string {
	t.Helper()
	_, s, ok := strings.Cut(s, before)
	s, _, found := strings.Cut(s, after)
	if !ok || !found {
		t.Fatalf("no %s…%s in the answer", before, after)
	}
	return s
}

// TestActivatedExtensions checks that active extensions are named in the header of v1.0, and in
// that of v0.3 for callers that use it.
func TestActivatedExtensions(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{}, newAgent("echo", echo()), extensive())
	both := geoURI + "," + citeURI
	for name, call := range extensionCalls(t, h) {
		for _, tt := range []struct {
			headers  []string
			want, v0 string
		}{
			{[]string{"A2A-Extensions: " + both}, both, ""},
			{[]string{"a2a-extensions: https://example.com/other , " + citeURI + ",," + geoURI + "," + citeURI}, citeURI + "," + geoURI, ""},
			{[]string{"X-A2A-Extensions: " + geoURI}, geoURI, geoURI},
			{[]string{"A2A-Extensions: " + citeURI, "X-A2A-Extensions: " + both}, citeURI + "," + geoURI, citeURI + "," + geoURI},
		} {
			a := call(tt.headers...)
			if a.code != http.StatusOK || strings.Contains(a.body, `"error"`) {
				t.Errorf("%s with %v: %d %s", name, tt.headers, a.code, a.body)
			}
			if got, v0 := a.header.Get("A2A-Extensions"), a.header.Get("X-A2A-Extensions"); got != tt.want || v0 != tt.v0 {
				t.Errorf("%s with %v answers with A2A-Extensions %q and X-A2A-Extensions %q, want %q and %q",
					name, tt.headers, got, v0, tt.want, tt.v0)
			}
		}
	}
}

// TestRequiredExtensions checks that without the required extension every call is refused, and
// nothing is activated.
func TestRequiredExtensions(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{}, newAgent("echo", echo()), extensive())
	for name, call := range extensionCalls(t, h) {
		for _, header := range []string{"A2A-Extensions:", "A2A-Extensions: " + citeURI, "X-A2A-Extensions: https://example.com/ext/geo/v2"} {
			a := call(header)
			code, want := http.StatusOK, `"code":-32008`
			if strings.HasPrefix(name, "rest") {
				code, want = http.StatusBadRequest, `"status":"FAILED_PRECONDITION"`
			}
			if a.code != code || !strings.Contains(a.body, want) || !strings.Contains(a.body, "EXTENSION_SUPPORT_REQUIRED") || !strings.Contains(a.body, geoURI) {
				t.Errorf("%s with %q: %d %s, want %d with %s", name, header, a.code, a.body, code, want)
			}
			if got := a.header.Values("A2A-Extensions"); len(got) > 0 {
				t.Errorf("%s with %q activates %q", name, header, got)
			}
		}
	}
}

// TestUndeclaredExtensions checks that an agent that declares nothing activates nothing, and
// that the card can be read without any extension.
func TestUndeclaredExtensions(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{}, newAgent("echo", echo()), extensive())
	a := h.do("POST", "/v1/a2a/echo/message:send", message("hello"), "A2A-Extensions: "+geoURI)
	if got := a.header.Values("A2A-Extensions"); a.code != http.StatusOK || len(got) > 0 {
		t.Errorf("send = %d with A2A-Extensions %q, want 200 without", a.code, got)
	}
	a = h.do("GET", "/a2a/extensive/.well-known/agent-card.json", "")
	if a.code != http.StatusOK || !strings.Contains(a.body, `"uri":"`+geoURI+`"`) || !strings.Contains(a.body, `"required":true`) {
		t.Errorf("card = %d %s, want it to declare %s", a.code, a.body, geoURI)
	}
}

// TestManyExtensions checks that only the first hundred extensions of a request are used.
func TestManyExtensions(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{}, extensive())
	var others []string
	for i := range 99 {
		others = append(others, fmt.Sprint("urn:x:", i))
	}
	head := "A2A-Extensions: " + strings.Join(others, ",") + ","
	if a := h.do("POST", "/v1/a2a/message:send", message("hello"), head+geoURI); a.code != http.StatusOK {
		t.Errorf("the hundredth extension does not count: %d %s", a.code, a.body)
	}
	if a := h.do("POST", "/v1/a2a/message:send", message("hello"), head+"urn:x:99,"+geoURI); a.code != http.StatusBadRequest {
		t.Errorf("the extension after a hundred counts: %d %s", a.code, a.body)
	}
}

// TestExtensionsOfV03 checks that callers of v0.3 have their own header, but no error code of
// their own for missing extensions.
func TestExtensionsOfV03(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{}, extensive())
	old := rpc("message/send", `{"message":{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"hello"}]}}`)
	a := h.do("POST", "/a2a", old, "X-A2A-Extensions: "+geoURI)
	if got := a.header.Get("X-A2A-Extensions"); got != geoURI || !strings.Contains(a.body, `"state":"completed"`) {
		t.Errorf("send = %d %s with X-A2A-Extensions %q, want a completed task with %s", a.code, a.body, got, geoURI)
	}
	a = h.do("POST", "/a2a", old)
	if !strings.Contains(a.body, `"code":-32004`) || !strings.Contains(a.body, geoURI) {
		t.Errorf("send without = %d %s, want -32004 that names %s", a.code, a.body, geoURI)
	}
}
