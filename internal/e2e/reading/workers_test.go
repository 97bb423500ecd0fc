package reading_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/nats-io/nats.go"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/jsonvalues"
	"github.com/parley-a2a/parley/internal/testing/natstest"
)

// oddWorker is a worker at the hub's own bus. For each task it sends one odd frame: the one with the number
// that is the message. Then it performs the task.
type oddWorker struct {
	t      *testing.T
	nc     *nats.Conn
	frames []oddFrame

	mu sync.Mutex // guards the field below
	// grants are the channels for the grants of tasks.
	grants map[string]chan *bus.Envelope
}

// oddFrame is a frame with one odd member.
type oddFrame struct {
	jsonvalues.Variant
	kind string
	// early is set if it is sent before the worker claims the task; topic if it is sent to the topic of the
	// hub, and not to its queue.
	early, topic bool
}

const oddID = "odd.1"

// frame returns the JSON of an envelope with placeholders for the members of a job.
func frame(kind bus.Type, seq int, body string) string {
	return fmt.Sprintf(`{"v":2,"id":"<id>","type":%q,"time":1764000000000,"source":"worker/odd.1","replyTo":"worker.odd.1","correlation":"c",`+
		`"task":"<task>","owner":"<owner>","epoch":"<epoch>","seq":%d,"trace":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},"body":%s}`, kind, seq, body)
}

const (
	oddClaim  = `{"delivery":"<delivery>","worker":"odd.1","nonce":"<nonce>","idempotent":false,"slots":0}`
	oddEvent  = `{"artifactUpdate":{"artifact":{"artifactId":"odd","name":"n","parts":[{"text":"odd","metadata":{"k":1}},{"data":{"a":[1]}}],"metadata":{"k":1}},"append":false,"lastChunk":true}}`
	oddStatus = `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-01T00:00:00Z","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"odd"}]}},"metadata":{"k":1}}}`
	before    = `{"artifactUpdate":{"artifact":{"artifactId":"before","parts":[{"text":"before"}]}}}`
	after     = `{"artifactUpdate":{"artifact":{"artifactId":"after","parts":[{"text":"after"}]}}}`
	done      = `{"statusUpdate":{"status":{"state":"TASK_STATE_COMPLETED"}}}`
)

func report(events ...string) string {
	return `{"token":"<token>","worker":"odd.1","events":[` + strings.Join(events, ",") + `]}`
}

// whole reports whether the answer is that of the frame, or of the worker's report after it.
func (f *oddFrame) whole(parts string) bool {
	if f.kind != "artifact" && f.kind != "status" || !strings.Contains(parts, `"before"`) {
		return true
	}
	return strings.Contains(parts, `"after"`) || strings.Contains(f.Path, "events[")
}

// fails reports whether a frame may end its task with a text.
func (f *oddFrame) fails(says string) bool {
	switch f.kind {
	case "error":
		return says == "e" || strings.HasSuffix(f.Path, ".error")
	case "end":
		return strings.Contains(f.Path, "ended") || strings.Contains(f.Path, "givenBack")
	case "piece":
		return strings.HasPrefix(f.Path, ".body") && says != ""
	}
	return false
}

// oddFrames returns frames with every JSON value in the place of every member.
func oddFrames(t *testing.T) []oddFrame {
	var all []oddFrame
	for _, s := range []oddFrame{
		{kind: "claim", early: true, topic: true, Variant: jsonvalues.Variant{JSON: frame(protocol.TypeClaim, 0, oddClaim)}},
		{kind: "artifact", Variant: jsonvalues.Variant{JSON: frame(protocol.TypeReport, 1, report(before, oddEvent, after))}},
		{kind: "status", Variant: jsonvalues.Variant{JSON: frame(protocol.TypeReport, 1, report(before, oddStatus, after))}},
		{kind: "error", Variant: jsonvalues.Variant{JSON: frame(protocol.TypeReport, 1, `{"token":"<token>","worker":"odd.1","events":[`+before+`],"error":"e","public":true,"cancelRefused":"no"}`)}},
		{kind: "end", Variant: jsonvalues.Variant{JSON: frame(protocol.TypeReport, 1, `{"token":"<token>","worker":"odd.1","ended":false,"givenBack":false}`)}},
		{kind: "piece", Variant: jsonvalues.Variant{JSON: frame(protocol.TypeReport, 1, `{"token":"<token>","worker":"odd.1","large":{"id":"b","size":9,"sha256":"47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="},"piece":{"blob":"b","offset":0,"data":"QUFB"}}`)}},
		{kind: "heartbeat", topic: true, Variant: jsonvalues.Variant{JSON: frame(protocol.TypeHeartbeat, 0, `{"worker":"odd.1","jobs":[{"task":"<task>","owner":"<owner>","epoch":"<epoch>","token":"<token>"}]}`)}},
		{kind: "fetch", topic: true, Variant: jsonvalues.Variant{JSON: frame(protocol.TypeFetch, 0, `{"token":"<token>","worker":"odd.1","blob":"b","offset":0}`)}},
		{kind: "batch", topic: true, Variant: jsonvalues.Variant{JSON: frame(protocol.TypeBatch, 0, `{"envelopes":[{"type":"job.report","correlation":"c","task":"<task>","owner":"<owner>","epoch":"<epoch>","seq":1,"trace":{"a":"b"},"body":`+report(oddEvent)+`}]}`)}},
	} {
		for _, v := range jsonvalues.Variants(t, s.JSON) {
			v.JSON = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(v.JSON)
			// A claim of another worker is valid, and a job of another epoch or owner is another job.
			if s.kind == "claim" && (v.Path == ".body.worker" || v.Path == ".body.nonce") && v.Value == `"x"` {
				continue
			}
			all = append(all, oddFrame{v, s.kind, s.early, s.topic})
		}
	}
	return all
}

// fill replaces the placeholders of a frame.
func fill(text string, d *bus.Delivery, delivery, epoch int64, token string) string {
	return strings.NewReplacer("<id>", a2a.NewMessageID(), "<task>", d.Task, "<owner>", string(d.Owner), `"<epoch>"`, strconv.FormatInt(epoch, 10),
		`"<delivery>"`, strconv.FormatInt(delivery, 10), "<token>", token, "<nonce>", d.Task+"-"+strconv.FormatInt(delivery, 10)).Replace(text)
}

func (w *oddWorker) publish(at bus.Address, text string) {
	if err := w.nc.Publish(natsbus.Subject(at), []byte(text)); err != nil {
		w.t.Error(err)
	}
}

// perform sends the odd frame of a task, and performs the task.
func (w *oddWorker) perform(d *bus.Delivery) {
	var job protocol.Work
	var message struct{ Parts []struct{ Text string } }
	err := json.Unmarshal(d.Body, &job)
	if err == nil {
		err = json.Unmarshal(job.Message, &message)
	}
	if err != nil {
		w.t.Errorf("job %s: %v", d.Body, err)
		return
	}
	n, _ := strconv.Atoi(message.Parts[0].Text)
	f := &w.frames[n]
	grants := make(chan *bus.Envelope, 10)
	w.mu.Lock()
	w.grants[d.Task] = grants
	w.mu.Unlock()
	hub, reports := bus.Topic(d.ReplyTo), bus.Queue(job.Reports)
	at := reports
	if f.topic {
		at = hub
	}
	if f.early && job.Delivery == 1 {
		w.publish(at, fill(f.JSON, d, job.Delivery, 0, ""))
	}
	w.publish(hub, fill(frame(protocol.TypeClaim, 0, oddClaim), d, job.Delivery, 0, ""))
	var e *bus.Envelope
	select {
	case e = <-grants:
	case <-w.t.Context().Done():
		return
	}
	var g protocol.Grant
	if err := json.Unmarshal(e.Body, &g); err != nil {
		w.t.Errorf("grant %s: %v", e.Body, err)
	}
	if !f.early && job.Delivery == 1 {
		w.publish(at, fill(f.JSON, d, job.Delivery, e.Epoch, g.Token))
	}
	// The odd frame has up to three events. If it was refused, the first of these reports is the next one.
	for seq := 1; seq <= 4; seq++ {
		w.publish(reports, fill(frame(protocol.TypeReport, seq, report(done)), d, job.Delivery, e.Epoch, g.Token))
	}
	if err := d.Ack(context.WithoutCancel(w.t.Context())); err != nil {
		w.t.Error(err)
	}
}

// run performs tasks until the test ends.
func (w *oddWorker) run(b bus.Bus) {
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	w.t.Cleanup(func() {
		stop()
		all.Wait()
		_ = b.Close()
	})
	ready := make(chan struct{}, 1)
	all.Go(func() {
		for d, err := range b.Receive(ctx, bus.Subscription{At: protocol.WorkerAt(oddID), Ready: func() { ready <- struct{}{} }}) {
			if err != nil {
				w.t.Error(err)
				return
			}
			w.mu.Lock()
			c := w.grants[d.Task]
			w.mu.Unlock()
			if d.Type == protocol.TypeGrant && c != nil {
				select {
				case c <- d.Envelope:
				default:
				}
			}
		}
	})
	<-ready
	all.Go(func() {
		for d, err := range b.Receive(ctx, bus.Subscription{At: protocol.JobAt("odd"), Prefetch: 64}) {
			if err != nil {
				w.t.Error(err)
				return
			}
			all.Go(func() { w.perform(d) })
		}
	})
}

// TestEveryValueFromWorkers lets a worker at the hub's bus send every JSON value in the place of every member
// of its frames. Each task ends at once; the frame is read, or the hub logs why not.
func TestEveryValueFromWorkers(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{Config: "bus: {lease: 10m}\nagents: [{name: odd, queue: odd}]\n"})
	c, err := natsbus.ReadContact(filepath.Join(h.Data(), natsbus.ContactFile))
	if err != nil {
		t.Fatal(err)
	}
	b, err := natsbus.Open(t.Context(), c.Options())
	if err != nil {
		t.Fatal(err)
	}
	w := &oddWorker{t: t, nc: natstest.Connect(t, c.URL, nats.Token(c.Token)), frames: oddFrames(t), grants: make(map[string]chan *bus.Envelope)}
	w.run(b)
	n := &near{url: h.URL()}
	var all sync.WaitGroup
	free := make(chan struct{}, 32)
	for i := range w.frames {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			f := &w.frames[i]
			_, out := n.do(t, http.MethodPost, "/a2a/odd", "1.0", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m%d","role":"ROLE_USER","parts":[{"text":"%[1]d"}]}}}`, i))
			var answer struct{ Result struct{ Task result } }
			_ = json.Unmarshal(out, &answer)
			got := &answer.Result.Task
			parts, says := got.parts(), got.says()
			if strings.HasSuffix(f.Path, ".public") && strings.Contains(says, "(reference ") {
				return // the error is not for callers
			}
			unread := strings.Contains(says, `agent "odd" has sent an event that cannot be read: `)
			switch {
			case got.Status.State == "TASK_STATE_COMPLETED" && f.whole(parts):
			case got.Status.State == "TASK_STATE_FAILED" && (unread || f.fails(says)):
			default:
				t.Errorf("%s %s = %s: %.600s", f.kind, f.Path, f.Value, out)
			}
			if unread && f.Value == `"\ud83d"` && strings.HasSuffix(f.Path, ".text") {
				t.Errorf("%s %s = %s: %q", f.kind, f.Path, f.Value, says)
			}
			if strings.Contains(says, "Go value") || strings.Contains(says, "Go struct") || strings.Contains(says, "(reference ") {
				t.Errorf("%s %s = %s: the task says %q", f.kind, f.Path, f.Value, says)
			}
		})
	}
	all.Wait()
	for line := range strings.Lines(h.Output()) {
		for _, word := range []string{"panic", "Go value", "Go struct", "error=<nil>"} {
			if strings.Contains(line, word) {
				t.Errorf("the hub's log: %s", line)
			}
		}
	}
}

// TestEveryValueInAnnouncements announces agents at the hub's bus with every JSON value in the place of every member.
// Each is announced, or the hub logs why not, and an agent that announces itself after them is known.
func TestEveryValueInAnnouncements(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{})
	c, err := natsbus.ReadContact(filepath.Join(h.Data(), natsbus.ContactFile))
	if err != nil {
		t.Fatal(err)
	}
	nc := natstest.Connect(t, c.URL, nats.Token(c.Token))
	publish := func(kind bus.Type, name, body string) {
		text := fmt.Sprintf(`{"v":2,"id":%q,"type":%q,"source":"agent/%s","body":%s}`, a2a.NewMessageID(), kind, name, strings.ReplaceAll(body, "NAME", name))
		if err := nc.Publish(natsbus.Subject(protocol.Discovery), []byte(text)); err != nil {
			t.Error(err)
		}
	}
	sample := `{"agent":"NAME","card":{"name":"NAME","description":"d","version":"1","capabilities":{"streaming":true},"defaultInputModes":["text/plain"],"skills":[{"id":"s","name":"s","description":"d","tags":["t"]}]},` +
		`"worker":"w","idempotent":true,"serial":false,"started":1764000000000}`
	// A hub that listens asks who is there. An agent that answers is announced before or after that.
	announce := func(*nats.Msg) { publish(protocol.TypeAnnounce, "first", sample) }
	if _, err := nc.Subscribe(natsbus.Subject(protocol.Inquiry), announce); err != nil {
		t.Fatal(err)
	}
	announce(nil)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	announced := func(name string) {
		t.Helper()
		if err := h.Process().Await(ctx, `msg="agent has announced itself on the bus" agent=`+name+" "); err != nil {
			t.Fatal(err)
		}
	}
	announced("first")
	all := jsonvalues.Variants(t, sample)
	for i, v := range all {
		publish(protocol.TypeAnnounce, fmt.Sprintf("odd%d", i), v.JSON)
	}
	publish(protocol.TypeAnnounce, "stays", sample)
	leaves := jsonvalues.Variants(t, `{"agent":"stays","worker":"other"}`)
	for _, v := range leaves {
		publish(protocol.TypeGoodbye, "stays", v.JSON)
	}
	publish(protocol.TypeAnnounce, "last", sample)
	announced("last")
	out := h.Output()
	for i, v := range all {
		if !strings.Contains(out, fmt.Sprintf("on the bus\" agent=odd%d ", i)) && !strings.Contains(out, fmt.Sprintf("rejected\" from=agent/odd%d ", i)) {
			t.Errorf("%s = %s: the log does not say what became of it", v.Path, v.Value)
		}
	}
	if strings.Contains(out, "agent has left the bus") || strings.Contains(out, "panic") || strings.Contains(out, "Go value") || strings.Contains(out, "Go struct") {
		t.Errorf("the hub's log: %s", out)
	}
}
