package adminapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/events"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
	"github.com/parley-a2a/parley/task"
)

// eventful returns a handler of a hub with two tasks.
func eventful(t *testing.T) (*adminapi.Handler, *memstore.Store) {
	t.Helper()
	h, _, _ := keyed(t)
	s := new(memstore.Store)
	h.Events = &events.Recorder{Store: s}
	for _, owner := range []task.Owner{"anna", "bert"} {
		head := tasktest.Append(t, s, tasktest.NewHead(owner, "t1"), tasktest.Created(tasktest.At(0), "<hi>\n\ndata: x"))
		tasktest.Append(t, s, head, tasktest.Status(tasktest.At(1), task.Working, ""))
	}
	return h, s
}

// frames returns the events of a stream as "id type owner".
func frames(t *testing.T, body string) (all []string) {
	t.Helper()
	id := ""
	lines := bufio.NewScanner(strings.NewReader(body))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			id = value
		case "data":
			var e events.Event
			if err := json.Unmarshal([]byte(value), &e); err != nil {
				t.Fatalf("data %s: %v", value, err)
			}
			if e.ID != id {
				t.Errorf("event %s has the id %s", value, id)
			}
			_, seq, _ := strings.Cut(e.ID, "-")
			all = append(all, strings.TrimSpace(seq+" "+e.Type+" "+string(e.Owner)))
		}
	}
	return all
}

const fromTheFirst = "GET /api/v1/events?follow=false&after=first"

func TestAllEvents(t *testing.T) {
	t.Parallel()
	h, _ := eventful(t)
	got := as(t, h, boss, fromTheFirst, "")
	if typ := got.header.Get("Content-Type"); got.code != 200 || typ != "text/event-stream" {
		t.Fatalf("answer %d of type %s: %s", got.code, typ, got.body)
	}
	all := []string{"1 task.created anna", "2 task.status anna", "3 task.created bert", "4 task.status bert", "4 stream.end"}
	if diff := cmp.Diff(all, frames(t, got.body)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	_, id, _ := strings.Cut(got.body, "\nid: ")
	id = id[:strings.Index(id, "-")] + "-3"
	for _, tt := range []struct {
		query string
		lines []string
		want  []string
	}{
		{"&owner=bert", nil, []string{all[2], all[3], all[4]}},
		{"&kind=task.status", nil, []string{all[1], all[3], all[4]}},
		{"&kind=task.status,task.created&kind=hub&owner=anna", nil, []string{all[0], all[1], all[4]}},
		{"&task=t2", nil, all[4:]},
		{"&agent=nemo", nil, all[4:]},
		{"&context=nowhere", nil, all[4:]},
		{"", []string{"Last-Event-ID: " + id}, all[3:]},
	} {
		answer := as(t, h, boss, fromTheFirst+tt.query, "", tt.lines...)
		if diff := cmp.Diff(tt.want, frames(t, answer.body)); diff != "" {
			t.Errorf("%s %v: events (-want +got):\n%s", tt.query, tt.lines, diff)
		}
	}
}

// TestAllEventsAreForAdministrators checks that other callers get nothing, and that bad queries
// are refused.
func TestAllEventsAreForAdministrators(t *testing.T) {
	t.Parallel()
	h, _ := eventful(t)
	a := new(auditor)
	h.Audit = a
	for _, request := range []string{fromTheFirst, "HEAD /api/v1/events", fromTheFirst + "&owner=clerk", "GET /api/v1/events/"} {
		if got := as(t, h, clerk, request, ""); got.code != 403 && got.code != 404 || strings.Contains(got.body, "task.") {
			t.Errorf("%s of a caller: %d %s, want 403", request, got.code, got.body)
		}
	}
	if got := as(t, h, nil, fromTheFirst, ""); got.code != 401 {
		t.Errorf("without a principal: %d, want 401", got.code)
	}
	if got := as(t, h, boss, "POST /api/v1/events", "{}"); got.code != 405 {
		t.Errorf("POST: %d, want 405", got.code)
	}
	for _, query := range []string{"?after=x", "?after=last", "?follow=maybe", "?kind=", "?kind=task.done", "?kind=tas", "?kind=task,,hub"} {
		got := as(t, h, boss, "GET /api/v1/events"+query, "")
		got.failure(t, 400, "INVALID_ARGUMENT", "INVALID_PARAMS")
	}
	for _, e := range a.entries {
		if !strings.HasPrefix(e, "refused clerk admin.refused events/ ") {
			t.Errorf("audit entry %s", e)
		}
	}
}

// TestAllEventsAreAudited checks that a stream is recorded before its first event, and at its
// end; and that none is opened that cannot be recorded.
func TestAllEventsAreAudited(t *testing.T) {
	t.Parallel()
	h, _ := eventful(t)
	a := new(auditor)
	h.Audit = a
	as(t, h, boss, fromTheFirst+"&owner=anna&kind=task", "")
	want := []string{
		"asked " + boss.ID + " task.inspect events/ task= agent= what=events owner=anna kind=task",
		"ended " + boss.ID + " task.inspect events/ task= agent= ok  what=events owner=anna kind=task events=3",
	}
	if diff := cmp.Diff(want, a.entries); diff != "" {
		t.Errorf("audit entries (-want +got):\n%s", diff)
	}
	a.full = errFull
	if got := as(t, h, boss, fromTheFirst, ""); got.code != 503 || strings.Contains(got.body, "task.created") {
		t.Errorf("with a full audit log: %d %s, want 503", got.code, got.body)
	}
}

// TestStreamsOfAllEventsAreBounded opens as many streams as are allowed, and one more.
func TestStreamsOfAllEventsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := eventful(t)
		ctx, cancel := context.WithCancel(t.Context())
		var streams sync.WaitGroup
		answers := make([]*httptest.ResponseRecorder, 64)
		for i := range answers {
			answers[i] = httptest.NewRecorder()
			streams.Go(func() {
				h.ServeHTTP(answers[i], httptest.NewRequestWithContext(auth.WithPrincipal(ctx, boss), "GET", "/api/v1/events", nil))
			})
		}
		synctest.Wait()
		if got := as(t, h, boss, "GET /api/v1/events", ""); got.code != 503 {
			t.Errorf("one more stream: %d, want 503", got.code)
		}
		tasktest.Append(t, h.Events.Watched(s), tasktest.NewHead("carl", "t9"), tasktest.Created(tasktest.At(0), "hi"))
		synctest.Wait()
		cancel()
		streams.Wait()
		for i, a := range answers {
			if diff := cmp.Diff([]string{"5 task.created carl"}, frames(t, a.Body.String())); diff != "" {
				t.Errorf("stream %d (-want +got):\n%s", i, diff)
			}
		}
		if got := as(t, h, boss, fromTheFirst, ""); got.code != 200 {
			t.Errorf("after the streams have ended: %d, want 200", got.code)
		}
	})
}
