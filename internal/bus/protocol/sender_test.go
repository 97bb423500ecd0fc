package protocol_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/task"
)

func TestCheckSender(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		from, source, body, want string
	}{
		"sender not authenticated":  {"", "worker/anybody", `{"worker":"x"}`, ""},
		"worker":                    {"Poet", "worker/Poet.1", `{"worker":"Poet.1"}`, ""},
		"announcement":              {"Poet", "agent/Poet", `{"agent":"Poet","worker":"Poet.1"}`, ""},
		"name with dots":            {"a.b", "worker/a.b.1", `{"worker":"a.b.1"}`, ""},
		"other worker":              {"Poet", "worker/Painter.1", `{"worker":"Poet.1"}`, `source "worker/Painter.1" is forged`},
		"other worker in the body":  {"Poet", "worker/Poet.1", `{"worker":"Painter.1"}`, `worker "Painter.1" is forged`},
		"other agent":               {"Poet", "agent/Painter", `{"agent":"Painter","worker":"Poet.1"}`, `source "agent/Painter"`},
		"other agent in the body":   {"Poet", "agent/Poet", `{"agent":"Painter","worker":"Poet.1"}`, `agent "Painter" is forged`},
		"in other letters":          {"Poet", "agent/poet", `{}`, `source "agent/poet"`},
		"hub":                       {"Poet", "hub/h1", `{"hub":"h1"}`, `source "hub/h1"`},
		"an agent further down":     {"a", "worker/a.b.1", `{}`, `source "worker/a.b.1"`},
		"name without id":           {"Poet", "worker/Poet.", `{}`, `source "worker/Poet."`},
		"no kind":                   {"Poet", "Poet.1", `{}`, `source "Poet.1"`},
		"member in capital letters": {"Poet", "worker/Poet.1", `{"worker":"Poet.1","WORKER":"Painter.1"}`, `worker "Painter.1"`},
		"no object":                 {"Poet", "worker/Poet.1", `[1]`, "body"},
		"worker is no text":         {"Poet", "worker/Poet.1", `{"worker":1}`, "body"},
	} {
		err := protocol.CheckSender(&bus.Delivery{From: tt.from, Envelope: &bus.Envelope{Source: tt.source, Body: []byte(tt.body)}})
		if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, bus.ErrInvalid) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

func TestWorksFor(t *testing.T) {
	t.Parallel()
	for worker, want := range map[string]bool{
		"Poet.1": true, "poet.1": false, "Poet": false, "Poet.": false, "Poet.a.b": false, "Poet.*": false, "Poetess.1": false, "": false,
	} {
		if got := protocol.WorksFor(worker, task.Agent("Poet")); got != want {
			t.Errorf("%q works for Poet: %v", worker, got)
		}
	}
}
