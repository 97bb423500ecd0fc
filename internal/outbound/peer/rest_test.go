package peer_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// slow is the body of a stream: frames, then repetitions of the last one, with pauses in
// between.
type slow struct {
	ctx    context.Context
	frames []string
	every  time.Duration
	more   int
}

func (s *slow) Read(p []byte) (int, error) {
	select {
	case <-time.After(s.every):
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
	if len(s.frames) == 1 {
		if s.more == 0 {
			return 0, io.EOF
		}
		s.more--
	}
	frame := s.frames[0]
	s.frames = s.frames[min(1, len(s.frames)-1):]
	return copy(p, "data: "+frame+"\n\n"), nil
}

func (*slow) Close() error { return nil }

// streamed runs a message at an agent with such a stream, and returns the number of events and
// the log.
func streamed(t *testing.T, s *slow) (events int, log string) {
	t.Helper()
	var b bytes.Buffer
	web := &script{steps: []func(*http.Request) (*http.Response, error){func(req *http.Request) (*http.Response, error) {
		s.ctx = req.Context()
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: s, Request: req}, nil
	}}}
	p := at(t, "http://agent.example", rest, "1.0", peer.Options{
		Name: "far", HTTP: &http.Client{Transport: web}, Logger: slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	for _, err := range p.Stream(peer.ForTask(t.Context(), "mine"), messageOf("hello")) {
		if err == nil {
			events++
		}
	}
	return events, b.String()
}

const (
	ended = `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}`
	added = `{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"x"}]}}}`
	begun = `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`
)

// TestRestIsCut checks that the log states when an agent is not read to the end of its stream,
// because of the number of events or the time, and only then.
func TestRestIsCut(t *testing.T) {
	t.Parallel()
	const cut = `level=WARN msg="agent continues after the end of its task; the rest of its stream is ignored" agent=far task=mine remote_task=t taken=%d`
	for name, tt := range map[string]struct {
		every time.Duration
		more  int
		// taken is the number of events read after the end; cut states that more followed.
		taken int
		cut   bool
	}{
		"all":       {time.Millisecond, 10, 10, false},
		"just all":  {time.Millisecond, 1000, 1000, false},
		"too many":  {time.Millisecond, 1001, 1000, true},
		"too long":  {800 * time.Millisecond, 100, 6, true},
		"then none": {1100 * time.Millisecond, 100, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				events, log := streamed(t, &slow{frames: []string{ended, added}, every: tt.every, more: tt.more})
				if events != tt.taken+1 {
					t.Errorf("%d events came, want %d", events, tt.taken+1)
				}
				if want := fmt.Sprintf(cut, tt.taken); tt.cut != strings.Contains(log, want) || !tt.cut && strings.Contains(log, "WARN") {
					t.Errorf("the log is %q, cut %v", log, tt.cut)
				}
			})
		})
	}
}

// TestMalformedEventIsLogged checks that the log states why an event was not read, before and
// after the end of its task.
func TestMalformedEventIsLogged(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		frames []string
		reason string // empty for no record
	}{
		"no JSON":          {[]string{begun, `{"what":`, added}, "an event of agent.example"},
		"no event":         {[]string{begun, `{"what":1}`, added}, "is not a task, a message or an event"},
		"no JSON, after":   {[]string{ended, `{"what":`, added}, "an event of agent.example"},
		"another's":        {[]string{ended, strings.ReplaceAll(added, `"t"`, `"u"`), added}, "task u"},
		"nothing is wrong": {[]string{begun, ended, added}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, log := streamed(t, &slow{frames: tt.frames, every: time.Millisecond, more: 1})
				const record = `level=WARN msg="agent sent data that cannot be read" agent=far task=mine remote_task=t reason=`
				if _, reason, found := strings.Cut(log, record); found != (tt.reason != "") || !strings.Contains(reason, tt.reason) {
					t.Errorf("the log is %q, want a reason with %q", log, tt.reason)
				}
			})
		})
	}
}
