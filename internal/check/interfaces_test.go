package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/check/wire"
	agentcard "github.com/parley-a2a/parley/internal/outbound/card"
)

// byTarget returns the outcomes of a requirement by interface.
func byTarget(r *Report, id string) map[string]Outcome {
	all := map[string]Outcome{}
	for _, result := range r.Results {
		if result.ID == id {
			all[result.Interface] = result.Outcome
		}
	}
	return all
}

// TestOffers: the interfaces of a card are called, only reached, or left out with a reason.
func TestOffers(t *testing.T) {
	t.Parallel()
	target := func(binding, version, url string) any {
		return object{"protocolBinding": binding, "protocolVersion": version, "url": url}
	}
	got := offersOf(object{
		"supportedInterfaces": []any{
			target("JSONRPC", "1.0", "http://a/"), target("JSONRPC", "1.0.1", "http://b/"), target("REST", "1.0.0", "http://c/"),
			target("https://example.com/websocket", "1.0", "wss://d/"), target("HTTP+JSON", "2.0", "http://e/"), target("GRPC", "1.0", ""),
			target("JSONRPC", "1.0", "http://a/"),
		},
		"protocolVersion": "0.3.0", "url": "http://a/",
	}, nil)
	want := &offers{
		all:   []wire.Interface{{Binding: wire.JSONRPC, Version: "1.0", URL: "http://a/"}, {Binding: wire.JSONRPC, Version: "0.3", URL: "http://a/"}},
		again: []wire.Interface{{Binding: wire.JSONRPC, Version: "1.0", URL: "http://b/"}},
		unknown: []string{
			`REST 1.0.0 http://c/: "REST" is not a binding of the protocol`,
			"https://example.com/websocket 1.0 wss://d/: a custom binding, which this check does not speak",
			`HTTP+JSON 2.0 http://e/: version "2.0" must be 1.0 or 0.3`,
			"GRPC 1.0: there is no URL",
		},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(offers{})); diff != "" {
		t.Errorf("offers (-want +got):\n%s", diff)
	}
}

// TestLeftOut: an interface that is left out is reported, and reaching the others is not a
// pass.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := everything
		o.defect = card(func(c object) { c["supportedInterfaces"].([]any)[1].(object)["protocolBinding"] = "REST" })
		r := checked(t, o, "card.reachable")
		if got := byTarget(r, "card.reachable")["card"]; got != NotOffered || len(r.LeftOut) != 1 {
			t.Errorf("card.reachable: %s, left out: %q", got, r.LeftOut)
		}
		var b strings.Builder
		if err := r.Text(&b, false); err != nil || !strings.Contains(b.String(), `left out   REST 1.0 `) {
			t.Errorf("Text: %v, %s", err, b.String())
		}
	})
}

// TestFurtherInterfaceIsReached breaks the second interface of a binding.
func TestFurtherInterfaceIsReached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := everything
		o.defect = card(func(c object) {
			c["supportedInterfaces"] = append(c["supportedInterfaces"].([]any), object{
				"protocolBinding": "JSONRPC", "protocolVersion": "1.0", "url": "http://nowhere.test/",
			})
		})
		if got := byTarget(checked(t, o, "card.reachable"), "card.reachable")["card"]; got != Fail {
			t.Errorf("card.reachable: %s, want %s", got, Fail)
		}
	})
}

// TestCardOfOldVersion: requirements of v1.0 do not apply to a card of v0.3.
func TestCardOfOldVersion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := features{}
		o.defect = card(func(c object) {
			delete(c, "supportedInterfaces")
			c["securitySchemes"] = object{"key": object{"type": "apiKey", "in": "header", "name": "X-Api-Key"}}
		})
		r := checked(t, o)
		for _, result := range r.Results {
			if result.Outcome == Fail {
				t.Errorf("%s %s: %s", result.Interface, result.ID, result.Detail)
			}
		}
		for _, id := range []string{"card.interfaces", "card.schemes", "card.etag"} {
			if got := byTarget(r, id)["card"]; got != NotOffered {
				t.Errorf("%s: %s, want %s", id, got, NotOffered)
			}
		}
		if !slices.Contains(r.Interfaces, "jsonrpc 0.3 http://hub.test/a2a") || !r.OK() {
			t.Errorf("OK: %v, interfaces: %q", r.OK(), r.Interfaces)
		}
	})
}

// chooses lets callers choose the ids of new tasks.
var chooses = defect{result: func(op wire.Op, params object, result any, refused error) (any, error) {
	result, err := accepts(wire.SendMessage, a2a.ErrTaskNotFound).result(op, params, result, refused)
	if r, ok := result.(object); ok && refused != nil && err == nil {
		taskOf(r)["id"] = text(params, "message", "taskId")
	}
	return result, err
}}

// declares adds to the card that callers may choose ids.
func declares() defect {
	return card(func(c object) {
		c["capabilities"].(object)["extensions"] = []any{object{"uri": agentcard.ClientTaskIDs}}
	})
}

// together applies two defects.
func together(a, b defect) defect {
	return defect{result: func(op wire.Op, params object, result any, err error) (any, error) {
		result, err = a.result(op, params, result, err)
		return b.result(op, params, result, err)
	}}
}

// TestDeclaredIDs: a server that accepts ids of a caller that activated no extension fails, even
// if its card declares the extension.
func TestDeclaredIDs(t *testing.T) {
	t.Parallel()
	all := func(o Outcome) map[string]Outcome {
		return map[string]Outcome{"jsonrpc 1.0": o, "rest 1.0": o, "grpc 1.0": o}
	}
	for name, tt := range map[string]struct {
		defect defect
		want   map[string]Outcome
	}{
		"declared":              {together(chooses, declares()), all(Fail)},
		"not declared":          {chooses, all(Fail)},
		"declared, yet refused": {declares(), all(Pass)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := everything
				o.defect = tt.defect
				r := checked(t, o, "send.unknown-task", "stream.early-error")
				if diff := cmp.Diff(tt.want, byTarget(r, "send.unknown-task")); diff != "" {
					t.Errorf("send.unknown-task (-want +got):\n%s", diff)
				}
				for target, got := range byTarget(r, "stream.early-error") {
					if got != Pass {
						t.Errorf("stream.early-error on %s: %s", target, got)
					}
				}
			})
		})
	}
}

// echoes accepts malformed messages and repeats them in its answers and lists.
func echoes() defect {
	var mu sync.Mutex
	var taken []any
	return defect{result: func(op wire.Op, params object, result any, err error) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		r, _ := result.(object)
		switch {
		case op == wire.SendMessage && errors.Is(err, a2a.ErrInvalidParams) && params["message"] != nil:
			m := at(params, "message")
			task := object{
				"id": fmt.Sprintf("odd-%d", len(taken)), "contextId": "c", "status": object{"state": "TASK_STATE_COMPLETED"},
				"history": []any{m}, "artifacts": []any{object{"artifactId": "a", "parts": at(m, "parts")}},
			}
			taken = append(taken, task)
			return object{"task": task}, nil
		case op == wire.ListTasks && err == nil:
			r["tasks"] = append(slices.Clone(list(r, "tasks")), taken...)
		}
		return result, err
	}}
}

// TestEchoesAreNotFailures: a server that accepts malformed messages gets a warning, and does
// not fail for repeating them.
func TestEchoesAreNotFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := everything
		o.defect = echoes()
		r := checked(t, o, "send", "list.artifacts", "data")
		warned := 0
		for _, result := range r.Results {
			switch {
			case result.Outcome != Fail:
			case result.Level == Should && strings.HasPrefix(result.ID, "send."):
				warned++
			case strings.HasPrefix(result.ID, "data."):
				t.Errorf("%s %s: %s", result.Interface, result.ID, result.Detail)
			}
		}
		if warned == 0 {
			t.Error("no malformed message is found")
		}
	})
}
