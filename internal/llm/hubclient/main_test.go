package hubclient_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
	"github.com/parley-a2a/parley/internal/llm/hubtools"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// Idle connections of the shared transport stay open until the process ends.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(hubtest.M{M: m},
		goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"), goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"))
}

// toolkit holds the tools of a hub by their names.
type toolkit struct {
	t     *testing.T
	hub   *hubtest.Hub
	tools map[string]llm.Tool
	order []string
}

// open returns the tools for a session of a hub.
func open(t *testing.T, h *hubtest.Hub, session string) *toolkit {
	t.Helper()
	return kitOf(t, h, &hubtools.Toolbox{Hub: &hubclient.Hub{URL: h.URL()}, Session: session})
}

func kitOf(t *testing.T, h *hubtest.Hub, s llm.Source) *toolkit {
	t.Helper()
	list, err := s.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	k := &toolkit{t: t, hub: h, tools: map[string]llm.Tool{}}
	for _, tool := range list {
		k.tools[tool.Name] = tool
		k.order = append(k.order, tool.Name)
	}
	return k
}

// call calls a tool with JSON.
func (k *toolkit) call(name, args string) *llm.Result {
	k.t.Helper()
	return k.with(k.t.Context(), name, &llm.Call{Arguments: json.RawMessage(args)})
}

// with calls a tool, and checks that its result matches its schema.
func (k *toolkit) with(ctx context.Context, name string, c *llm.Call) *llm.Result {
	k.t.Helper()
	tool, ok := k.tools[name]
	if !ok {
		k.t.Fatalf("there is no tool %s", name)
	}
	r, err := tool.Call(ctx, c)
	if err != nil {
		k.t.Fatalf("%s(%s) = %v", name, c.Arguments, err)
	}
	if !r.Error {
		checkOutput(k.t, &tool, r)
	}
	return r
}

// data returns the structured part of a result.
func data(t *testing.T, r *llm.Result) map[string]any {
	t.Helper()
	m, ok := r.Parts[0].Data().(map[string]any)
	if !ok || r.Error {
		t.Fatalf("the result is %s", text(r))
	}
	return m
}

// text returns the texts of a result.
func text(r *llm.Result) string {
	var b strings.Builder
	for _, p := range r.Parts {
		if d, ok := p.Content.(a2a.Data); ok {
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			if e.Encode(d.Value) != nil {
				return "no JSON"
			}
		}
		b.WriteString(p.Text())
	}
	return b.String()
}

// unquoted returns the words between the labels of a text.
func unquoted(t *testing.T, quoted any) string {
	t.Helper()
	text, _ := quoted.(string)
	_, text, ok := strings.Cut(text, ">\n")
	end := strings.LastIndex(text, "\n</quoted")
	if !ok || end < 0 {
		t.Fatalf("there are no labels at %q", quoted)
	}
	return text[:end]
}
