package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// flaw is a kind of violation.
type flaw string

// The flaws that the campaign counts. Other violations have the empty flaw.
const (
	lost     flaw = "lost"     // a task, a message, a notification, or a part of a result
	stuck    flaw = "stuck"    // a task that does not end, or a notification that does not arrive
	repeated flaw = "repeated" // an effect, a task or a message
	gap      flaw = "gap"      // a stream misses an event, or repeats one

	unordered flaw = "unordered" // a message of a serial context
)

// violation is an error that no crash excuses.
type violation struct {
	text string
	flaw flaw
}

func (v *violation) Error() string { return v.text }

func wrong(format string, args ...any) error { return flawed("", format, args...) }

func flawed(f flaw, format string, args ...any) error {
	return &violation{fmt.Sprintf(format, args...), f}
}

func isViolation(err error) bool {
	var v *violation
	return errors.As(err, &v)
}

// reader reads the events of one task over as many connections as necessary, and checks that
// none is missing and none is repeated.
type reader struct {
	// skips allows missing versions: further messages of the caller have versions without
	// events.
	skips bool
	// anew makes an artifact that does not append replace the text before it.
	anew bool
	// header is sent with each request.
	header []string
	// book and job record the events in a ledger; book is nil without one.
	book *ledger
	job  string

	id         string
	last       int64 // the version of the last event
	state, why string
	words      string // the text of all chunks
	events     []hubtest.Event
	resumed    int
}

func (r *reader) ended() bool { return ended(r.state) }

// take checks and adds one event.
func (r *reader) take(ev hubtest.Event) error {
	var f frame
	if err := json.Unmarshal([]byte(ev.Data), &f); err != nil {
		return wrong("task %s: event %s is not JSON: %v", r.id, ev.ID, err)
	}
	if f.Task == nil && f.StatusUpdate == nil && f.ArtifactUpdate == nil {
		return fmt.Errorf("the hub sends %s", ev.Data) // the hub is shutting down
	}
	version, err := strconv.ParseInt(ev.ID, 10, 64)
	if err != nil || version <= r.last || !r.skips && version != r.last+1 {
		return flawed(gap, "task %s: event %q after %d: %s", r.id, ev.ID, r.last, ev.Data)
	}
	r.last = version
	r.book.write(&line{Op: opEvent, Job: r.job, Version: version, Sum: sumOf(ev.Data)})
	r.events = append(r.events, hubtest.Event{ID: ev.ID, Data: ev.Data})
	switch {
	case f.Task != nil && r.id != "" && (f.Task.ID != r.id || f.Task.text() != r.words):
		return flawed(gap, "task %s: a snapshot at %d is task %s with %q after %q was read", r.id, version, f.Task.ID, f.Task.text(), r.words)
	case f.Task != nil:
		if r.id == "" {
			r.book.write(&line{Op: opTask, Job: r.job, Task: f.Task.ID})
		}
		r.id, r.words = f.Task.ID, f.Task.text()
		r.status(&f.Task.Status)
	case f.StatusUpdate != nil:
		r.status(&f.StatusUpdate.Status)
	case r.anew && !f.ArtifactUpdate.Append:
		r.words = f.ArtifactUpdate.Artifact.Parts.text()
	default:
		r.words += f.ArtifactUpdate.Artifact.Parts.text()
	}
	return nil
}

func (r *reader) status(s *statusJSON) { r.state, r.why = s.state(), s.Message.text() }

// read reads the stream of a request until enough returns true, or the connection breaks. It
// returns io.EOF if the stream ends regularly before that.
func (r *reader) read(ctx context.Context, request hubtest.Request, enough func() bool) error {
	resp, err := hubtest.Do(ctx, request)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNoContent:
		return wrong("task %s after event %d, in %s: no event is to come", r.id, r.last, r.state)
	case resp.StatusCode/100 == 4:
		return wrong("task %q: %s is refused with %s", r.id, request.URL, resp.Status)
	case resp.StatusCode != http.StatusOK:
		b, _ := io.ReadAll(resp.Body)
		return &hubtest.StatusError{Method: http.MethodPost, URL: request.URL, Status: resp.StatusCode, Body: string(b)}
	}
	for ev, err := range hubtest.Events(resp.Body) {
		if err != nil {
			return err
		}
		if err := r.take(ev); err != nil {
			return err
		}
		if enough() {
			return nil
		}
	}
	return nil
}

// resume reads the events after the last one.
func (r *reader) resume(ctx context.Context, url string, enough func() bool) error {
	r.resumed++
	return r.read(ctx, hubtest.Request{
		Method: http.MethodPost, URL: url + "/v1/a2a/tasks/" + r.id + ":subscribe",
		Header: append([]string{"Last-Event-ID", strconv.FormatInt(r.last, 10)}, r.header...),
	}, enough)
}

// flawOf returns the kind of a violation.
func flawOf(err error) flaw {
	var v *violation
	errors.As(err, &v)
	if v == nil {
		return ""
	}
	return v.flaw
}
