package interop

import (
	"context"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/push"
)

// pushConfig is a config as a client is shown it.
type pushConfig struct {
	TaskID         string
	ID             string
	URL            string
	Token          string
	Authentication struct{ Scheme, Credentials string }
}

// webhook is where a hub tells what happens.
type webhook struct {
	url  string
	told chan *push.Notification
}

// startWebhook starts a webhook that believes only who sends its token and its
// credentials.
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

// until returns what the webhook is told up to a state, each as the SDK reads it.
// Nothing may come twice or be of another task.
func (w *webhook) until(c *caller, id, state string) []event {
	c.Helper()
	var all []event
	seen := map[string]bool{}
	for {
		var n *push.Notification
		select {
		case n = <-w.told:
		case <-c.ctx.Done():
			c.Fatalf("the webhook of task %s was told %+v, and never %s", id, all, state)
		}
		if n.ID == "" || seen[n.ID] || string(n.TaskID) != id || n.Old {
			c.Errorf("notification %q about task %s: %s, want one about %s, once", n.ID, n.TaskID, n.Body, id)
		}
		seen[n.ID] = true
		got := decode[event](c, c.do("echo", "read", n.Body))
		if diff := cmp.Diff(decode[event](c, n.Body), got); diff != "" {
			c.Errorf("the SDK reads %s otherwise than it is (-sent +read):\n%s", n.Body, diff)
		}
		all = append(all, got)
		if u := got.StatusUpdate; u != nil && u.Status.State == "TASK_STATE_"+state {
			return all
		}
	}
}

// quiet fails if the webhook is told anything that has not been read.
func (w *webhook) quiet(c *caller) {
	c.Helper()
	select {
	case n := <-w.told:
		c.Errorf("the webhook is told %s, want nothing", n.Body)
	default:
	}
}

// configs lists the configs of a task.
func (c *caller) configs(agent, id string) []pushConfig {
	c.Helper()
	return decode[struct{ Configs []pushConfig }](c, c.do(agent, "listPush", obj{"taskId": id})).Configs
}

func pushConfigsScenario(c *caller) {
	t := c.send("interview", say("ask 1"))
	w := startWebhook(c)
	create := func(more obj) pushConfig {
		c.Helper()
		more["taskId"] = t.ID
		return decode[pushConfig](c, c.do("interview", "createPush", w.config(more)))
	}
	named, other := create(obj{"id": "my hook/1?"}), create(obj{})
	if named.ID != "my hook/1?" || other.ID == "" || other.ID == named.ID {
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
	var ids []string
	for _, p := range c.configs("interview", t.ID) {
		ids = append(ids, p.ID)
	}
	slices.Sort(ids)
	both := []string{named.ID, other.ID}
	slices.Sort(both)
	if diff := cmp.Diff(both, ids); diff != "" {
		c.Errorf("listed ids mismatch (-want +got):\n%s", diff)
	}
	for range 2 { // deleting again changes nothing
		c.do("interview", "deletePush", ref)
	}
	if got := c.configs("interview", t.ID); len(got) != 1 || got[0].ID != named.ID {
		c.Errorf("after the deletion there is %+v, want %q alone", got, named.ID)
	}
	c.refused("TASK_NOT_FOUND", call{Op: "getPush", Agent: "interview", Params: ref})
}

func pushInlineScenario(c *caller) {
	w := startWebhook(c)
	r := say("one two three")
	r["configuration"] = obj{"returnImmediately": true, "taskPushNotificationConfig": w.config(obj{})}
	t := c.send("echo", r)
	var b strings.Builder
	for _, ev := range w.until(c, t.ID, "COMPLETED") {
		if ev.ArtifactUpdate != nil {
			b.WriteString(text(ev.ArtifactUpdate.Artifact.Parts))
		}
	}
	if b.String() != "one two three" {
		c.Errorf("the webhook is told %q, want the whole answer in order", b.String())
	}
}

func pushLaterScenario(c *caller) {
	t := c.send("interview", say("ask 1"))
	w := startWebhook(c)
	c.do("interview", "createPush", w.config(obj{"taskId": t.ID}))
	c.send("interview", follow(t.ID, "Ada"))
	for _, ev := range w.until(c, t.ID, "COMPLETED") {
		if ev.StatusUpdate != nil && ev.StatusUpdate.Status.State == "TASK_STATE_INPUT_REQUIRED" {
			c.Errorf("the webhook is told %+v, which was before it came", ev.StatusUpdate)
		}
	}
	late := startWebhook(c)
	c.do("interview", "createPush", late.config(obj{"taskId": t.ID}))
	if got := c.configs("interview", t.ID); len(got) != 2 {
		c.Errorf("the finished task has configs %+v, want the late one, too", got)
	}
	w.quiet(c)
	late.quiet(c)
}

func pushRefusedScenario(c *caller) {
	t := c.send("interview", say("ask 1"))
	for _, url := range []string{
		"http://10.0.0.1/", "http://169.254.169.254/latest/meta-data/", "http://2130706433/", "http://[::ffff:10.0.0.1]/",
		"file:///etc/passwd", "http://user:pass@example.org/", "hook",
	} {
		c.refused("INVALID_PARAMS", call{Op: "createPush", Agent: "interview", Params: obj{"taskId": t.ID, "url": url}})
	}
	if got := c.configs("interview", t.ID); len(got) != 0 {
		c.Errorf("refused configs are listed: %+v", got)
	}
	for op, params := range map[string]obj{
		"createPush": {"taskId": "nobody's", "url": "https://example.org/"},
		"getPush":    {"taskId": "nobody's", "id": "x"},
		"listPush":   {"taskId": "nobody's"},
		"deletePush": {"taskId": "nobody's", "id": "x"},
	} {
		c.refused("TASK_NOT_FOUND", call{Op: op, Agent: "interview", Params: params})
	}
}
