package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/llm/mcp/mcpserver"
)

func names(t *testing.T, cs *mcp.ClientSession) []string {
	t.Helper()
	var all []string
	for tool, err := range cs.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatalf("Tools: %v", err)
		}
		all = append(all, tool.Name)
	}
	return all
}

func TestToolsAreListedAndCalled(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w wire) {
		cs := w.connect(t, &mcpserver.Server{Tools: newSource(echo, asks)}, nil)
		if diff := cmp.Diff([]string{"asks", "echo"}, names(t, cs)); diff != "" {
			t.Errorf("tools mismatch (-want +got):\n%s", diff)
		}
		if got, want := text(call(t, cs, "echo", map[string]any{"a": 1})), `{"a":1}`; got != want {
			t.Errorf("echo = %q, want %q", got, want)
		}
		_, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "nothing"})
		if err == nil || !strings.Contains(err.Error(), `unknown tool "nothing"`) {
			t.Errorf("an unknown tool gives %v", err)
		}
	})
}

func TestToolsChange(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w wire) {
		received := make(chan struct{}, 10)
		src := newSource(echo)
		cs := w.connect(t, &mcpserver.Server{Tools: src}, &mcp.ClientOptions{
			ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { received <- struct{}{} },
		})
		names(t, cs)
		src.set(nil, asks)
		receive(t, "the news", received)
		if diff := cmp.Diff([]string{"asks"}, names(t, cs)); diff != "" {
			t.Errorf("tools mismatch (-want +got):\n%s", diff)
		}
	})
}

// A client that lists tools while they change receives either the old ones or the new ones.
func TestToolsChangeAtOnce(t *testing.T) {
	t.Parallel()
	sets := make([][]llm.Tool, 2)
	for i, word := range []string{"old", "new"} {
		for n := range 50 {
			sets[i] = append(sets[i], tool(fmt.Sprint(word, n), echo.Call))
		}
	}
	src := newSource(sets[0]...)
	received := make(chan struct{}, 1)
	cs := wires[0].connect(t, &mcpserver.Server{Tools: src}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case received <- struct{}{}:
			default:
			}
		},
	})
	for i := range 40 {
		src.set(nil, sets[(i+1)%2]...)
		for range 3 {
			all := names(t, cs)
			if len(all) != 50 || all[0][:3] != all[49][:3] {
				t.Fatalf("in change %d there are %q", i, all)
			}
		}
		receive(t, "the news", received)
	}
}

// runner is a source that runs.
type runner struct {
	*source

	ran chan struct{}
}

func (r *runner) Run(ctx context.Context) error {
	<-ctx.Done()
	close(r.ran)
	return ctx.Err()
}

// A Runner runs as long as the server.
func TestRunner(t *testing.T) {
	t.Parallel()
	r := &runner{newSource(echo), make(chan struct{})}
	in, _ := startPipe(t, &mcpserver.Server{Tools: r})
	_ = in.Close()
	receive(t, "the end of the source", r.ran)
}

// Tools that cannot be listed at first are listed later.
func TestToolsComeLater(t *testing.T) {
	t.Parallel()
	received := make(chan struct{}, 10)
	src := newSource()
	src.set(errors.New("the hub is away"))
	cs := wires[1].connect(t, &mcpserver.Server{Tools: src}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { received <- struct{}{} },
	})
	if got := names(t, cs); len(got) > 0 {
		t.Errorf("tools = %v, want none", got)
	}
	src.set(nil, echo)
	receive(t, "the news", received)
	if diff := cmp.Diff([]string{"echo"}, names(t, cs)); diff != "" {
		t.Errorf("tools mismatch (-want +got):\n%s", diff)
	}
}

func TestBadToolsAreNotOffered(t *testing.T) {
	t.Parallel()
	list := tool("list", echo.Call)
	list.Input = []byte(`{"type":"array"}`)
	broken := tool("broken", echo.Call)
	broken.Input = []byte(`{`)
	cs := wires[1].connect(t, &mcpserver.Server{Tools: newSource(list, broken, echo, tool("", echo.Call))}, nil)
	if diff := cmp.Diff([]string{"echo"}, names(t, cs)); diff != "" {
		t.Errorf("tools mismatch (-want +got):\n%s", diff)
	}
}

func TestChoice(t *testing.T) {
	t.Parallel()
	cs := wires[1].connect(t, &mcpserver.Server{
		Tools: newSource(echo, asks, tool("other", echo.Call)), Choice: llm.Filter{Allow: []string{"e*", "a*"}, Block: []string{"asks"}},
	}, nil)
	if diff := cmp.Diff([]string{"echo"}, names(t, cs)); diff != "" {
		t.Errorf("tools mismatch (-want +got):\n%s", diff)
	}
	if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "asks"}); err == nil {
		t.Error("a blocked tool was called")
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	works := tool("works", func(_ context.Context, c *llm.Call) (*llm.Result, error) {
		c.Progress(llm.Progress{Agent: "slow", State: "working", Text: "one"})
		for range 1000 {
			c.Progress(llm.Progress{Agent: "slow", State: "working", Text: "flood"})
		}
		c.Progress(llm.Progress{Agent: "slow", State: "completed"})
		return textResult("done"), nil
	})
	everywhere(t, func(t *testing.T, w wire) {
		var mu sync.Mutex
		var got []string
		last := make(chan struct{}, 1)
		cs := w.connect(t, &mcpserver.Server{Tools: newSource(works)}, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, r.Params.Message)
				if r.Params.Message == "slow completed" {
					last <- struct{}{}
				}
			},
		})
		params := &mcp.CallToolParams{Name: "works"}
		params.SetProgressToken("token")
		if _, err := cs.CallTool(t.Context(), params); err != nil {
			t.Fatalf("CallTool: %v", err)
		}
		receive(t, "the last piece of progress", last)
		mu.Lock()
		defer mu.Unlock()
		if got[0] != "slow working: one" || len(got) > 100 {
			t.Errorf("%d pieces of progress, the first %q", len(got), got[0])
		}
	})
}

// blocks returns a tool that reports its start and the cause of its end.
func blocks() (_ llm.Tool, began chan struct{}, ended chan error) {
	began, ended = make(chan struct{}, 10), make(chan error, 10)
	return tool("blocks", func(ctx context.Context, _ *llm.Call) (*llm.Result, error) {
		began <- struct{}{}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, context.Cause(ctx)
	}), began, ended
}

func TestCancel(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w wire) {
		blocks, began, ended := blocks()
		cs := w.connect(t, &mcpserver.Server{Tools: newSource(blocks)}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		answered := make(chan error, 1)
		go func() {
			_, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "blocks"})
			answered <- err
		}()
		receive(t, "the call", began)
		cancel()
		if err := receive(t, "the answer", answered); !errors.Is(err, context.Canceled) {
			t.Errorf("CallTool: %v", err)
		}
		receive(t, "the end of the tool", ended)
	})
}

// If a host closes its pipe, its calls end.
func TestHostGoesAway(t *testing.T) {
	t.Parallel()
	blocks, began, ended := blocks()
	in, out := startPipe(t, &mcpserver.Server{Tools: newSource(blocks)})
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.IOTransport{Reader: out, Writer: in}, nil)
	if err != nil {
		t.Fatalf("Connect: %v", err)
	}
	answered := make(chan *mcp.CallToolResult, 1)
	go func() {
		res, _ := cs.CallTool(context.WithoutCancel(t.Context()), &mcp.CallToolParams{Name: "blocks"})
		answered <- res
	}()
	receive(t, "the call", began)
	_ = in.Close()
	receive(t, "the end of the tool", ended)
	// A host that still reads receives the failure of the call.
	if res := receive(t, "the answer", answered); res == nil || !res.IsError || !strings.Contains(text(res), "the server ends") {
		t.Errorf("the call gives %+v", res)
	}
}

func TestElicitation(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w wire) {
		for action, want := range map[string]string{"accept": "answered: Rome", "decline": "refused", "cancel": "refused"} {
			cs := w.connect(t, &mcpserver.Server{Tools: newSource(asks)}, &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					if got, want := r.Params.Message, "interview asks: Which city?"; got != want {
						t.Errorf("question = %q, want %q", got, want)
					}
					return &mcp.ElicitResult{Action: action, Content: map[string]any{"answer": "Rome"}}, nil
				},
			})
			if got := text(call(t, cs, "asks", nil)); got != want {
				t.Errorf("after %s: %q, want %q", action, got, want)
			}
		}
	})
}

func TestSecondQuestion(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w wire) {
		answers := make(chan string, 2)
		answers <- "again"
		answers <- "Oslo"
		cs := w.connect(t, &mcpserver.Server{Tools: newSource(asks)}, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": <-answers}}, nil
			},
		})
		if got, want := text(call(t, cs, "asks", nil)), "answered: Oslo"; got != want {
			t.Errorf("asks = %q, want %q", got, want)
		}
	})
}

func TestHostWithoutElicitation(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w wire) {
		cs := w.connect(t, &mcpserver.Server{Tools: newSource(asks)}, nil)
		if got, want := text(call(t, cs, "asks", nil)), "nobody is there"; got != want {
			t.Errorf("asks = %q, want %q", got, want)
		}
	})
}

func TestContent(t *testing.T) {
	t.Parallel()
	object := a2a.NewDataPart(map[string]any{"sum": 3.0})
	image := a2a.NewRawPart([]byte("png"))
	image.MediaType, image.Filename = "image/png", "a.png"
	sound := a2a.NewRawPart([]byte("wav"))
	sound.MediaType = "audio/wav"
	file := a2a.NewRawPart([]byte("pdf"))
	file.MediaType, file.Filename = "application/pdf", "a b.pdf"
	noted := a2a.NewTextPart("hi")
	noted.Metadata = map[string]any{"k": "v"}
	all := tool("all", func(context.Context, *llm.Call) (*llm.Result, error) {
		return &llm.Result{Origin: "alien", Error: true, Parts: []*a2a.Part{
			noted, a2a.NewDataPart([]any{1.0}), object, image, sound, file, a2a.NewFileURLPart("https://x.example/f", "text/css"),
		}}, nil
	})
	cs := wires[1].connect(t, &mcpserver.Server{Tools: newSource(all)}, nil)
	got := call(t, cs, "all", nil)
	origin := func(more ...any) mcp.Meta {
		m := mcp.Meta{"parley/origin": "alien"}
		for i := 0; i < len(more); i += 2 {
			m[more[i].(string)] = more[i+1]
		}
		return m
	}
	want := &mcp.CallToolResult{
		IsError: true, StructuredContent: map[string]any{"sum": 3.0},
		Content: []mcp.Content{
			&mcp.TextContent{Text: "hi", Meta: origin("parley/metadata", map[string]any{"k": "v"})},
			&mcp.TextContent{Text: "[1]", Meta: origin("parley/data", true)},
			&mcp.TextContent{Text: `{"sum":3}`, Meta: origin("parley/data", true)},
			&mcp.ImageContent{Data: []byte("png"), MIMEType: "image/png", Meta: origin("parley/filename", "a.png")},
			&mcp.AudioContent{Data: []byte("wav"), MIMEType: "audio/wav", Meta: origin()},
			&mcp.EmbeddedResource{
				Resource: &mcp.ResourceContents{URI: "parley:part/5", MIMEType: "application/pdf", Blob: []byte("pdf")},
				Meta:     origin("parley/filename", "a b.pdf"),
			},
			&mcp.ResourceLink{URI: "https://x.example/f", Name: "https://x.example/f", MIMEType: "text/css", Meta: origin()},
		},
	}
	if diff := cmp.Diff(want.Content, got.Content); diff != "" {
		t.Errorf("content mismatch (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.StructuredContent, got.StructuredContent); diff != "" || !got.IsError {
		t.Errorf("structured content mismatch (-want +got):\n%s; error = %v", diff, got.IsError)
	}
}

func TestLargeResults(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("lang ", 1000)
	large := tool("large", func(context.Context, *llm.Call) (*llm.Result, error) { return textResult(long), nil })
	everywhere(t, func(t *testing.T, w wire) {
		cs := w.connect(t, &mcpserver.Server{
			Tools: newSource(large), Limits: mcpserver.Limits{Result: 1000, Kept: 12_000},
		}, nil)
		link := func() *mcp.ResourceLink {
			res := call(t, cs, "large", nil)
			link, ok := res.Content[0].(*mcp.ResourceLink)
			if !ok || !strings.Contains(link.Description, "It begins: lang lang") || *link.Size != int64(len(long)) {
				t.Fatalf("content = %+v", res.Content[0])
			}
			return link
		}
		first := link()
		got, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: first.URI})
		if err != nil || got.Contents[0].Text != long {
			t.Errorf("ReadResource: %v", err)
		}
		link()
		link() // two results fit
		if _, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: first.URI}); err == nil {
			t.Error("the name result is still there")
		}
	})
}

// The preview of a large result would cut a label: there is none.
func TestLargeLabelledResults(t *testing.T) {
	t.Parallel()
	long := guard.Label(guard.Agent("x"), strings.Repeat("lang ", 1000))
	for name, result := range map[string]*llm.Result{
		"text": textResult(long), "data": {Parts: []*a2a.Part{a2a.NewDataPart(map[string]any{"result": long})}},
	} {
		large := tool("large", func(context.Context, *llm.Call) (*llm.Result, error) { return result, nil })
		cs := wires[0].connect(t, &mcpserver.Server{Tools: newSource(large), Limits: mcpserver.Limits{Result: 1000, Kept: 12_000}}, nil)
		link, ok := call(t, cs, "large", nil).Content[0].(*mcp.ResourceLink)
		if !ok || strings.Contains(link.Description, "lang") {
			t.Errorf("%s: the description is %+v", name, link)
		}
	}
}

func TestLimitsOfCalls(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w wire) {
		blocks, began, _ := blocks()
		cs := w.connect(t, &mcpserver.Server{
			Tools: newSource(blocks, echo), Limits: mcpserver.Limits{Calls: 1, Arguments: 100},
		}, nil)
		res := call(t, cs, "echo", map[string]any{"a": strings.Repeat("a", 200)})
		if got := text(res); !res.IsError || !strings.Contains(got, "the maximum is 100") {
			t.Errorf("large arguments give %q", got)
		}
		res = call(t, cs, "echo", []string{"a"})
		if got := text(res); !res.IsError || !strings.Contains(got, "not a JSON object") {
			t.Errorf("a list of arguments gives %q", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = cs.CallTool(ctx, &mcp.CallToolParams{Name: "blocks"})
		}()
		receive(t, "the call", began)
		res = call(t, cs, "echo", nil)
		if got := text(res); !res.IsError || !strings.Contains(got, "1 calls are under way") {
			t.Errorf("a second call gives %q", got)
		}
		cancel()
		<-done
	})
}

func TestToolPanics(t *testing.T) {
	t.Parallel()
	bad := tool("bad", func(context.Context, *llm.Call) (*llm.Result, error) { panic("oh") })
	cs := wires[0].connect(t, &mcpserver.Server{Tools: newSource(bad, echo)}, nil)
	if res := call(t, cs, "bad", nil); !res.IsError || text(res) != "internal error" {
		t.Errorf("a panic gives %q", text(res))
	}
	call(t, cs, "echo", nil)
}

func TestLibrary(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w wire) {
		updated := make(chan string, 10)
		library := &fakeLibrary{text: "{}", changes: make(chan struct{})}
		cs := w.connect(t, &mcpserver.Server{Tools: newSource(), Library: library}, &mcp.ClientOptions{
			ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
		})
		var got []string
		for r, err := range cs.Resources(t.Context(), nil) {
			if err != nil {
				t.Fatalf("Resources: %v", err)
			}
			got = append(got, r.URI)
		}
		for r, err := range cs.ResourceTemplates(t.Context(), nil) {
			if err != nil {
				t.Fatalf("ResourceTemplates: %v", err)
			}
			got = append(got, r.URITemplate)
		}
		want := []string{"parley://tasks/1", "parley://tasks/2", "parley://results/{id}", "parley://tasks/{id}"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("resources mismatch (-want +got):\n%s", diff)
		}
		res, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "parley://tasks/1"})
		if err != nil || res.Contents[0].Text != "{}" || res.Contents[0].MIMEType != "application/json" {
			t.Errorf("ReadResource: %v, %v", res, err)
		}
		for _, uri := range []string{"parley://tasks/9", "parley://results/x", "file:///etc/passwd"} {
			if _, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
				t.Errorf("%s was read", uri)
			}
		}
		if err := cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "parley://tasks/1"}); err != nil {
			t.Fatalf("Subscribe: %v", err)
		}
		library.changes <- struct{}{}
		if got := receive(t, "the update", updated); got != "parley://tasks/1" {
			t.Errorf("updated %s", got)
		}
		if err := cs.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "parley://tasks/1"}); err != nil {
			t.Errorf("Unsubscribe: %v", err)
		}
	})
}
