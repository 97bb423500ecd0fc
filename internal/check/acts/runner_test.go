package acts

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/check/testagent"
	"github.com/parley-a2a/parley/internal/check/wire"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// runnerOn returns a Runner for one interface of a new server.
func runnerOn(t *testing.T, o hubtest.MemoryOptions, b wire.Binding) *Runner {
	t.Helper()
	o.Agent = engine.Agent{Name: testagent.Name, Card: testagent.Card(), Executor: testagent.Executor()}
	m := hubtest.InMemory(t, o)
	w := wire.Options{HTTP: m.HTTP, Key: o.Key, Dial: func(context.Context, string) (wire.Conn, error) { return m.DialGRPC() }}
	i := map[wire.Binding]wire.Interface{
		wire.JSONRPC: {Binding: wire.JSONRPC, Version: "1.0", URL: hubtest.MemoryURL + "/a2a"},
		wire.REST:    {Binding: wire.REST, Version: "1.0", URL: hubtest.MemoryURL + "/v1/a2a"},
		wire.GRPC:    {Binding: wire.GRPC, Version: "1.0", URL: "hub.test:1"},
	}[b]
	c, err := wire.New(t.Context(), i, w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	const cardURL = hubtest.MemoryURL + "/.well-known/agent-card.json"
	h := wire.HTTP{Options: w}
	return &Runner{
		Base: hubtest.MemoryURL, CardURL: cardURL, Card: h.Do(t.Context(), wire.Plain{Method: "GET", URL: cardURL}).Envelope,
		Interface: i, Caller: c, HTTP: h, Redactor: wire.NewRedactor(o.Key),
	}
}

// parsed returns a document with one test. body is indented by eight spaces.
func parsed(t *testing.T, body string) []*Document {
	t.Helper()
	lines := strings.Split(strings.Trim(body, "\n"), "\n")
	d, err := Parse([]byte(frame + "        " + strings.Join(lines, "\n        ") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return []*Document{d}
}

// ran runs one test over JSON-RPC in a synctest bubble.
func ran(t *testing.T, o hubtest.MemoryOptions, body string) (result TestResult) {
	t.Helper()
	docs := parsed(t, body)
	synctest.Test(t, func(t *testing.T) {
		result = runnerOn(t, o, wire.JSONRPC).Run(t.Context(), docs).Suites[0].Tests[0]
	})
	return result
}

const send = `steps:
  - id: send
    operation: send_message
    params: {message: {role: ROLE_USER, parts: [{text: "tck-artifact-text x"}]}}
    capture: {taskId: task.id}
`

var both = hubtest.MemoryOptions{Streaming: true, Push: true}

// TestRun runs tests that pass, fail, or are invalid.
func TestRun(t *testing.T) {
	t.Parallel()
	stream := func(expect string) string {
		return `steps:
  - id: s
    operation: send_streaming_message
    params: {message: {role: ROLE_USER, parts: [{text: "tck-stream-basic x"}]}}
    expect_stream: ` + expect
	}
	raw := func(rest string) string {
		return "transport: [jsonrpc]\nsteps:\n  - id: r\n    raw: {method: POST, path: /, headers: {Content-Type: application/json, A2A-Version: '1.0'}, " +
			"body: {jsonrpc: '2.0', id: 1, method: SendMessage, params: {message: {role: ROLE_USER, parts: [{text: x}]}}}}\n    " + rest
	}
	client := func(parsed string) string {
		return `steps:
  - id: c
    client_response: {operation: get_task, wire_payload: {jsonrpc: "2.0", id: 5, result: {id: t, status: {state: TASK_STATE_COMPLETED}}}}
    expect_parsed: ` + parsed
	}
	for _, tt := range []struct {
		name, body string
		want       Outcome
		failure    string
	}{
		{"captured", send + "  - {id: get, operation: get_task, params: {id: '{{send.taskId}}'}, expect: {status: 200, body: {id: '{{send.taskId}}'}}}", Pass, ""},
		{"wrong body", send + "  - {id: get, operation: get_task, params: {id: '{{send.taskId}}'}, expect: {body: {status: {state: x}}}}", Fail, `status.state is "TASK_STATE_COMPLETED", want "x"`},
		{"wrong status", strings.Replace(send, "    capture", "    expect: {status: 201}\n    capture", 1), Fail, "status is 200, want 201"},
		{"body without a word", strings.Replace(send, "    capture", "    expect: {task: {id: x}}\n    capture", 1), Fail, "task.id is"},
		{"nothing to capture", strings.Replace(send, "task.id", "task.nothing", 1), Fail, "task.nothing is absent"},
		{"unknown variable", "steps: [{id: a, operation: get_task, params: {id: '{{who}}'}}]", Fail, "{{who}} has no value"},
		{"unexpected error", "steps: [{id: a, operation: get_task, params: {id: x}}]", Fail, "the answer is an error code -32001"},
		{"expected error", "steps: [{id: a, operation: get_task, params: {id: x}, expect_error: {error_type: TaskNotFoundError}}]", Pass, ""},
		{"error by status", "steps: [{id: a, operation: get_task, params: {id: x}, expect: {status: error, error: {exists: true}}}]", Pass, ""},
		{"no error by status", strings.Replace(send, "    capture", "    expect: {status: error}\n    capture", 1), Fail, "want an error"},
		{"no error", strings.Replace(send, "    capture", "    expect_error: {error_type: InternalError}\n    capture", 1), Fail, "want an error"},
		{"the card", "steps: [{id: a, operation: get_agent_card, params: {}, expect: {status: 200, body: {name: conformance}}}]", Pass, ""},
		{"the extended card", "steps: [{id: a, operation: get_agent_card, params: {extended: true}, expect_error: {error_type: UnsupportedOperationError}}]", Pass, ""},
		{"assertion step", send + "  - {id: v, assertion: {source: '{{send.response}}', any: {path: 'task.artifacts[*].parts[*]', match: {text: {type: string}}}}}", Pass, ""},
		{"any", send + "  - {id: v, assertion: {source: send.response, any: {path: 'task.artifacts[*].parts[*]', match: {url: {type: string}}}}}", Fail, "want at least one like"},
		{"all", send + "  - {id: v, assertion: {source: send.response, all: {path: 'task.history[*]', match: {role: ROLE_AGENT}}}}", Fail, "want every one like"},
		{"none", send + "  - {id: v, assertion: {source: send.response, none: {path: 'task.history[*]', match: {role: ROLE_USER}}}}", Fail, "want none like"},
		{"match", send + "  - {id: v, assertion: {source: send, path: x, match: 1}}", Fail, "{{send}} has no value"},
		{"headers", send + "  - {id: v, assertion: {source: send.headers, path: content-type, match: {starts_with: application/json}}}", Pass, ""},
		{"at the end", "assertions: [{source: send.response, path: task.id, match: other}]\n" + send, Fail, "task.id is"},
		{"stream", stream("{min_count: 3, max_count: 4, ordering: monotonic_state, final_event: {status_update: {status: {state: TASK_STATE_COMPLETED}}}}"), Pass, ""},
		{"the payload alone", stream("{final_event: {status: {state: TASK_STATE_COMPLETED}}}"), Pass, ""},
		{"too few", stream("{min_count: 9}"), Fail, "want at least 9 events"},
		{"too many", stream("{max_count: 1}"), Fail, "want at most 1 events"},
		{"final event", stream("{final_event: {message: {exists: true}}}"), Fail, "final_event.message"},
		{"each event", stream("{each_event: {task: {exists: true}}}"), Fail, "events[1].task"},
		{"each envelope", stream("{each_event: {jsonrpc: '2.0'}}"), Pass, ""},
		{"first event", stream("{events: [{index: 0, task: {id: {type: string}}}]}"), Pass, ""},
		{"wrong place", stream("{events: [{index: 1, task: {id: {type: string}}}]}"), Fail, "events[0].task"},
		{"no such place", stream("{events: [{index: 99, task: {id: {type: string}}}]}"), Fail, "events[99] is absent"},
		{"any place", stream("{events: [{match: any_position, artifact_update: {artifact: {parts: {count: 1}}}}]}"), Pass, ""},
		{"no stream", "steps: [{id: s, operation: subscribe_to_task, params: {id: x}, expect_error: {error_type: TaskNotFoundError}}]", Pass, ""},
		{"raw", raw("expect: {status: 200, body: {id: 1, result: {task: {exists: true}}}}"), Pass, ""},
		{"raw body", raw("expect: {body: {result: {absent: true}}}"), Fail, "result is"},
		{"raw error", raw("expect_error: {error_type: InternalError}"), Fail, "want an error"},
		{"raw text", "transport: [jsonrpc]\nsteps: [{id: r, raw: {method: POST, path: /, headers: {Content-Type: application/json}, body_raw: '{x'}, expect: {body: {error: {code: -32700}}}}]", Pass, ""},
		{"raw place", "transport: [jsonrpc]\nsteps: [{id: r, raw: {method: GET, path: /.well-known/agent-card.json}, expect: {status: 200, body: {name: conformance}}}]", Pass, ""},
		{"client", client("{id: t, status: {state: TASK_STATE_COMPLETED}}"), Pass, ""},
		{"client reads otherwise", client("{id: u}"), Fail, `id is "t", want "u"`},
		{"client has no such call", strings.Replace(client("{}"), "get_task", "delete_push_config", 1), Error, "the client has no call"},
		{"repeat", send + "  - {id: p, operation: get_task, params: {id: '{{send.taskId}}'}, repeat: {until: status.state == TASK_STATE_COMPLETED}}", Pass, ""},
		{"repeat in vain", send + "  - {id: p, operation: get_task, params: {id: '{{send.taskId}}'}, repeat: {until: status.state == X, max_attempts: 3, delay_ms: 50, backoff: exponential}}", Fail, "after 3 attempts it is not true that status.state == X"},
		{"unclear", "steps: [{id: a, operation: get_task, params: {id: x}, expect_error: {error_type: Nonsense}}]", Error, "unknown error type"},
		{"webhook that was not declared", "steps: [{id: a, assertion: {source: '{{webhook.response}}', any: {path: '[*]', match: {}}}}]", Error, "does not declare webhook_endpoint"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ran(t, both, tt.body)
			if got.Result != tt.want {
				t.Errorf("the result is %s (%+v %s), want %s", got.Result, got.Failure, got.SkipReason, tt.want)
			}
			if tt.failure != "" && (got.Failure == nil || !strings.Contains(got.Failure.Message, tt.failure)) {
				t.Errorf("the failure is %+v, want %q", got.Failure, tt.failure)
			}
		})
	}
}

func TestSkip(t *testing.T) {
	t.Parallel()
	const get = "steps: [{id: a, operation: get_task, params: {id: x}, expect_error: {error_type: TaskNotFoundError}}]"
	for _, tt := range []struct{ name, body, want string }{
		{"transport", "transport: [rest, grpc]\n" + get, "not about jsonrpc"},
		{"capability", "preconditions: {capabilities: {streaming: true}}\n" + get, "capability streaming: true"},
		{"capability of its own", "preconditions: {capabilities: {authentication: true}}\n" + get, "authentication"},
		{"skill", "preconditions: {skills: [{id: magic}]}\n" + get, "skill magic"},
		{"extension", "preconditions: {extensions: ['urn:x']}\n" + get, "extension urn:x"},
		{"precondition on transport", "preconditions: {transport: [grpc]}\n" + get, "not about jsonrpc"},
		{"webhook", "runner_requirements: [webhook_endpoint]\n" + get, "webhook"},
		{"streams", "runner_requirements: [concurrent_streams]\n" + get, "one stream at a time"},
		{"credentials", "runner_requirements: [auth_credentials]\n" + get, "no credential"},
		{"streaming unspoken", "steps: [{id: a, operation: subscribe_to_task, params: {id: x}}]", "does not declare streaming"},
		{"webhooks unspoken", "steps: [{id: a, operation: list_push_configs, params: {taskId: x}}]", "does not declare pushNotifications"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := ran(t, hubtest.MemoryOptions{}, tt.body); got.Result != Skip || !strings.Contains(got.SkipReason, tt.want) {
				t.Errorf("the result is %s: %q, want a skip: %q", got.Result, got.SkipReason, tt.want)
			}
		})
	}
	if got := ran(t, hubtest.MemoryOptions{}, "preconditions: {capabilities: {streaming: false}, skills: [{id: conformance}]}\nrunner_requirements: [header_inspection]\n"+get); got.Result != Pass {
		t.Errorf("a test that applies is %s: %s", got.Result, got.SkipReason)
	}
}

// TestDelays measures the fake time of a bubble.
func TestDelays(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]time.Duration{
		"delay_ms: 1500": 1500 * time.Millisecond,
		"repeat: {until: id == x, max_attempts: 3, delay_ms: 100}":                       200 * time.Millisecond,
		"repeat: {until: id == x, max_attempts: 3, delay_ms: 100, backoff: linear}":      300 * time.Millisecond,
		"repeat: {until: id == x, max_attempts: 4, delay_ms: 100, backoff: exponential}": 700 * time.Millisecond,
		"repeat: {until: id == x}": 9 * time.Second,
	} {
		docs := parsed(t, send+"  - {id: g, operation: get_task, params: {id: '{{send.taskId}}'}, "+body+"}")
		synctest.Test(t, func(t *testing.T) {
			r := runnerOn(t, hubtest.MemoryOptions{}, wire.JSONRPC)
			began := time.Now()
			r.Run(t.Context(), docs)
			if took := time.Since(began); took != want {
				t.Errorf("%s took %v, want %v", body, took, want)
			}
		})
	}
}

func TestTestTimeout(t *testing.T) {
	t.Parallel()
	docs := parsed(t, send+"  - {id: g, operation: get_task, params: {id: '{{send.taskId}}'}, repeat: {until: id == x, max_attempts: 999, delay_ms: 60000}}")
	synctest.Test(t, func(t *testing.T) {
		r := runnerOn(t, hubtest.MemoryOptions{}, wire.JSONRPC)
		began := time.Now()
		got := r.Run(t.Context(), docs).Suites[0].Tests[0]
		if took := time.Since(began); took != testTimeout || got.Result != Fail || !strings.Contains(got.Failure.Message, "longer than 2m0s") {
			t.Errorf("after %v: %s %+v", took, got.Result, got.Failure)
		}
	})
}

// received is a webhook that has received the given requests.
type received []any

func (received) URL() string { return "http://hooks.test/1" }

func (w received) Wait(context.Context, string) []any { return w }

func TestWebhook(t *testing.T) {
	t.Parallel()
	docs := parsed(t, `runner_requirements: [webhook_endpoint]
steps:
  - id: wait
    assertion: {source: "{{webhook.response}}", all: {path: "[*].body", match: {url: "{{webhookUrl}}"}}}`)
	synctest.Test(t, func(t *testing.T) {
		r := runnerOn(t, hubtest.MemoryOptions{}, wire.JSONRPC)
		for want, w := range map[Outcome]received{
			Pass: {map[string]any{"body": map[string]any{"url": "http://hooks.test/1"}}},
			Fail: {},
		} {
			r.Webhook = w
			if got := r.Run(t.Context(), docs).Suites[0].Tests[0]; got.Result != want {
				t.Errorf("with the notifications %v the result is %s: %+v", w, got.Result, got.Failure)
			}
		}
	})
}

// TestCredentials: only some requests carry the credential, and no report contains it.
func TestCredentials(t *testing.T) {
	t.Parallel()
	const missing = `
transport: [jsonrpc]
steps:
  - id: r
    raw: {method: POST, path: /, headers: {Content-Type: application/json, A2A-Version: "1.0"}, body: {jsonrpc: "2.0", id: 1, method: GetTask, params: {id: x}}}
    expect: {status: %}`
	o := hubtest.MemoryOptions{Key: "k-123456789"}
	if got := ran(t, o, strings.Replace(missing, "%", "200", 1)); got.Result != Pass {
		t.Errorf("a raw step without credentials of its own: %+v", got.Failure)
	}
	got := ran(t, o, "runner_requirements: [auth_credentials]"+strings.Replace(missing, "%", "200", 1))
	if got.Result != Fail || !strings.Contains(got.Failure.Message, "status is 401") {
		t.Errorf("a raw step that chooses its credentials: %+v", got.Failure)
	}
	got = ran(t, o, "steps: [{id: a, operation: get_task, params: {id: k-123456789}, expect: {body: {id: k-123456789}}}]")
	if got.Result != Fail || strings.Contains(got.Evidence+got.Failure.Message, o.Key) || !strings.Contains(got.Evidence, "[redacted]") {
		t.Errorf("the evidence is\n%s", got.Evidence)
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	docs := parsed(t, "steps: [{id: a, operation: get_task, params: {id: x}}]")
	synctest.Test(t, func(t *testing.T) {
		r := runnerOn(t, hubtest.MemoryOptions{}, wire.REST)
		got := r.Run(t.Context(), docs)
		want := Summary{Count: Count{Total: 1, Failed: 1}, ByLevel: map[string]Count{"must": {Total: 1, Failed: 1}, "should": {}, "may": {}}}
		if diff := cmp.Diff(want, got.Summary); diff != "" {
			t.Errorf("the summary (-want +got):\n%s", diff)
		}
		test := got.Suites[0].Tests[0]
		if test.Failure.StepID != "a" || len(test.Steps) != 1 || test.Steps[0].Result != Fail || got.Transport != "rest" || got.SDK.Name != "conformance" {
			t.Errorf("the report is %+v", got)
		}
		r.Only = []string{"other"}
		if got := r.Run(t.Context(), docs); len(got.Suites) != 0 {
			t.Errorf("a test that was not asked for ran: %+v", got.Suites)
		}
		r.Only = []string{"s"}
		if got := r.Run(t.Context(), docs); len(got.Suites) != 1 {
			t.Error("the suite that was asked for did not run")
		}
	})
}

func TestGRPC(t *testing.T) {
	t.Parallel()
	docs := parsed(t, send+`  - {id: get, operation: get_task, params: {id: "{{send.taskId}}"}, expect: {status: 200, body: {status: {state: TASK_STATE_COMPLETED}}}}
  - {id: none, operation: get_task, params: {id: x}, expect_error: {error_type: TaskNotFoundError, details: {reason: TASK_NOT_FOUND}}}`)
	synctest.Test(t, func(t *testing.T) {
		if got := runnerOn(t, both, wire.GRPC).Run(t.Context(), docs).Suites[0].Tests[0]; got.Result != Pass {
			t.Errorf("the result is %s: %+v\n%s", got.Result, got.Failure, got.Evidence)
		}
	})
}

// canceller counts the tasks that are canceled.
type canceller struct {
	wire.Caller
	canceled int
}

func (c *canceller) Call(ctx context.Context, r wire.Request) *wire.Exchange {
	x := c.Caller.Call(ctx, r)
	if r.Op == wire.CancelTask && x.Fault == nil && x.Err == nil {
		c.canceled++
	}
	return x
}

// TestNothingStaysOpen: the runner cancels the tasks of a test.
func TestNothingStaysOpen(t *testing.T) {
	t.Parallel()
	for behaviour, want := range map[string]int{"tck-input-required": 1, "tck-artifact-text": 0} {
		docs := parsed(t, strings.ReplaceAll(send, "tck-artifact-text", behaviour))
		synctest.Test(t, func(t *testing.T) {
			r := runnerOn(t, hubtest.MemoryOptions{}, wire.JSONRPC)
			c := &canceller{Caller: r.Caller}
			r.Caller = c
			r.Run(t.Context(), docs)
			if c.canceled != want {
				t.Errorf("%s: %d tasks were canceled, want %d", behaviour, c.canceled, want)
			}
		})
	}
}
