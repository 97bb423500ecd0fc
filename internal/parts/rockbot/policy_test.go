package rockbot_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/server"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

// exchange is RockBot's exchange, over which several of its agents call those of a hub.
type exchange struct {
	t       *testing.T
	ch      *amqp.Channel
	answers <-chan amqp.Delivery
}

// newExchange declares the queues of the hub's agents, and one for all answers.
func newExchange(t *testing.T, url string, agents ...string) *exchange {
	t.Helper()
	x := &exchange{t: t, ch: rabbittest.Channel(t, url)}
	var err error
	for _, name := range []string{"rockbot", "rockbot.dlx"} {
		x.must(x.ch.ExchangeDeclare(name, "topic", true, false, false, false, nil))
	}
	queues := map[string]string{"answers": "agent.response.*"}
	for _, a := range agents {
		queues["rockbot."+a+".agent-task-"+a], queues["rockbot."+a+".agent-task-cancel-"+a] = "agent.task."+a, "agent.task.cancel."+a
	}
	for name, topic := range queues {
		_, err = x.ch.QueueDeclare(name, true, false, false, false, amqp.Table{"x-dead-letter-exchange": "rockbot.dlx", "x-dead-letter-routing-key": topic})
		x.must(err)
		x.must(x.ch.QueueBind(name, topic, "rockbot", false, nil))
	}
	x.answers, err = x.ch.Consume("answers", "", true, false, false, false, nil)
	x.must(err)
	return x
}

func (x *exchange) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

// answer has the members of an answer that the test checks.
type answer struct {
	TaskID, Code, Message string
	State                 int
}

// publish publishes a message in the name of an agent and returns the answer.
func (x *exchange) publish(who, topic, typ, body string) answer {
	x.t.Helper()
	x.must(x.ch.Publish("rockbot", topic, false, false, amqp.Publishing{
		MessageId: "m", Type: "RockBot.A2A." + typ, CorrelationId: "c", ReplyTo: "agent.response." + who,
		DeliveryMode: amqp.Persistent, Headers: amqp.Table{"rb-source": who}, Body: []byte(body),
	}))
	select {
	case d := <-x.answers:
		if d.RoutingKey != "agent.response."+who {
			x.t.Errorf("%s receives a message for %s", d.RoutingKey, who)
		}
		var all struct {
			TaskID, Code string
			Message      json.RawMessage
			State        int
		}
		x.must(json.Unmarshal(d.Body, &all))
		var output struct{ Parts []struct{ Text string } }
		text := ""
		if json.Unmarshal(all.Message, &text) != nil && json.Unmarshal(all.Message, &output) == nil && len(output.Parts) > 0 {
			text = output.Parts[0].Text
		}
		return answer{all.TaskID, all.Code, text, all.State}
	case <-time.After(2 * time.Minute):
		x.t.Fatalf("%s receives nothing about %s", who, body)
		return answer{}
	}
}

func (x *exchange) ask(who, agent, id, skill string) answer {
	x.t.Helper()
	return x.publish(who, "agent.task."+agent, "AgentTaskRequest",
		fmt.Sprintf(`{"taskId":%q,"contextId":"ctx","skill":%q,"message":{"role":"user","parts":[{"kind":"text","text":"go"}]}}`, id, skill))
}

func (x *exchange) cancel(who, agent, id string) answer {
	x.t.Helper()
	return x.publish(who, "agent.task.cancel."+agent, "AgentTaskCancelRequest", fmt.Sprintf(`{"taskId":%q}`, id))
}

// read returns the answer to GET by a caller of the hub.
func read(t *testing.T, url, who string) (code int, body string) {
	t.Helper()
	resp, err := hubtest.Do(t.Context(), hubtest.Request{URL: url, Header: []string{"X-Api-Key", who + "-0123456789abcdef", "A2A-Version", "1.0"}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// TestPolicyOverRockBot checks that RockBot's agents, which call over their own exchange, are
// callers like others for the rules, for trust, for the audit log, and as owners of tasks.
func TestPolicyOverRockBot(t *testing.T) {
	t.Parallel()
	url, marks := rabbittest.Start(t).VHost(t), t.TempDir()
	cfg, err := config.Parse("parley.yaml", []byte(fmt.Sprintf(`
auth: {api_keys: {ann-0123456789abcdef: {agent_id: Ann}, root-0123456789abcdef: {agent_id: root, roles: [admin]}}}
agents:
  - {name: desk, command: [sh, -c, 'echo x >> %[1]s/desk; echo done'], skills: [{id: read}, {id: erase}]}
  - {name: vault, command: [sh, -c, 'echo x >> %[1]s/vault; echo done'], trust: gated}
rockbot: {url: %[2]q, serve: [echo, interview, desk, vault]}
policy:
  rules:
    - {allow: [send, cancel], callers: [rockbot/Ann, rockbot/Bob], agents: interview}
    - {allow: send, callers: rockbot/Ann, agents: echo}
    - {allow: send, callers: rockbot/Bob, agents: desk, skills: read}
    - {allow: send, callers: rockbot/Carl, agents: interview}
    - {allow: send, callers: "rockbot/*", agents: vault}
    - {allow: [send, get, list, cancel], callers: Ann}
`, marks, url)), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	cfg.Listen, cfg.Data, cfg.Bus.URL, cfg.Engine.DrainTimeout = "127.0.0.1:0", t.TempDir(), "off", -1
	x := newExchange(t, url, "echo", "interview", "desk", "vault")
	hub, err := server.Open(t.Context(), server.Options{Config: cfg, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- hub.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ended, hub.Close()); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("hub: %v", err)
		}
	})
	t.Cleanup(stop)

	const question, failed = 2, 4
	first := x.ask("Ann", "interview", "t1", "interview").Message
	for _, tt := range []struct {
		what string
		got  answer
		want answer
	}{
		{"an agent that the rules allow", x.ask("Ann", "echo", "e1", "echo"), answer{"e1", "", "go", 3}},
		{"an agent that the rules do not allow", x.ask("Bob", "echo", "e1", "echo"), answer{"e1", "execution_failed", `send on agent "echo" with the skill "echo" is not allowed`, 0}},
		{"the skill that the rules allow", x.ask("Bob", "desk", "d1", "read"), answer{"d1", "", "", 3}},
		{"another skill", x.ask("Bob", "desk", "d2", "erase"), answer{"d2", "execution_failed", `send on agent "desk" with the skill "erase" is not allowed`, 0}},
		{"no skill, which may be any", x.ask("Bob", "desk", "d3", "general"), answer{"d3", "execution_failed", `send on agent "desk" is not allowed`, 0}},
		{"the id and the context of somebody else", x.ask("Bob", "interview", "t1", "interview"), answer{"t1", "", first, question}},
		{"another task in that context", x.ask("Carl", "interview", "t2", "interview"), answer{"t2", "", first, question}},
		{"to cancel what is one's own, where that is not allowed", x.cancel("Carl", "interview", "t2"), answer{"t2", "execution_failed", `cancel on agent "interview" is not allowed`, 0}},
		{"to cancel the task of another caller", x.cancel("Ann", "interview", "t2"), answer{"t2", "task_not_found", "Task not found", 0}},
		{"to cancel no task", x.cancel("Ann", "interview", "t9"), answer{"t9", "task_not_found", "Task not found", 0}},
		{"to cancel what is one's own", x.cancel("Bob", "interview", "t1"), answer{"t1", "", "", 5}},
		{"a gated agent", x.ask("Bob", "vault", "v1", "vault"), answer{"v1", "", "", failed}},
		{"a gated agent, by a name that is the owner's elsewhere", x.ask("local", "vault", "v2", "vault"), answer{"v2", "", "", failed}},
	} {
		if tt.want.State == failed || tt.what == "the skill that the rules allow" {
			tt.got.Message = ""
		}
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.what, diff)
		}
	}
	// Ann's answer goes to her own task, which no other caller has answered or canceled.
	if got := x.ask("Ann", "interview", "t3", "interview"); got.State != question || got.Message == first {
		t.Errorf("the second question to Ann is %+v; the first one was %q", got, first)
	}
	for name, want := range map[string]string{"desk": "x\n", "vault": ""} {
		if text, _ := os.ReadFile(filepath.Join(marks, name)); string(text) != want {
			t.Errorf("%s has run %d times, want %d", name, len(text)/2, len(want)/2)
		}
	}
	if code, body := read(t, hub.URL()+"/v1/a2a/tasks", "ann"); code != 200 || !strings.Contains(body, `"totalSize":0`) {
		t.Errorf("the tasks of the key's Ann, who is not RockBot's: %d %s", code, body)
	}
	if code, body := read(t, hub.URL()+"/api/v1/inbox", "root"); code != 200 || !strings.Contains(body, `"rockbot/Bob"`) || !strings.Contains(body, `"rockbot/local"`) {
		t.Errorf("the owner is not told who wants to be let in: %d %s", code, body)
	}
	stop()
	var refused []string
	for e, err := range audit.Read(t.Context(), filepath.Join(cfg.Data, "audit"), audit.Query{}, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if who := e.Actor.ID + " by " + e.Actor.Auth; e.Action == audit.PolicyRefused && !slices.Contains(refused, who) {
			refused = append(refused, who) // the log counts those of the same minute
		}
	}
	want := []string{"rockbot/Bob by rockbot", "rockbot/Carl by rockbot"}
	if diff := cmp.Diff(want, refused); diff != "" {
		t.Errorf("refusals in the audit log (-want +got):\n%s", diff)
	}
}
