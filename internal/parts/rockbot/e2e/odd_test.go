package rockbot_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	rb "github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbotpeer"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/jsonvalues"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

// oddMessage is a message of an agent with one odd member.
type oddMessage struct {
	jsonvalues.Variant
	kind, topic string
}

func oddMessages(t *testing.T) []oddMessage {
	var all []oddMessage
	for _, s := range []oddMessage{
		{kind: "AgentTaskResult", topic: "reply", Variant: jsonvalues.Variant{JSON: `{"taskId":"TASK","contextId":"c","state":3,"artifacts":[{"name":"before","description":null,"parts":[{"kind":"text","text":"before"}]},` +
			`{"name":"odd","description":"d","parts":[{"kind":"text","text":"odd","data":null,"mimeType":null},{"kind":"data","data":"{}","mimeType":"application/json"}]},` +
			`{"name":"after","description":null,"parts":[{"kind":"text","text":"after"}]}],"message":{"role":"agent","parts":[{"kind":"text","text":"done"}],"metadata":{"k":"v"}}}`}},
		{kind: "AgentTaskError", topic: "reply", Variant: jsonvalues.Variant{JSON: `{"taskId":"TASK","contextId":"c","code":"execution_failed","message":"boom","isRetryable":false}`}},
		{kind: "AgentTaskStatusUpdate", topic: rb.StatusTopic, Variant: jsonvalues.Variant{JSON: `{"taskId":"TASK","contextId":"c","state":1,"message":{"role":"agent","parts":[{"kind":"text","text":"odd"}],"metadata":{"k":"v"}}}`}},
	} {
		for _, v := range jsonvalues.Variants(t, s.JSON) {
			all = append(all, oddMessage{v, s.kind, s.topic})
		}
	}
	return all
}

// TestEveryValueFromRockBot lets agents on RockBot's exchange send every JSON value in the place of every member of
// their messages. Each task ends: the message is read, or names its fault, or goes to the dead letters while the task
// continues. A request has an answer or goes there, too.
func TestEveryValueFromRockBot(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	h := hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf(strings.Replace(discovering, "1m", "30m", 1), aliceKey, url)})
	t.Run("answers", func(t *testing.T) { oddAnswers(t, h, url) })
	caller := rb.StartCaller(t, url, "OddCaller")
	t.Run("requests", func(t *testing.T) {
		for kind, s := range map[string]struct{ topic, sample string }{
			"AgentTaskRequest": {rb.TaskTopic + "echo", `{"taskId":"TASK","contextId":"CONTEXT","skill":"echo","message":{"role":"user","parts":[{"kind":"text","text":"hi","data":null,"mimeType":null},` +
				`{"kind":"data","data":"{}","mimeType":"application/json"}],"metadata":{"k":"v"}},"metadata":{"k":"v"}}`},
			"AgentTaskCancelRequest": {rb.CancelTopic + "echo", `{"taskId":"TASK","contextId":"c"}`},
		} {
			for _, v := range jsonvalues.Variants(t, s.sample) {
				id := uuid.NewString()
				caller.Publish(&rb.Wire{
					Topic: s.topic, Type: "RockBot.A2A." + kind, CorrelationID: id, ReplyTo: rb.ReplyTopic + "OddCaller",
					Body: []byte(strings.NewReplacer("TASK", id, "CONTEXT", id).Replace(v.JSON)),
				})
				if v.Path == ".taskId" || v.Path == "" {
					continue // without an address for an answer
				}
				r := caller.Reply()
				if r.Envelope.CorrelationID == "" || r.Error != nil && (rb.Val(r.Error.Message) == "" || strings.Contains(rb.Val(r.Error.Message), "Go ")) {
					t.Errorf("%s %s = %s: the answer is %s", kind, v.Path, v.Value, r.Envelope.Body)
				}
			}
		}
	})
	t.Run("cards", func(t *testing.T) {
		all := jsonvalues.Variants(t, `{"agentName":"NAME","description":"d","version":"1","skills":[{"id":"s","name":"s","description":"d","tags":["t"],"examples":["e"]}],"url":null,"isDeregistering":false}`)
		for i, v := range all {
			name := "Odd" + strconv.Itoa(i)
			caller.Publish(&rb.Wire{Topic: rb.AnnounceTopic, Type: "RockBot.A2A.AgentCard", Source: name, Body: []byte(strings.ReplaceAll(v.JSON, "NAME", name))})
		}
		caller.Announce(cardOf("OddCaller", "last"))
		awaitLog(t, h, `msg="agent has announced itself" agent=oddcaller`)
		known := agents(t, h)
		refused := strings.Count(h.Output(), "topic="+rb.AnnounceTopic)
		left := 0
		for i, v := range all {
			if _, ok := known["odd"+strconv.Itoa(i)]; !ok && (v.Path != ".isDeregistering" || v.Value != "true") {
				left++
			}
		}
		if left != refused {
			t.Errorf("%d cards are not known, and %d were refused", left, refused)
		}
	})
	for line := range strings.Lines(h.Output()) {
		if strings.Contains(line, "panic") || strings.Contains(line, "Go value") || strings.Contains(line, "Go struct") || strings.Contains(line, "level=ERROR") {
			t.Errorf("the hub's log: %s", line)
		}
	}
}

// oddAnswers sends a message for each odd answer to an agent, which publishes it and then the right one.
func oddAnswers(t *testing.T, h *hubtest.Hub, url string) {
	odd := oddMessages(t)
	agent := rb.StartAgent(t, url, &rb.Agent{Name: "NewcomerAgent", Handle: func(task *rb.Task) (*rb.Result, error) {
		n, err := strconv.Atoi(strings.TrimSpace(task.Message.Text()))
		if err != nil {
			return nil, err
		}
		m := &odd[n]
		topic := m.topic
		if topic == "reply" {
			topic = task.Envelope.ReplyTo
		}
		err = task.Publish(&rb.Wire{
			Topic: topic, Type: "RockBot.A2A." + m.kind, CorrelationID: task.Envelope.CorrelationID,
			Body: []byte(strings.ReplaceAll(m.JSON, "TASK", rb.Val(task.TaskID))),
		})
		return task.Result(rb.Completed, "right"), err
	}})
	alice := &caller{t, h, aliceKey}
	var all sync.WaitGroup
	free := make(chan struct{}, 16)
	for i := range odd {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			m := &odd[i]
			var r struct{ Task taskOf }
			defer func() { <-agent.Tasks }() // it keeps a limited number of them
			err := alice.rpc("newcomer", "SendMessage", fmt.Sprintf(`{"message":{"messageId":"odd-%d","role":"ROLE_USER","parts":[{"text":"%[1]d"}]}}`, i), &r)
			got := string(r.Task.Status.Message)
			broke := strings.Contains(got, "broke the protocol: ") && !strings.Contains(got, "Go ")
			switch state := r.Task.Status.State; {
			case err != nil:
				t.Errorf("%s %s = %s: %v", m.kind, m.Path, m.Value, err)
			case state == "TASK_STATE_COMPLETED":
			case state == "TASK_STATE_FAILED" && (broke || m.kind == "AgentTaskError" || m.Path == ".state"):
			case state == "TASK_STATE_INPUT_REQUIRED" || state == "TASK_STATE_CANCELED":
			default:
				t.Errorf("%s %s = %s: %s %s", m.kind, m.Path, m.Value, state, got)
			}
			near := string(r.Task.Artifacts)
			if broke && !strings.Contains(got, "nested") && strings.HasPrefix(m.Path, ".artifacts[1]") && (!strings.Contains(near, "before") || !strings.Contains(near, "after")) {
				t.Errorf("%s %s = %s: the artifacts beside it are %s, %s", m.kind, m.Path, m.Value, near, got)
			}
		})
	}
	all.Wait()
}
