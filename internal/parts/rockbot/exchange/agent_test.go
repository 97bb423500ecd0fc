package exchange_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/parley-a2a/parley/internal/parts/rockbot/exchange"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
	"github.com/parley-a2a/parley/task"
)

const done = `{"taskId":"JOB","contextId":"CONTEXT","state":3,"artifacts":[{"name":"paper","description":null,` +
	`"parts":[{"kind":"text","text":"found","data":null,"mimeType":null}]}],` +
	`"message":{"role":"agent","parts":[{"kind":"text","text":"done"}]}}`

// The agent is not running when it is called. Its later responses become events.
func TestTask(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	h := startHub(t, url, nil)
	id := h.send("", "dig here").Head.ID
	p := startPeer(t, url)
	r := p.next()
	type seen struct{ Type, ReplyTo, Source, Skill, Role, Text, Data string }
	want := seen{"RockBot.A2A.AgentTaskRequest", "agent.response.parley.alice", "parley.alice", "dig", "user", "dig here", `{"n":7}`}
	source, _ := r.d.Headers["rb-source"].(string)
	got := seen{r.d.Type, r.d.ReplyTo, source, r.Skill, r.Message.Role, r.Message.Parts[0].Text, r.Message.Parts[1].Data}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request mismatch (-want +got):\n%s", diff)
	}
	p.status(r, `{"taskId":"JOB","state":1,"message":{"role":"agent","parts":[{"kind":"text","text":"looking"}]}}`)
	if a := h.wait(id, task.Working); !strings.Contains(string(a.Head.StatusMessage), "looking") {
		t.Errorf("working with %s", a.Head.StatusMessage)
	}
	p.result(r, done)
	a := h.wait(id, task.Completed)
	if a.Fold.ReplyText() != "found" || !strings.Contains(string(a.Head.StatusMessage), `"done"`) {
		t.Errorf("completed with %q and %s", a.Fold.ReplyText(), a.Head.StatusMessage)
	}
}

// Results arrive although another program receives all messages of the hub's queue of statuses.
func TestStatusesTakenByAnother(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	h, p := startHub(t, url, nil), startPeer(t, url)
	first := h.send("", "dig here").Head.ID
	r := p.next()
	taken, err := rabbittest.Channel(t, url).Consume("rockbot.parley.agent-task-status", "", true, false, false, false, amqp.Table{"x-priority": int32(10)})
	if err != nil {
		t.Fatal(err)
	}
	p.result(r, done)
	if d := <-taken; d.Type != "parley.mark" {
		t.Errorf("the other program gets a %s", d.Type)
	}
	h.wait(first, task.Completed)
	second := h.send("", "dig there").Head.ID
	p.result(p.next(), done)
	h.wait(second, task.Completed)
	if n := len(taken); n > 0 {
		t.Errorf("%d more marks were published after one that did not come back", n)
	}
}

// A question is answered with a new request in the same context.
func TestInputRequired(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	h, p := startHub(t, url, nil), startPeer(t, url)
	id := h.send("", "meet").Head.ID
	first := p.next()
	p.result(first, `{"taskId":"JOB","state":2,"message":{"role":"agent","parts":[{"kind":"text","text":"when?"}]}}`)
	h.wait(id, task.InputRequired)
	h.send(id, "noon")
	second := p.next()
	if second.TaskID == first.TaskID || second.ContextID != first.ContextID || second.d.CorrelationId != first.d.CorrelationId {
		t.Errorf("second request is %+v, the first was %+v", second, first)
	}
	p.result(second, done)
	h.wait(id, task.Completed)
}

func TestError(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	h, p := startHub(t, url, nil), startPeer(t, url)
	id := h.send("", "x").Head.ID
	r := p.next()
	p.say(r, r.d.ReplyTo, "AgentTaskError", `{"taskId":"JOB","code":"skill_not_supported","message":"no spade","isRetryable":false}`)
	if a := h.wait(id, task.Failed); !strings.Contains(string(a.Head.StatusMessage), "skill_not_supported: no spade") {
		t.Errorf("failed with %s", a.Head.StatusMessage)
	}
}

// The answer arrives while the hub is down. The next hub receives it, and does not repeat the
// request.
func TestHubRestart(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	h, p := startHub(t, url, nil), startPeer(t, url)
	id := h.send("", "slow").Head.ID
	r := p.next()
	p.status(r, `{"taskId":"JOB","state":1}`)
	h.wait(id, task.Working)
	h.stop()
	p.result(r, done)
	h.start()
	if a := h.wait(id, task.Completed); a.Fold.ReplyText() != "found" {
		t.Errorf("completed with %q", a.Fold.ReplyText())
	}
	next := h.send("", "another").Head.ID
	if r := p.next(); r.Message.Parts[0].Text != "another" {
		t.Errorf("the agent was asked again: %+v", r.Message)
	}
	_ = next
}

func TestCancel(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	h, p := startHub(t, url, nil), startPeer(t, url)
	id := h.send("", "long").Head.ID
	r := p.next()
	canceled := make(chan error, 1)
	go func() { canceled <- h.cancel(id) }() // ends with the test's cancel below
	c := p.next()
	if c.TaskID != r.TaskID || c.d.Type != "RockBot.A2A.AgentTaskCancelRequest" {
		t.Errorf("cancel is %s %s, the task %s", c.d.Type, c.d.Body, r.TaskID)
	}
	p.result(r, `{"taskId":"JOB","state":5}`)
	if err := <-canceled; err != nil {
		t.Errorf("Cancel = %v", err)
	}
	h.wait(id, task.Canceled)
}

// Invalid messages go to the dead letters and change nothing.
func TestInvalidMessages(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	h, p := startHub(t, url, nil), startPeer(t, url)
	id := h.send("", "x").Head.ID
	r := p.next()
	dead, err := p.ch.Consume("rockbot.parley.agent-response-parley.dlq", "", true, false, false, false, nil)
	p.must(err)
	for _, body := range []string{`{no json`, `[]`, `{"taskId":""}`, `{"state":3}`} {
		p.result(r, body)
		if d := <-dead; string(d.Body) != body {
			t.Errorf("dead is %q, want %q", d.Body, body)
		}
	}
	p.status(r, `{"taskId":"JOB","state":9}`)
	p.status(r, `nonsense`)
	p.result(r, done)
	h.wait(id, task.Completed)
	id = h.send("", "y").Head.ID
	p.result(p.next(), `{"taskId":"JOB","state":"Exploded"}`)
	h.wait(id, task.Failed)
}

func TestCards(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	heard := make(chan string, 10)
	ready := startHub(t, url, func(l *exchange.Exchange) {
		l.Announced = func(n *exchange.Announcement) error {
			heard <- n.Card.Name + " " + n.Card.Skills[0].ID
			return nil
		}
	})
	p := startPeer(t, url)
	ready.send("", "bound") // the hub has created its queues by then
	r := p.next()
	for {
		p.say(r, "discovery.announce", "AgentCard", `{"agentName":"ResearchAgent","description":"d","version":"1.0","skills":[{"id":"dig","name":"Dig","description":"d"}]}`)
		select {
		case got := <-heard:
			if got != "ResearchAgent dig" {
				t.Errorf("received %q", got)
			}
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}
