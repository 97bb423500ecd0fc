package exchange_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	amqp "github.com/rabbitmq/amqp091-go"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/parts/rockbot/exchange"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(rabbittest.Exit)) }

const patience = 2 * time.Minute

// hub is a hub with one agent, which is RockBot's. It can be stopped and restarted on its
// store.
type hub struct {
	t     *testing.T
	url   string
	store task.Store
	line  func(*exchange.Exchange)

	*engine.Engine
	stop func()
}

func startHub(t *testing.T, url string, alter func(*exchange.Exchange)) *hub {
	t.Helper()
	h := &hub{t: t, url: url, store: new(memstore.Store), line: alter}
	h.start()
	t.Cleanup(func() { h.stop() })
	return h
}

func (h *hub) start() {
	h.t.Helper()
	b := &amqpbus.Bus{URL: h.url}
	line := &exchange.Exchange{Bus: b, Name: "parley", Logger: slog.New(slog.NewTextHandler(logTo{h.t}, nil))}
	if h.line != nil {
		h.line(line)
	}
	p := &parley.Hub{Store: h.store, Limits: parley.Limits{DrainTimeout: time.Nanosecond}}
	a := &exchange.Agent{Exchange: line, Name: "ResearchAgent", Timeout: patience}
	p.Handle(&a2a.AgentCard{Name: "research", Description: "Researches.", Version: "1", Skills: []a2a.AgentSkill{{ID: "dig"}}}, a2asrv.AgentExecutor(a))
	p.Handler()
	h.Engine = p.Engine().(*engine.Engine)
	ctx, cancel := context.WithCancel(context.Background())
	var owned sync.WaitGroup
	owned.Go(func() { _ = p.Run(ctx) })
	owned.Go(func() {
		if err := line.Run(ctx); err != nil {
			h.t.Errorf("Run = %v", err)
		}
	})
	h.stop = sync.OnceFunc(func() {
		cancel()
		owned.Wait()
		if err := b.Close(); err != nil {
			h.t.Errorf("Close = %v", err)
		}
	})
	<-h.Recovered()
}

type logTo struct{ t *testing.T }

func (l logTo) Write(p []byte) (int, error) {
	l.t.Logf("%s", p)
	return len(p), nil
}

var alice = &op.Caller{Principal: &auth.Principal{ID: "alice"}}

// send sends a message and returns the current task.
func (h *hub) send(id a2a.TaskID, text string) *engine.Answer {
	h.t.Helper()
	body, err := json.Marshal(map[string]any{
		"messageId": "m-" + text, "role": "ROLE_USER", "taskId": id,
		"parts": []any{map[string]any{"text": text}, map[string]any{"data": map[string]int{"n": 7}}},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	r := &op.Send{Message: op.Message{ID: "m-" + text, MediaTypes: []string{""}, Body: body, TaskID: id, Skill: "dig"}, ReturnImmediately: true}
	a, err := h.Send(h.t.Context(), alice, r)
	if err != nil {
		h.t.Fatalf("Send(%s) = %v", text, err)
	}
	return a
}

// wait waits until a task is in a state, and returns it.
func (h *hub) wait(id a2a.TaskID, want task.State) *engine.Answer {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	s, err := h.Subscribe(ctx, alice, &op.Subscribe{ID: id, LastEventID: "1"})
	if err != nil {
		h.t.Fatalf("Subscribe = %v", err)
	}
	defer s.Close()
	for {
		events, err := s.Next(ctx, 0)
		a, _ := h.Get(h.t.Context(), alice, &op.Get{ID: id})
		if err != nil {
			h.t.Fatalf("task is %v %s before it was %v: %v", a.Head.State, a.Head.StatusMessage, want, err)
		}
		for _, ev := range events {
			if ev.Kind == task.Status && ev.State == want {
				return a
			}
		}
	}
}

// peer is an agent of RockBot: its messages have RockBot's properties, and its numbers of
// states.
type peer struct {
	t    *testing.T
	ch   *amqp.Channel
	jobs <-chan amqp.Delivery
}

// startPeer subscribes like RockBot's agents.
func startPeer(t *testing.T, url string) *peer {
	t.Helper()
	ch := rabbittest.Channel(t, url)
	p := &peer{t: t, ch: ch}
	p.must(ch.ExchangeDeclare("rockbot", "topic", true, false, false, false, nil))
	p.must(ch.ExchangeDeclare("rockbot.dlx", "topic", true, false, false, false, nil))
	const topic, queue = "agent.task.ResearchAgent", "exchange.ResearchAgent.agent-task-ResearchAgent"
	_, err := ch.QueueDeclare(queue+".dlq", true, false, false, false, nil)
	p.must(err)
	_, err = ch.QueueDeclare(queue, true, false, false, false, amqp.Table{
		"x-dead-letter-exchange": "rockbot.dlx", "x-dead-letter-routing-key": topic,
	})
	p.must(err)
	p.must(ch.QueueBind(queue, topic, "rockbot", false, nil))
	p.must(ch.QueueBind(queue, "agent.task.cancel.ResearchAgent", "rockbot", false, nil))
	p.jobs, err = ch.Consume(queue, "", false, false, false, false, nil)
	p.must(err)
	return p
}

func (p *peer) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// request is an AgentTaskRequest with its delivery.
type request struct {
	TaskID, ContextID, Skill string
	Message                  struct {
		Role  string
		Parts []struct {
			Kind, Text, Data string
		}
	}
	d amqp.Delivery
}

func (p *peer) next() *request {
	p.t.Helper()
	select {
	case d := <-p.jobs:
		r := &request{d: d}
		p.must(json.Unmarshal(d.Body, r))
		p.must(d.Ack(false))
		return r
	case <-time.After(patience):
		p.t.Fatal("no request arrived")
		return nil
	}
}

// say publishes a message of RockBot's type typ at a topic; JOB and CONTEXT are replaced by the
// ids.
func (p *peer) say(r *request, topic, typ, body string) {
	p.t.Helper()
	text := strings.NewReplacer("JOB", r.TaskID, "CONTEXT", r.ContextID).Replace(body)
	p.must(p.ch.Publish("rockbot", topic, false, false, amqp.Publishing{
		MessageId: "x", Type: "RockBot.A2A." + typ, CorrelationId: r.d.CorrelationId, ContentType: "application/json",
		DeliveryMode: amqp.Persistent, Headers: amqp.Table{"rb-source": "ResearchAgent"}, Body: []byte(text),
	}))
}

func (p *peer) status(r *request, body string) {
	p.t.Helper()
	p.say(r, "agent.task.status", "AgentTaskStatusUpdate", body)
}

func (p *peer) result(r *request, body string) {
	p.t.Helper()
	p.say(r, r.d.ReplyTo, "AgentTaskResult", body)
}

func (h *hub) cancel(id a2a.TaskID) error {
	_, err := h.Cancel(h.t.Context(), alice, &op.Cancel{ID: id})
	return err
}
