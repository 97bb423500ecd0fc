package interop

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/push"
)

// pushConfig is a config as returned to a client.
type pushConfig struct {
	TaskID         string
	ID             string
	URL            string
	Token          string
	Authentication struct{ Scheme, Credentials string }
}

// webhook is a receiver of a hub's notifications.
type webhook struct {
	url  string
	told chan *push.Notification
}

// startWebhook starts a webhook that accepts only requests with its token and its credentials.
func startWebhook(c *caller) *webhook {
	w := &webhook{told: make(chan *push.Notification, 1000)}
	srv := httptest.NewServer(&push.Receiver{
		Token: "my-token", Authorization: "Bearer my-credentials",
		Handle: func(_ context.Context, n *push.Notification) error {
			w.told <- n
			return nil
		},
	})
	c.Cleanup(srv.Close)
	w.url = srv.URL + "/hook?for=me"
	return w
}

// config returns a config for the webhook.
func (w *webhook) config(more obj) obj {
	o := obj{"url": w.url, "token": "my-token", "authentication": obj{"scheme": "Bearer", "credentials": "my-credentials"}}
	for k, v := range more {
		o[k] = v
	}
	return o
}

// until returns the notifications up to a state, each decoded by the SDK. No notification may
// be repeated or belong to another task.
func (w *webhook) until(c *caller, id, state string) []event {
	c.Helper()
	var all []event
	seen := map[string]bool{}
	for {
		var n *push.Notification
		select {
		case n = <-w.told:
		case <-c.ctx.Done():
			c.Fatalf("the webhook of task %s received %+v, and never %s", id, all, state)
		}
		if n.ID == "" || seen[n.ID] || string(n.TaskID) != id || n.Old != (c.peer.speaks == v03) {
			c.Errorf("notification %q about task %s: %s, want one about %s, once", n.ID, n.TaskID, n.Body, id)
		}
		seen[n.ID] = true
		got := decode[event](c, c.do("echo", "read", n.Body))
		if diff := cmp.Diff(decode[event](c, c.peer.reads(c, n.Body)), got); diff != "" {
			c.Errorf("the SDK reads %s otherwise than it is (-sent +read):\n%s", n.Body, diff)
		}
		all = append(all, got)
		if got.state() == "TASK_STATE_"+state {
			return all
		}
	}
}

// state returns the state in an event: v1.0 sends changes, v0.3 the task.
func (e event) state() string {
	switch {
	case e.StatusUpdate != nil:
		return e.StatusUpdate.Status.State
	case e.Task != nil:
		return e.Task.Status.State
	}
	return ""
}

// artifacts returns the text of the artifacts in notifications.
func artifacts(received []event) string {
	s := ""
	for _, ev := range received {
		switch {
		case ev.ArtifactUpdate != nil:
			s += text(ev.ArtifactUpdate.Artifact.Parts)
		case ev.Task != nil && len(ev.Task.Artifacts) > 0:
			s = text(ev.Task.Artifacts[0].Parts)
		}
	}
	return s
}

// reads converts a notification to v1.0.
func (p *peer) reads(tb testing.TB, body json.RawMessage) json.RawMessage {
	tb.Helper()
	if result := languages[p.speaks].result; result != nil {
		b, err := result("read", body)
		if err != nil {
			tb.Fatal(err)
		}
		return b
	}
	return body
}

// quiet fails the test if the webhook has received an unread notification.
func (w *webhook) quiet(c *caller) {
	c.Helper()
	select {
	case n := <-w.told:
		c.Errorf("the webhook receives %s, want nothing", n.Body)
	default:
	}
}

// wantConfigs fails unless a task has exactly these configs, as far as the client can list
// them.
func (c *caller) wantConfigs(agent, id string, want ...string) {
	c.Helper()
	if !c.peer.offers("listPush") {
		return
	}
	var got []string
	for _, p := range c.configs(agent, id) {
		got = append(got, p.ID)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(want, got) {
		c.Errorf("task %s has the configs %q, want %q", id, got, want)
	}
}

// configs lists the configs of a task, if the client can.
func (c *caller) configs(agent, id string) []pushConfig {
	c.Helper()
	if !c.peer.offers("listPush") {
		return nil
	}
	return decode[struct{ Configs []pushConfig }](c, c.do(agent, "listPush", obj{"taskId": id})).Configs
}

func pushConfigsScenario(c *caller) {
	t := c.send("interview", textMessage("ask 1"))
	w := startWebhook(c)
	create := func(more obj) pushConfig {
		c.Helper()
		more["taskId"] = t.ID
		return decode[pushConfig](c, c.do("interview", "createPush", w.config(more)))
	}
	id := "my hook/1?"
	if !c.ofAgent() {
		id = "my hook 1?" // gRPC of v0.3 has ids in names with slashes between
	}
	named, other := create(obj{"id": id}), create(obj{})
	if named.ID != id || other.ID == "" || other.ID == named.ID {
		c.Errorf("configs have the ids %q and %q, want the one that was asked for and a new one", named.ID, other.ID)
	}
	want := pushConfig{TaskID: t.ID, ID: other.ID, URL: w.url}
	want.Authentication.Scheme = "Bearer"
	ref := obj{"taskId": t.ID, "id": other.ID}
	for _, got := range []pushConfig{other, decode[pushConfig](c, c.do("interview", "getPush", ref))} {
		if diff := cmp.Diff(want, got); diff != "" {
			c.Errorf("config mismatch, secrets must not be in it (-want +got):\n%s", diff)
		}
	}
	c.wantConfigs("interview", t.ID, named.ID, other.ID)
	if !c.peer.offers("deletePush") {
		return
	}
	for range 2 { // a second deletion changes nothing
		c.do("interview", "deletePush", ref)
	}
	c.wantConfigs("interview", t.ID, named.ID)
	c.refused("TASK_NOT_FOUND", call{Op: "getPush", Agent: "interview", Params: ref})
}

func pushInlineScenario(c *caller) {
	w := startWebhook(c)
	r := textMessage("one two three")
	r["configuration"] = obj{"returnImmediately": true, "taskPushNotificationConfig": w.config(obj{})}
	t := c.send("echo", r)
	if got := artifacts(w.until(c, t.ID, "COMPLETED")); got != "one two three" {
		c.Errorf("the webhook receives %q, want the whole answer in order", got)
	}
}

func pushLaterScenario(c *caller) {
	t := c.send("interview", textMessage("ask 1"))
	w := startWebhook(c)
	c.do("interview", "createPush", w.config(obj{"taskId": t.ID}))
	c.send("interview", follow(t.ID, "Ada"))
	for _, ev := range w.until(c, t.ID, "COMPLETED") {
		if ev.state() == "TASK_STATE_INPUT_REQUIRED" {
			c.Errorf("the webhook is told %+v, which was before it came", ev)
		}
	}
	late := startWebhook(c)
	c.do("interview", "createPush", late.config(obj{"taskId": t.ID}))
	if !c.peer.offers("listPush") { // it gives both webhooks one id, so that the late one replaces the other
		return
	}
	if got := c.configs("interview", t.ID); len(got) != 2 {
		c.Errorf("the finished task has configs %+v, want the late one, too", got)
	}
	if got := late.until(c, t.ID, "COMPLETED"); len(got) != 1 {
		c.Errorf("the webhook made after the end receives %+v, want the end once", got)
	}
	w.quiet(c)
	late.quiet(c)
}

func pushRefusedScenario(c *caller) {
	t := c.send("interview", textMessage("ask 1"))
	for _, url := range []string{
		"http://10.0.0.1/", "http://169.254.169.254/latest/meta-data/", "http://2130706433/", "http://[::ffff:10.0.0.1]/",
		"file:///etc/passwd", "http://user:pass@example.org/", "hook",
	} {
		c.refused("INVALID_PARAMS", call{Op: "createPush", Agent: "interview", Params: obj{"taskId": t.ID, "url": url}})
	}
	c.wantConfigs("interview", t.ID)
	for op, params := range map[string]obj{
		"createPush": {"taskId": "nobody's", "url": "https://example.org/"},
		"getPush":    {"taskId": "nobody's", "id": "x"},
		"listPush":   {"taskId": "nobody's"},
		"deletePush": {"taskId": "nobody's", "id": "x"},
	} {
		if c.peer.offers(op) {
			c.refused("TASK_NOT_FOUND", call{Op: op, Agent: "interview", Params: params})
		}
	}
}
