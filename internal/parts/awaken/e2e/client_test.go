package awaken

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// backend is a client with the behaviour of Awaken's A2aBackend (awaken-runtime,
// extensions/a2a/a2a_backend.rs). It sends, then subscribes with GET after every answer except
// a final one, and polls after 404, 405 and 501 alone.
type backend struct {
	base   string // with the target
	bearer string
	poll   time.Duration
	// The numbers of requests by kind.
	sends, subscribes, polls atomic.Int64
}

// outcome is the final result of a run of Awaken.
type outcome struct {
	Task, Context string
	State         state
	Text          string
	Failure       string
	Artifacts     []string
}

var messageIDs atomic.Int64

// run sends a text and follows the task to its end or its question. task and thread are the ids
// that Awaken gives to the run and the thread.
func (b *backend) run(ctx context.Context, text, task, thread string) (outcome, error) {
	b.sends.Add(1)
	n := strconv.FormatInt(messageIDs.Add(1), 10)
	body := fmt.Sprintf(`{"message":{"taskId":%q,"contextId":%q,"messageId":"aw-%s","role":"ROLE_USER","parts":[{"text":%q}]},`+
		`"configuration":{"acceptedOutputModes":["text/plain","application/json","application/octet-stream"],"returnImmediately":true}}`,
		task, thread, n, text)
	raw, err := b.ask(ctx, "POST", "/message:send", body)
	if err != nil {
		return outcome{}, fmt.Errorf("A2A submission rejected: %w", err)
	}
	got, err := decode[sent](raw)
	switch {
	case err != nil:
		return outcome{}, fmt.Errorf("failed to decode A2A submission: %w", err)
	case got.Task != nil:
	case got.Message != nil:
		return outcome{State: "TASK_STATE_COMPLETED", Text: textOf(got.Message.Parts)}, nil
	default:
		return outcome{}, errors.New("sendMessage response did not contain a task or message")
	}
	var o outcome
	o.take(got.Task)
	if o.State.done() {
		return o, nil
	}
	if over, err := b.subscribe(ctx, &o); over || err != nil {
		return o, err
	}
	return b.pollTask(ctx, o.Task)
}

// subscribe reports whether the task is done; otherwise the client must poll.
func (b *backend) subscribe(ctx context.Context, o *outcome) (bool, error) {
	b.subscribes.Add(1)
	resp, err := b.open(ctx, "GET", "/tasks/"+o.Task+":subscribe", "", "text/event-stream")
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == 404, resp.StatusCode == 405, resp.StatusCode == 501:
		return false, nil
	case resp.StatusCode >= 400:
		return false, fmt.Errorf("A2A task subscribe rejected for '%s': %s", o.Task, resp.Status)
	}
	for ev, err := range hubtest.Events(resp.Body) {
		if err != nil {
			return false, nil // the stream has ended or is broken: poll
		}
		e, err := decode[event]([]byte(ev.Data))
		if err != nil {
			return false, fmt.Errorf("failed to decode A2A subscribe event payload: %w", err)
		}
		if o.apply(&e); o.State.done() {
			return true, nil
		}
	}
	return false, nil
}

func (b *backend) pollTask(ctx context.Context, id string) (outcome, error) {
	for {
		b.polls.Add(1)
		raw, err := b.ask(ctx, "GET", "/tasks/"+id, "")
		if err != nil {
			return outcome{}, fmt.Errorf("task query rejected: %w", err)
		}
		t, err := decode[taskJSON](raw)
		if err != nil {
			return outcome{}, fmt.Errorf("failed to decode task status: %w", err)
		}
		var o outcome
		if o.take(&t); o.State.done() {
			return o, nil
		}
		select {
		case <-time.After(b.poll):
		case <-ctx.Done():
			return o, context.Cause(ctx)
		}
	}
}

// take corresponds to TaskSnapshot::from_task.
func (o *outcome) take(t *taskJSON) {
	*o = outcome{Task: *t.ID, Context: *t.ContextID, State: *t.Status.State}
	for _, a := range t.Artifacts {
		o.Artifacts = append(o.Artifacts, textOf(a.Parts))
	}
	if t.Status.Message != nil {
		o.Failure = textOf(t.Status.Message.Parts)
	}
	switch {
	case len(o.Artifacts) > 0:
		o.Text = o.Artifacts[0]
	case o.Failure != "":
		o.Text = o.Failure
	default:
		for _, m := range t.History {
			o.Text = textOf(m.Parts)
		}
	}
}

// apply corresponds to TaskSnapshot::apply_stream_response.
func (o *outcome) apply(e *event) {
	switch {
	case e.Task != nil:
		o.take(e.Task)
	case e.StatusUpdate != nil:
		o.Task, o.Context, o.State, o.Failure = *e.StatusUpdate.TaskID, *e.StatusUpdate.ContextID, *e.StatusUpdate.Status.State, ""
		if m := e.StatusUpdate.Status.Message; m != nil && o.State != "TASK_STATE_COMPLETED" {
			o.Failure = textOf(m.Parts)
		} else if m != nil {
			o.Text = textOf(m.Parts)
		}
	case e.ArtifactUp != nil:
		text := textOf(e.ArtifactUp.Artifact.Parts)
		o.Text = text
		o.Artifacts = append(o.Artifacts, text)
	}
}

func (b *backend) open(ctx context.Context, method, path, body, accept string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, b.base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("A2A-Version", "1.0")
	req.Header.Add("Accept", "application/json")
	if accept != "" {
		req.Header.Add("Accept", accept) // both media types, like Awaken's client
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if b.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+b.bearer)
	}
	return http.DefaultClient.Do(req)
}

func (b *backend) ask(ctx context.Context, method, path, body string) ([]byte, error) {
	resp, err := b.open(ctx, method, path, body, "")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 400 {
		return nil, fmt.Errorf("HTTP status %s: %s", resp.Status, raw)
	}
	return raw, nil
}
