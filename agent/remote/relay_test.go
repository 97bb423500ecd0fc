package remote

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// step is an event of a peer, and the events that are passed on for it.
type step struct {
	id, says string
	want     []string
}

func status(state, more string) string {
	return `{"statusUpdate":{"taskId":"p","contextId":"c","status":{"state":"TASK_STATE_` + state + `"` + more + `}}}`
}

func chunk(parts, more string) string {
	return `{"artifactUpdate":{"taskId":"p","contextId":"c","artifact":{"artifactId":"a","parts":[` + parts + `]}` + more + `}}`
}

func snapshot(state string, artifacts, more string) string {
	return `{"task":{"id":"p","contextId":"c","status":{"state":"TASK_STATE_` + state + `"},"artifacts":[` + artifacts + `]` + more + `}}`
}

func whole(parts string) string { return `{"artifactId":"a","parts":[` + parts + `]}` }

func TestRelay(t *testing.T) {
	t.Parallel()
	const (
		one, two, three = `{"text":"one "}`, `{"text":"two "}`, `{"text":"three"}`
		data            = `{"data":{"n":12345678901234567890}}`
		appended        = `,"append":true`
	)
	passed := func(body, more string) string { return `{"artifactUpdate":{"artifact":` + body + more + `}}` }
	received := func(state string) string { return `{"statusUpdate":{"status":{"state":"TASK_STATE_` + state + `"}}}` }
	for name, steps := range map[string][]step{
		"stream": {
			{"", snapshot("SUBMITTED", "", ""), nil},
			{"1", status("WORKING", ""), []string{status("WORKING", "")}},
			{"2", chunk(one, ""), []string{passed(whole(one), "")}},
			{"3", chunk(two, appended+`,"lastChunk":true,"metadata":{"k":1}`), []string{passed(whole(two), appended+`,"lastChunk":true,"metadata":{"k":1}`)}},
			{"3", chunk(two, appended+`,"lastChunk":true`), nil},
			{"4", status("COMPLETED", ""), []string{status("COMPLETED", "")}},
		},
		"snapshot after a cut": {
			{"", status("WORKING", ""), []string{status("WORKING", "")}},
			{"", chunk(one, ""), []string{passed(whole(one), "")}},
			{"", snapshot("WORKING", whole(one+","+two), ""), []string{passed(whole(two), appended)}},
			{"", snapshot("WORKING", whole(one+","+two), ""), nil},
			{"", snapshot("WORKING", whole(one), ""), nil}, // an older snapshot
			{"", chunk(three, appended), []string{passed(whole(three), appended)}},
			{"", snapshot("COMPLETED", whole(one+","+two+","+three), ""), []string{received("COMPLETED")}},
		},
		"texts are put together": {
			{"", chunk(one, ""), []string{passed(whole(one), "")}},
			{"", snapshot("WORKING", whole(`{"text":"one two "},`+data), ""), []string{passed(whole(two+","+data), appended), received("WORKING")}},
			{"", snapshot("WORKING", whole(one+","+two+","+data), ""), nil},
			{"", snapshot("COMPLETED", whole(`{"text":"one two "},`+data+`,`+three), ""), []string{passed(whole(three), appended+`,"lastChunk":true`), received("COMPLETED")}},
		},
		"letters are not cut in two": {
			{"", chunk(`{"text":"fü"}`, ""), []string{passed(whole(`{"text":"fü"}`), "")}},
			{"", snapshot("WORKING", whole(`{"text":"für"}`), ""), []string{passed(whole(`{"text":"r"}`), appended), received("WORKING")}},
		},
		"replaced": {
			{"", chunk(one, ""), []string{passed(whole(one), "")}},
			{"", snapshot("WORKING", whole(two), ""), []string{passed(whole(two), ""), received("WORKING")}},
			{"", chunk(one, ""), []string{passed(whole(one), "")}},
			{"", snapshot("COMPLETED", whole(`{"text":"o"}`), ""), []string{passed(whole(`{"text":"o"}`), `,"lastChunk":true`), received("COMPLETED")}},
		},
		"a part that is more than text": {
			{"", chunk(data, ""), []string{passed(whole(data), "")}},
			{"", snapshot("WORKING", whole(`{"data":{"n":12345678901234567891}}`), ""), []string{passed(whole(`{"data":{"n":12345678901234567891}}`), ""), received("WORKING")}},
			{"", snapshot("WORKING", whole(`{"text":"one ","metadata":{}}`), ""), nil}, // shorter: it may be an older snapshot
			{"", snapshot("FAILED", whole(`{"text":"one ","metadata":{}}`), ""), []string{passed(whole(`{"text":"one ","metadata":{}}`), `,"lastChunk":true`), received("FAILED")}},
		},
		"complete": {
			{"", chunk(one, `,"lastChunk":true`), []string{passed(whole(one), `,"lastChunk":true`)}},
			{"", chunk(one, `,"lastChunk":true`), nil},
			{"", chunk("", appended+`,"lastChunk":true`), nil},
			{"", snapshot("COMPLETED", whole(one), ""), []string{received("COMPLETED")}},
		},
		"members of artifacts": {
			{"", chunk(one, ""), []string{passed(whole(one), "")}},
			{
				"", snapshot("WORKING", `{"artifactId":"a","name":"n","parts":[`+one+`],"metadata":{"k":1}}`, ""),
				[]string{passed(`{"artifactId":"a","name":"n","metadata":{"k":1},"parts":[]}`, appended), received("WORKING")},
			},
			{"", snapshot("WORKING", `{"artifactId":"a","name":"n","parts":[`+one+`],"metadata":{"k":1}}`, ""), nil},
		},
		"messages and metadata of statuses": {
			{
				"", snapshot("WORKING", "", `,"metadata":{"k":1.0}`),
				[]string{`{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"},"metadata":{"k":1.0}}}`},
			},
			{"", snapshot("WORKING", "", `,"metadata":{"k":1.0}`), nil},
			{"", snapshot("WORKING", "", `,"metadata":{"k":2}`), []string{`{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"},"metadata":{"k":2}}}`}},
			{
				"", status("WORKING", `,"message":{"messageId":"m","taskId":"p","role":"ROLE_AGENT","parts":[]}`),
				[]string{status("WORKING", `,"message":{"messageId":"m","taskId":"p","role":"ROLE_AGENT","parts":[]}`)},
			},
			{"", `{"task":{"id":"p","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-01T00:00:00Z","message":{"messageId":"m","role":"agent","parts":[]}}}}`, nil},
		},
		"metadata before a status": {
			{"", snapshot("SUBMITTED", "", `,"metadata":{"k":1.0}`), nil},
			{"", status("WORKING", ""), []string{`{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"},"metadata":{"k":1.0}}}`}},
			{"", snapshot("WORKING", "", `,"metadata":{"k":1.0}`), nil},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r relay
			for i, s := range steps {
				ev := peer.NewEvent([]byte(s.says))
				ev.ID = s.id
				if diff := cmp.Diff(s.want, take(t, &r, &ev)); diff != "" {
					t.Fatalf("step %d, %s: mismatch (-want +got):\n%s", i, s.says, diff)
				}
			}
		})
	}
}

func take(t interface{ Fatalf(string, ...any) }, r *relay, ev *peer.Event) []string {
	news, err := r.take(ev, false)
	if err != nil {
		t.Fatalf("take(%s) = %v", ev.JSON, err)
	}
	var got []string
	for _, n := range news {
		got = append(got, string(n))
	}
	return got
}

func TestRelayRefuses(t *testing.T) {
	t.Parallel()
	for _, says := range []string{
		`{"task":{"id":"p","status":{"state":"TASK_STATE_DREAMING"}}}`, `{"task":{"id":"p"}}`,
		chunk(`7`, ""), `{"artifactUpdate":{"taskId":"p"}}`, `{}`,
	} {
		var r relay
		ev := peer.NewEvent([]byte(says))
		if news, err := r.take(&ev, false); err == nil {
			t.Errorf("take(%s) = %q", says, news)
		}
	}
}

// TestRelayLosesNothing lets a peer send words in chunks of any size, over a connection that
// breaks and shows snapshots, old ones among them. The hub may restart with nothing but its own
// task. The events passed on must equal those that the peer has sent.
func TestRelayLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var output, heard []string // the texts of the chunks
		r := &relay{}
		hear := func(json string) {
			ev := peer.NewEvent([]byte(json))
			for _, n := range take(t, r, &ev) {
				update := member([]byte(n), "artifactUpdate")
				if update == nil {
					continue
				}
				if !isTrue(member(update, "append")) {
					heard = nil
				}
				for part := range rawjson.Elements(member(member(update, "artifact"), "parts")) {
					heard = append(heard, text(part, "text"))
				}
			}
		}
		task := func(texts []string) string {
			var parts []string
			joined := rapid.Bool().Draw(t, "joined")
			if joined && len(texts) > 0 {
				texts = []string{strings.Join(texts, "")}
			}
			for _, s := range texts {
				parts = append(parts, string(textPart(s)))
			}
			if len(parts) == 0 {
				return snapshot("WORKING", "", "")
			}
			return snapshot("WORKING", whole(strings.Join(parts, ",")), "")
		}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0: // the connection breaks, and shows the task after the reconnect
				for range rapid.IntRange(0, 3).Draw(t, "missed") {
					output = append(output, fmt.Sprint(len(output), rapid.SampledFrom([]string{"", "ä", " x", "€"}).Draw(t, "word")))
				}
				hear(task(output))
			case 1:
				hear(task(output[:rapid.IntRange(0, len(output)).Draw(t, "old")]))
			case 2: // the hub is killed
				mine := task(heard)
				r = &relay{}
				r.restore(member([]byte(mine), "task"), nil)
			default:
				word := fmt.Sprint(len(output), rapid.SampledFrom([]string{"", "ö", " y"}).Draw(t, "word"))
				more := `,"append":true`
				if len(output) == 0 {
					more = ""
				}
				output = append(output, word)
				hear(chunk(string(textPart(word)), more))
			}
			if got, want := strings.Join(heard, ""), strings.Join(output, ""); got != want {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
	})
}
