package front_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/parts/rockbot/exchange"
	"github.com/parley-a2a/parley/internal/parts/rockbot/front"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(rabbittest.Exit)) }

const patience = 2 * time.Minute

// helper asks for a name if its message has no text, and never ends if the text is "wait".
func helper(ctx context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	text := agent.Text(x.Message)
	answer := func(s a2a.TaskState, text string) {
		yield(a2a.NewStatusUpdateEvent(x, s, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))), nil)
	}
	switch text {
	case "":
		answer(a2a.TaskStateInputRequired, "who?")
	case "wait":
		answer(a2a.TaskStateWorking, "waiting")
		<-ctx.Done()
	default:
		yield(a2a.NewArtifactEvent(x, a2a.NewTextPart("hello "+text)), nil)
		answer(a2a.TaskStateCompleted, "done")
	}
}

// startHub runs a hub with an agent for RockBot's agents, until it is stopped.
func startHub(t *testing.T, url string, store task.Store) (stop func()) {
	t.Helper()
	b := &amqpbus.Bus{URL: url}
	line := &exchange.Exchange{Bus: b, Name: "parley"}
	hub := &parley.Hub{Store: store, Limits: parley.Limits{DrainTimeout: time.Nanosecond}}
	hub.Handle(&a2a.AgentCard{Name: "helper", Description: "Helps.", Version: "1", Skills: []a2a.AgentSkill{{ID: "greet"}}},
		agent.With(agent.Func(helper), agent.Traits{AfterCrash: agent.Repeat}))
	hub.Handler()
	ctx, cancel := context.WithCancel(context.Background())
	var owned sync.WaitGroup
	owned.Go(func() { _ = hub.Run(ctx) })
	<-hub.Engine().Recovered()
	owned.Go(func() {
		if err := line.Serve(ctx, "helper", &front.Server{Engine: hub.Engine().(*engine.Engine)}); err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		owned.Wait()
		if err := b.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// bob is a calling agent of RockBot.
type bob struct {
	t       *testing.T
	ch      *amqp.Channel
	answers <-chan amqp.Delivery
}

func startBob(t *testing.T, url string) *bob {
	t.Helper()
	b := &bob{t: t, ch: rabbittest.Channel(t, url)}
	var err error
	for _, x := range []string{"rockbot", "rockbot.dlx"} {
		b.must(b.ch.ExchangeDeclare(x, "topic", true, false, false, false, nil))
	}
	for name, topic := range map[string]string{"bob": "agent.response.Bob", "rockbot.helper.agent-task-helper": "agent.task.helper", "rockbot.helper.agent-task-cancel-helper": "agent.task.cancel.helper"} {
		args := amqp.Table{"x-dead-letter-exchange": "rockbot.dlx", "x-dead-letter-routing-key": topic}
		_, err = b.ch.QueueDeclare(name, true, false, false, false, args)
		b.must(err)
		b.must(b.ch.QueueBind(name, topic, "rockbot", false, nil))
	}
	b.answers, err = b.ch.Consume("bob", "", true, false, false, false, nil)
	b.must(err)
	return b
}

func (b *bob) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bob) ask(topic, typ, body string) {
	b.t.Helper()
	b.must(b.ch.Publish("rockbot", topic, false, false, amqp.Publishing{
		MessageId: "m", Type: "RockBot.A2A." + typ, CorrelationId: "corr", ReplyTo: "agent.response.Bob",
		DeliveryMode: amqp.Persistent, Headers: amqp.Table{"rb-source": "Bob"}, Body: []byte(body),
	}))
}

func (b *bob) request(id, text string) {
	b.t.Helper()
	parts := "[]"
	if text != "" {
		parts = fmt.Sprintf(`[{"kind":"text","text":%q,"data":null}]`, text)
	} else {
		parts = `[{"kind":"data","data":"{\"a\":1}"}]`
	}
	b.ask("agent.task.helper", "AgentTaskRequest",
		fmt.Sprintf(`{"taskId":%q,"contextId":"ctx","skill":"greet","message":{"role":"user","parts":%s}}`, id, parts))
}

// answer is an answer: the type and the relevant members of the body of a message.
type answer struct {
	Type, TaskID, Code, Text, Said string
	State                          int
}

func (b *bob) next() answer {
	b.t.Helper()
	select {
	case d := <-b.answers:
		var body struct {
			TaskID, Code string
			State        int
			Message      json.RawMessage
			Artifacts    []struct{ Parts []struct{ Text string } }
		}
		b.must(json.Unmarshal(d.Body, &body))
		if d.CorrelationId != "corr" || d.Headers["rb-source"] != "helper" {
			b.t.Errorf("answer with correlation %q from %v", d.CorrelationId, d.Headers["rb-source"])
		}
		a := answer{Type: strings.TrimPrefix(d.Type, "RockBot.A2A."), TaskID: body.TaskID, Code: body.Code, State: body.State}
		if len(body.Artifacts) > 0 {
			a.Text = body.Artifacts[0].Parts[0].Text
		}
		var reply struct{ Parts []struct{ Text string } }
		if json.Unmarshal(body.Message, &reply) == nil && len(reply.Parts) > 0 {
			a.Said = reply.Parts[0].Text
		}
		return a
	case <-time.After(patience):
		b.t.Fatal("no answer")
		return answer{}
	}
}

func (b *bob) want(want answer) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.next()); diff != "" {
		b.t.Errorf("answer mismatch (-want +got):\n%s", diff)
	}
}

// TestRequests checks that the request waits for the hub, that a repeated one is the same task,
// and that a question is answered in the same context.
func TestRequests(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	b := startBob(t, url)
	b.request("t1", "Bob")
	startHub(t, url, new(memstore.Store))
	b.want(answer{Type: "AgentTaskResult", TaskID: "t1", State: 3, Text: "hello Bob", Said: "done"})
	b.request("t1", "Bob")
	b.want(answer{Type: "AgentTaskResult", TaskID: "t1", State: 3, Text: "hello Bob", Said: "done"})
	b.request("t2", "")
	b.want(answer{Type: "AgentTaskResult", TaskID: "t2", State: 2, Said: "who?"})
	b.request("t3", "Eve")
	b.want(answer{Type: "AgentTaskResult", TaskID: "t3", State: 3, Text: "hello Eve", Said: "done"})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	b := startBob(t, url)
	startHub(t, url, new(memstore.Store))
	b.ask("agent.task.helper", "AgentTaskRequest", `{"taskId":"t1","skill":"fly","message":{"role":"user","parts":[{"kind":"text","text":"x"}]}}`)
	if a := b.next(); a.Type != "AgentTaskError" || a.Code != "skill_not_supported" || a.TaskID != "t1" {
		t.Errorf("answer to an unknown skill: %+v", a)
	}
	b.ask("agent.task.helper", "AgentTaskRequest", `{"taskId":"t2","message":{"role":"user","parts":[{"kind":"film"}]}}`)
	if a := b.next(); a.Type != "AgentTaskError" || a.Code != "invalid_request" || a.TaskID != "t2" {
		t.Errorf("answer to a bad part: %+v", a)
	}
	b.ask("agent.task.cancel.helper", "AgentTaskCancelRequest", `{"taskId":"t9"}`)
	if a := b.next(); a.Type != "AgentTaskError" || a.Code != "task_not_found" {
		t.Errorf("answer to a cancel of nothing: %+v", a)
	}
	dead, err := b.ch.Consume("rockbot.helper.agent-task-helper.dlq", "", true, false, false, false, nil)
	b.must(err)
	for _, body := range []string{`nonsense`, `{"taskId":7}`} {
		b.ask("agent.task.helper", "AgentTaskRequest", body)
		if d := <-dead; string(d.Body) != body {
			t.Errorf("dead is %q, want %q", d.Body, body)
		}
	}
}

// TestRestartAndCancel checks that a hub that is stopped halfway continues the same task, which
// can be canceled.
func TestRestartAndCancel(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	b := startBob(t, url)
	_, err := b.ch.QueueDeclare("statuses", true, false, false, false, nil)
	b.must(err)
	b.must(b.ch.QueueBind("statuses", "agent.task.status", "rockbot", false, nil))
	statuses, err := b.ch.Consume("statuses", "", true, false, false, false, nil)
	b.must(err)
	store := new(memstore.Store)
	stop := startHub(t, url, store)
	b.request("t1", "wait")
	if d := <-statuses; string(d.Body) != `{"taskId":"t1","state":1}` {
		t.Errorf("status is %s", d.Body)
	}
	stop()
	startHub(t, url, store)
	<-statuses
	const cancel = `{"taskId":"t1"}`
	b.ask("agent.task.cancel.helper", "AgentTaskCancelRequest", cancel)
	for canceled := 0; canceled < 2; { // the request and the cancel are answered
		switch a := b.next(); {
		case a.Code == "task_not_found": // the task does not exist yet
			b.ask("agent.task.cancel.helper", "AgentTaskCancelRequest", cancel)
		case a == (answer{Type: "AgentTaskResult", TaskID: "t1", State: 5}):
			canceled++
		default:
			t.Fatalf("answer to a cancel: %+v", a)
		}
	}
}
