package protoworkstacean

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/natstest"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

// methods returns the methods of an agent's requests, each with the caller's Accept header.
func (a *remoteAgent) methods() []string {
	var all []string
	for _, r := range a.requests(http.MethodPost) {
		all = append(all, r.Call.Method+" "+r.Header.Get("Accept"))
	}
	return all
}

// TestStreams: the hub sends message/stream to an agent whose card declares streaming, and
// message/send if the card does not, or has proved wrong.
func TestStreams(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fake fake
		yaml string
		want []string
	}{
		"streams": {
			fake{Card: ownCard("true", cardSkill("x", "y")), Streams: true}, "", []string{"message/stream text/event-stream"},
		},
		"card says no": {
			fake{Card: ownCard("false", cardSkill("x", "y")), Streams: true}, "", []string{"message/send application/json"},
		},
		"file says no": {
			fake{Card: ownCard("true", cardSkill("x", "y")), Streams: true}, ", streaming: false", []string{"message/send application/json"},
		},
		"no card": {
			fake{Streams: true}, "", []string{"message/send application/json"},
		},
		"no card, file says yes": {
			fake{Streams: true}, ", streaming: true", []string{"message/stream text/event-stream"},
		},
		"card lies": {
			fake{Card: ownCard("true", cardSkill("x", "y"))},
			"",
			[]string{"message/stream text/event-stream", "SendStreamingMessage text/event-stream", "message/send application/json"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			quinn := startAgent(t, tt.fake)
			h := startHub(t, settings{Agents: "agents:\n  - {name: quinn, url: \"" + quinn.URL + "/a2a\"" + tt.yaml + "}\n"})
			if got := strings.TrimSpace(h.parley("send", "--agent", "quinn", "--stream", "hi")); !strings.HasSuffix(got, "re: hi") {
				t.Errorf("the reply is %q", got)
			}
			if diff := cmp.Diff(tt.want, quinn.methods()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// update is the content that onStreamUpdate publishes.
type update struct{ Agent, Type, Text, State string }

// TestUpdatesOnTheBus: the output of a working agent is published at agent.chat.inbound on the
// real broker, in order.
func TestUpdatesOnTheBus(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, bus string, next func() []byte) {
		quinn := startAgent(t, fake{Card: ownCard("true", cardSkill("x", "y")), Streams: true})
		h := startHub(t, settings{Config: "bus: {url: \"" + bus + "\"}\n", Agents: "agents:\n  - {name: quinn, url: \"" + quinn.URL + "/a2a\"}\n"})
		h.parley("send", "--agent", "quinn", "hi")
		want := []update{
			{"quinn", "status", "thinking", "TASK_STATE_WORKING"}, {"quinn", "artifact", "re: hi", ""}, {"quinn", "status", "", "TASK_STATE_COMPLETED"},
		}
		var got []update
		for range want {
			var u update
			if err := json.Unmarshal(next(), &u); err != nil {
				t.Fatal(err)
			}
			got = append(got, u)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("updates (-want +got):\n%s", diff)
		}
	}
	t.Run("NATS", func(t *testing.T) {
		s := natstest.Start(t, natstest.Debian(t))
		nc := natstest.Connect(t, s.URL)
		sub, err := nc.SubscribeSync("parley.topic.agent.chat.inbound")
		if err == nil {
			err = nc.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		run(t, s.URL, func() []byte {
			m, err := sub.NextMsg(patience)
			if err != nil {
				t.Fatal(err)
			}
			return body(t, m.Data)
		})
	})
	t.Run("RabbitMQ", func(t *testing.T) {
		url := rabbittest.Shared(t).VHost(t)
		conn, err := amqp.Dial(url)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		deliveries := listen(t, conn)
		run(t, url, func() []byte {
			select {
			case d := <-deliveries:
				return body(t, d.Body)
			case <-time.After(patience):
				t.Fatal("there is no update on RabbitMQ")
				return nil
			}
		})
	})
}

// listen binds a new queue to the topic on RabbitMQ.
func listen(t *testing.T, conn *amqp.Connection) <-chan amqp.Delivery {
	t.Helper()
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if err := ch.ExchangeDeclare("parley.topics", amqp.ExchangeTopic, true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	q, err := ch.QueueDeclare("", false, true, true, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := ch.QueueBind(q.Name, "agent.chat.inbound", "parley.topics", false, nil); err != nil {
		t.Fatal(err)
	}
	deliveries, err := ch.Consume(q.Name, "", true, true, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	return deliveries
}

// body returns the body of an envelope, or data unchanged if it is not an envelope.
func body(t *testing.T, data []byte) []byte {
	t.Helper()
	var e struct {
		Body json.RawMessage `json:"body"`
	}
	if err := json.Unmarshal(data, &e); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	if e.Body != nil {
		return e.Body
	}
	return data
}

// TestDefaultTimeout: a message to an agent of agents.yaml without timeoutMs has a deadline
// five minutes after it was sent. The hub stores it with the task, so that it is valid after a
// restart as well; the test reads it there.
func TestDefaultTimeout(t *testing.T) {
	t.Parallel()
	working := func(_ *sendParams, id, context string) string {
		return `{"id":"` + id + `","contextId":"` + context + `","status":{"state":"working"}}`
	}
	quinn := startAgent(t, fake{Reply: working})
	h := startHub(t, settings{Agents: "agents:\n  - {name: quinn, url: \"" + quinn.URL + "/a2a\"}\n  - {name: hasty, url: \"" + quinn.URL + "/a2a\", timeoutMs: 1500}\n"})
	began := time.Now()
	id := strings.TrimSpace(h.parley("send", "--agent", "quinn", "--detach", "hi"))
	quinn.await(t, "poll", func(log []received) bool { return log[len(log)-1].Call.Method == "tasks/get" })
	sent := time.Now()
	t.Run("configured", func(t *testing.T) {
		_, err := h.Parley(t.Context(), "send", "--agent", "hasty", "hi")
		if err == nil || !strings.Contains(err.Error(), "did not answer within 1.5s") {
			t.Errorf("send to an agent with timeoutMs: 1500: %v", err)
		}
	})
	h.Kill()
	db, err := sqlitestore.Open(filepath.Join(h.Data(), "parley.db"), sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	heads, err := db.Tasks().Find(t.Context(), a2a.TaskID(id))
	if err != nil || len(heads) != 1 {
		t.Fatalf("Find(%s) = %v, %v", id, heads, err)
	}
	saved, err := db.Tasks().Sidecar(t.Context(), heads[0].Key, task.SidecarCheckpoint)
	if err != nil {
		t.Fatal(err)
	}
	var handle struct{ Deadline int64 }
	if err := json.Unmarshal(saved, &handle); err != nil {
		t.Fatalf("checkpoint %q: %v", saved, err)
	}
	at := time.UnixMilli(handle.Deadline)
	if at.Before(began.Add(300*time.Second-time.Millisecond)) || at.After(sent.Add(300*time.Second)) {
		t.Errorf("the deadline is %v after the send, want 300 s", at.Sub(began))
	}
}
