package mcpclient_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/agents/command"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/mcp/mcpclient"
)

const patience = 2 * time.Minute

// program returns a client whose server is this test program.
func program(t *testing.T, how string) *mcpclient.Client {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return &mcpclient.Client{Name: how, Start: func() (mcpclient.Program, error) {
		return (&command.Companion{
			Command: []string{self}, Env: []string{"TEST_SERVER=" + how, "TEST_CANCELED=" + filepath.Join(dir, "canceled")},
			Runs: filepath.Join(dir, "runs"), Grace: time.Second,
		}).Start()
	}}
}

// web returns a client of a server of the official SDK over HTTP.
func web(t *testing.T) *mcpclient.Client {
	t.Helper()
	s := official()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "secret" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		for ss := range s.Sessions() {
			_ = ss.Close()
		}
		srv.Close()
	})
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return &mcpclient.Client{
		Name: "web", URL: srv.URL, Header: http.Header{"X-Key": {"secret"}}, HTTP: &http.Client{Transport: transport},
	}
}

// run runs a client until the end of the test.
func run(t *testing.T, c interface {
	Run(ctx context.Context) error
},
) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := c.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
}

// named returns the tool with a name, or fails the test.
func named(t *testing.T, s llm.Source, name string) llm.Tool {
	t.Helper()
	tools, err := s.Tools(t.Context())
	if err != nil {
		t.Fatalf("Tools: %v", err)
	}
	var all []string
	for _, tool := range tools {
		if tool.Name == name {
			return tool
		}
		all = append(all, tool.Name)
	}
	t.Fatalf("there is no tool %s among %v", name, all)
	panic("unreachable")
}

func call(t *testing.T, s llm.Source, name, args string) *llm.Result {
	t.Helper()
	tool := named(t, s, name)
	res, err := tool.Call(t.Context(), &llm.Call{Arguments: []byte(args)})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res
}

func text(r *llm.Result) string {
	var all string
	for _, p := range r.Parts {
		all += p.Text()
	}
	return all
}

// await waits for a status.
func await(t *testing.T, c *mcpclient.Client, state, reason string) mcpclient.Status {
	t.Helper()
	deadline := time.After(patience)
	for {
		changed, s := c.StatusChanged(), c.Status()
		if s.State == state && strings.Contains(s.Reason, reason) {
			return s
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("status = %+v, want %s because of %q", c.Status(), state, reason)
		}
	}
}

func TestOfficialServers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]*mcpclient.Client{"official": program(t, "official"), "web": web(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, c)
			tools, err := c.Tools(t.Context())
			if err != nil || len(tools) != 5 {
				t.Fatalf("Tools = %v, %v; %+v", tools, err, c.Status())
			}
			prefix := "mcp__" + name + "__"
			if got := call(t, c, prefix+"echo", `{"text":"hi"}`); text(got) != `{"text":"hi"}` || got.Error || got.Origin != "mcp:"+name {
				t.Errorf("echo = %+v", got)
			}
			if got := call(t, c, prefix+"fail", ``); text(got) != "no such city" || !got.Error {
				t.Errorf("fail = %+v", got)
			}
			if got := call(t, c, prefix+"image", `{}`); len(got.Parts) != 2 || got.Parts[0].Data() == nil || string(got.Parts[1].Raw()) != "png" {
				t.Errorf("image = %+v", got)
			}
			for _, args := range []string{`[]`, `null`, `{`, `"x"`} {
				if got := call(t, c, prefix+"echo", args); !got.Error || !strings.Contains(text(got), "not a JSON object") {
					t.Errorf("echo of %s = %+v", args, got)
				}
			}
			changed := c.Changed()
			call(t, c, prefix+"learn", `{}`)
			awaitTool(t, c, changed, prefix+"learned")
			if got := call(t, c, prefix+"learned", `{}`); text(got) != "yes" {
				t.Errorf("learned = %+v", got)
			}
			if s := c.Status(); s.State != mcpclient.Ready || s.Tools != 6 || s.Server != "official 2" {
				t.Errorf("status = %+v", s)
			}
		})
	}
}

// Canceling a call cancels it at the server. The call's progress is reported before.
func TestCancelAndProgress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self, _ := os.Executable()
	c := &mcpclient.Client{Name: "s", Start: func() (mcpclient.Program, error) {
		return (&command.Companion{
			Command: []string{self}, Env: []string{"TEST_SERVER=official", "TEST_CANCELED=" + filepath.Join(dir, "canceled")},
		}).Start()
	}}
	run(t, c)
	slow := named(t, c, "mcp__s__slow")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	_, err := slow.Call(ctx, &llm.Call{Arguments: []byte(`{}`), Progress: func(p llm.Progress) {
		if diff := cmp.Diff(llm.Progress{Agent: "mcp:s", Text: "half way"}, p); diff != "" {
			t.Errorf("progress mismatch (-want +got):\n%s", diff)
		}
		cancel(why)
	}})
	if !errors.Is(err, why) {
		t.Errorf("slow: %v, want the cause", err)
	}
	deadline := time.Now().Add(patience)
	for { // the server creates a file when it has received the cancellation
		if b, err := os.ReadFile(filepath.Join(dir, "canceled")); err == nil && string(b) == "canceled" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the server was not notified")
		}
		// Another call is answered at the same time.
		call(t, c, "mcp__s__echo", `{}`)
	}
}

// Errors of servers are reported in the status, and the servers are restarted.
func TestBadServers(t *testing.T) {
	t.Parallel()
	for how, tt := range map[string]struct{ call, reason string }{
		"mute":      {"", "was not ready within 3s"},
		"prose":     {"", "was not ready within 3s; it has written 2 lines that are not messages"},
		"stillborn": {"", "the server has ended: exit status 4: no cheese to begin with"},
		"version":   {"", `unsupported protocol version: "1999-01-01"`},
		"crash":     {"has ended, and the effects of the call are not known", "the server has ended: exit status 3: out of cheese"},
		"huge":      {"has ended", "cut off: a message has more than 1048576 bytes"},
		"flood":     {"has ended", "cut off: it sends more than 100 messages a second"},
		"garbage":   {"has ended", "cut off: a line is not JSON"},
		"silent":    {"has not answered within 300ms", ""},
		"nonsense":  {"has answered with a result that cannot be read", ""},
		"talkative": {"fine", ""},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c := program(t, how)
			c.Limits = mcpclient.Limits{Message: 1 << 20, Rate: 100, Handshake: 3 * time.Second, Call: patience}
			if how != "mute" && how != "prose" {
				c.Limits.Handshake = patience
			}
			if how == "silent" {
				c.Limits.Call = 300 * time.Millisecond
			}
			run(t, c)
			if slices.Contains([]string{"mute", "prose", "stillborn", "version"}, how) {
				await(t, c, mcpclient.Down, tt.reason)
				return
			}
			await(t, c, mcpclient.Ready, "")
			got := call(t, c, "mcp__"+how+"__t0", `{}`)
			if !strings.Contains(text(got), tt.call) || got.Error != (how != "talkative") {
				t.Errorf("call = %+v", text(got))
			}
			if tt.reason != "" {
				await(t, c, mcpclient.Down, tt.reason)
				if s := await(t, c, mcpclient.Ready, ""); s.Starts != 2 {
					t.Errorf("status = %+v, want a second start", s)
				}
			}
		})
	}
}

func TestTooManyTools(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]mcpclient.Status{
		"many": {Tools: 20, LeftOut: 180}, "endless": {Tools: 1, LeftOut: 199},
	} {
		c := program(t, how)
		c.Limits = mcpclient.Limits{Tools: 20}
		run(t, c)
		got := await(t, c, mcpclient.Ready, "")
		if got.Tools != want.Tools || got.LeftOut != want.LeftOut {
			t.Errorf("%s: %+v", how, got)
		}
	}
}

func TestAllowAndBlock(t *testing.T) {
	t.Parallel()
	c := web(t)
	c.Choice = llm.Filter{Allow: []string{"e*", "fail"}, Block: []string{"f*"}}
	run(t, c)
	tools, err := c.Tools(t.Context())
	if err != nil || len(tools) != 1 || tools[0].Name != "mcp__web__echo" {
		t.Errorf("Tools = %v, %v", tools, err)
	}
}

// A lazy server starts when its tools are requested. One that cannot start reports the reason.
func TestLazy(t *testing.T) {
	t.Parallel()
	c := program(t, "official")
	c.Lazy = true
	run(t, c)
	if s := c.Status(); s.State != mcpclient.Idle {
		t.Errorf("status = %+v, want idle", s)
	}
	named(t, c, "mcp__official__echo")
	await(t, c, mcpclient.Ready, "")
}

func TestServerThatDoesNotStart(t *testing.T) {
	t.Parallel()
	c := &mcpclient.Client{Name: "none", Start: func() (mcpclient.Program, error) {
		return (&command.Companion{Command: []string{"/no/such/program"}}).Start()
	}}
	run(t, c)
	if tools, err := c.Tools(t.Context()); err != nil || len(tools) > 0 {
		t.Errorf("Tools = %v, %v", tools, err)
	}
	await(t, c, mcpclient.Down, "/no/such/program")
}

// A set has the tools of all servers, and reports the changes of each.
func TestSet(t *testing.T) {
	t.Parallel()
	s := &mcpclient.Set{Clients: []*mcpclient.Client{web(t), program(t, "talkative"), program(t, "version")}}
	run(t, s)
	tools, err := s.Tools(t.Context())
	if err != nil || len(tools) != 6 {
		t.Errorf("Tools = %v, %v; %+v", tools, err, s.Status())
	}
	changed := s.Changed()
	call(t, s, "mcp__web__learn", `{}`)
	awaitTool(t, s, changed, "mcp__web__learned")
}

// awaitTool waits for notifications of changes until the tool exists; changed is the first one.
// Notifications of earlier changes, such as the first list, may precede it.
func awaitTool(t *testing.T, s llm.Source, changed <-chan struct{}, name string) {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("no notification of a change after which there is the tool %s", name)
		}
		changed = s.Changed() // before the list is read, so that no change is missed
		tools, err := s.Tools(t.Context())
		if err != nil {
			t.Fatalf("Tools: %v", err)
		}
		if slices.ContainsFunc(tools, func(tool llm.Tool) bool { return tool.Name == name }) {
			return
		}
	}
}

func TestToolName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ server, tool, want string }{
		{"files", "read", "mcp__files__read"},
		{"my files", "a.b/c", "mcp__my_files__a_b_c"},
		{"files", strings.Repeat("x", 80), "mcp__files__" + strings.Repeat("x", 43) + "_"},
	} {
		got := mcpclient.ToolName(tt.server, tt.tool)
		if !strings.HasPrefix(got, tt.want) || len(got) > 64 {
			t.Errorf("ToolName(%q, %q) = %q, want %q", tt.server, tt.tool, got, tt.want)
		}
	}
	a, b := mcpclient.ToolName("s", strings.Repeat("x", 80)+"a"), mcpclient.ToolName("s", strings.Repeat("x", 80)+"b")
	if a == b {
		t.Errorf("two tools have the name %s", a)
	}
}
