package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/directory/dirstore"
	"github.com/parley-a2a/parley/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// down are agents that do not answer.
type down []task.Agent

func (d down) Healthy(name task.Agent) bool {
	for _, n := range d {
		if n == name {
			return false
		}
	}
	return true
}

func part(kind, payload string) []byte {
	return []byte(`{"artifactId":"a","parts":[{"text":"hi"},{"data":` + payload + `,"mediaType":"application/json","metadata":{"mimeType":"application/vnd.protolabs.` + kind + `+json"}}]}`)
}

func cost(usd float64) []byte {
	return part("cost-v1", fmt.Sprintf(`{"usage":{"input_tokens":100,"output_tokens":10,"cache_read_input_tokens":5},"durationMs":40,"costUsd":%g}`, usd))
}

func ended(b *Broker, agent task.Agent, n int, o Outcome) {
	for range n {
		o.Agent = agent
		if o.State == task.Unspecified {
			o.State = task.Completed
		}
		b.Ended(&o)
	}
}

// draws counts the agents chosen in a thousand draws.
func draws(b *Broker, among ...task.Agent) map[task.Agent]int {
	counts := make(map[task.Agent]int)
	for range 1000 {
		counts[b.Choose("sing", slices.Clone(among))]++
	}
	return counts
}

func seeded() func() float64 { return rand.New(rand.NewPCG(1, 2)).Float64 }

func TestWeights(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		outcomes []Outcome
		want     float64
	}{
		"unknown":                  {nil, 1},
		"always right":             {[]Outcome{{State: task.Completed}}, 1},
		"half right":               {[]Outcome{{State: task.Completed}, {State: task.Failed}}, 0.5},
		"rejected":                 {[]Outcome{{State: task.Completed}, {State: task.Rejected}}, 0.5},
		"canceled":                 {[]Outcome{{State: task.Completed}, {State: task.Canceled}}, 1},
		"dear":                     {[]Outcome{{State: task.Completed, Bodies: [][]byte{cost(1)}}}, 0.5},
		"dear and half right":      {[]Outcome{{State: task.Completed, Bodies: [][]byte{cost(1)}}, {State: task.Failed, Bodies: [][]byte{cost(1)}}}, 0.5 / 3},
		"never right":              {[]Outcome{{State: task.Failed}}, leastWeight},
		"not right after all":      {[]Outcome{{State: task.Completed, Bodies: [][]byte{part("cost-v1", `{"success":false}`)}}}, leastWeight},
		"failed, whatever it says": {[]Outcome{{State: task.Failed, Bodies: [][]byte{part("cost-v1", `{"success":true}`)}}}, leastWeight},
		"nonsense":                 {[]Outcome{{State: task.Completed, Bodies: [][]byte{[]byte("{"), part("cost-v1", `"x"`), part("cost-v1", `{"costUsd":-5}`), part("other", `{"costUsd":9}`)}}}, 1},
	} {
		b := New(Config{})
		for i := range tt.outcomes {
			ended(b, "a", 1, tt.outcomes[i])
		}
		if got := b.learned[pairOf("a", "")].weight(); cmp.Diff(tt.want, got, cmpopts.EquateApprox(0, 1e-9)) != "" {
			t.Errorf("%s: weight %v, want %v", name, got, tt.want)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	all := []Rule{{Skill: "Sing", Among: []task.Agent{"*"}}}
	b := New(Config{Random: seeded(), Rules: all})
	ended(b, "good", 10, Outcome{Skill: "SING"})
	ended(b, "dear", 10, Outcome{Skill: "sing", Bodies: [][]byte{cost(3)}})
	ended(b, "bad", 10, Outcome{Skill: "sing", State: task.Failed})
	ended(b, "elsewhere", 10, Outcome{Skill: "dance", State: task.Failed})
	got := draws(b, "good", "dear", "bad", "elsewhere")
	// The expected weights are 1 : 0.25 : 0.01 : 1.
	for name, want := range map[task.Agent]int{"good": 442, "dear": 111, "bad": 4, "elsewhere": 442} {
		if n := got[name]; n < want-50 || n > want+50 {
			t.Errorf("%s was drawn %d times, want about %d", name, n, want)
		}
	}
	again := New(Config{Random: seeded(), Rules: all})
	ended(again, "good", 10, Outcome{Skill: "sing"})
	ended(again, "dear", 10, Outcome{Skill: "sing", Bodies: [][]byte{cost(3)}})
	ended(again, "bad", 10, Outcome{Skill: "sing", State: task.Failed})
	if diff := cmp.Diff(got, draws(again, "good", "dear", "bad", "elsewhere")); diff != "" {
		t.Errorf("the same numbers draw others (-first +second):\n%s", diff)
	}
}

// Without a rule nothing is drawn, and with one only the agents that it names.
func TestOnlyConfiguredAgentsAreDrawn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rules []Rule
		want  map[task.Agent]bool
	}{
		"no rule":          {nil, map[task.Agent]bool{"a": true}},
		"a cooldown":       {[]Rule{{Skill: "sing", Cooldown: time.Second}}, map[task.Agent]bool{"a": true}},
		"another skill":    {[]Rule{{Skill: "dance", Among: []task.Agent{"*"}}}, map[task.Agent]bool{"a": true}},
		"two of them":      {[]Rule{{Skill: "sing", Among: []task.Agent{"b", "c", "x"}}}, map[task.Agent]bool{"b": true, "c": true}},
		"none that is in":  {[]Rule{{Skill: "sing", Among: []task.Agent{"x"}}}, map[task.Agent]bool{"a": true}},
		"all, in any case": {[]Rule{{Skill: "SING", Among: []task.Agent{"*"}}}, map[task.Agent]bool{"a": true, "b": true, "c": true}},
	} {
		got := make(map[task.Agent]bool)
		for agent := range draws(New(Config{Random: seeded(), Rules: tt.rules}), "a", "b", "c") {
			got[agent] = true
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Agents that do not answer are skipped, unless no agent answers.
func TestUnhealthyAreLeftOut(t *testing.T) {
	t.Parallel()
	b := New(Config{Random: seeded(), Health: down{"a", "b"}, Rules: []Rule{{Skill: "sing", Among: []task.Agent{"*"}}}})
	if got := draws(b, "a", "b", "c"); got["c"] != 1000 {
		t.Errorf("drawn: %v, want c alone", got)
	}
	if got := draws(b, "a", "b"); got["a"] < 400 || got["b"] < 400 {
		t.Errorf("drawn: %v, want both", got)
	}
}

// Only the last 200 outcomes count.
func TestWindow(t *testing.T) {
	t.Parallel()
	b := New(Config{})
	ended(b, "a", 500, Outcome{State: task.Failed})
	ended(b, "a", window/2, Outcome{})
	if got := b.Costs(Filter{}); len(got) != 1 || got[0].Samples != window || got[0].SuccessRate != 0.5 {
		t.Errorf("costs = %+v", got)
	}
}

func TestCooldown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New(Config{Rules: []Rule{{Skill: "pr_review", Cooldown: 30 * time.Second, Key: "repository"}, {Skill: "security", Cooldown: time.Minute}}})
		of := func(repo string) func(string) string {
			return func(key string) string { return map[string]string{"repository": repo}[key] }
		}
		admit := func(skill, repo string, want bool) {
			t.Helper()
			_, err := b.Admit(skill, of(repo))
			var c *Cooldown
			if (err == nil) != want || err != nil && (!errors.As(err, &c) || c.After <= 0) {
				t.Errorf("Admit(%s, %s) = %v, want %v", skill, repo, err, want)
			}
		}
		admit("PR_Review", "one", true)
		admit("pr_review", "one", false)
		admit("pr_review", "two", true)
		admit("security", "one", true)
		admit("security", "two", false)
		admit("other", "one", true)
		admit("other", "one", true)
		admit("", "one", true)
		time.Sleep(29 * time.Second)
		synctest.Wait()
		admit("pr_review", "one", false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		admit("pr_review", "one", true)
		undo, err := b.Admit("pr_review", of("three"))
		if err != nil {
			t.Fatal(err)
		}
		undo()
		admit("pr_review", "three", true)
		undo()
		admit("pr_review", "three", false) // undo does not affect a later cooldown
		_, err = b.Admit("pr_review", of("three"))
		if want := `the skill "pr_review" for repository "three" was requested recently; retry in 30s`; err == nil || err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
	})
}

func TestSummaries(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	b := New(Config{Logger: logTo(&log)})
	confident := func(p string) []byte { return part("confidence-v1", `{"confidence":`+p+`,"explanation":"x"}`) }
	ended(b, "a", 1, Outcome{Skill: "s", Took: time.Second, Bodies: [][]byte{cost(2), confident("0.5")}})
	ended(b, "a", 1, Outcome{Skill: "s", State: task.Failed, Took: 10 * time.Millisecond, Bodies: [][]byte{confident("7")}})
	ended(b, "b", 3, Outcome{Skill: "s", Took: 20 * time.Millisecond})
	want := []Cost{
		{Agent: "a", Skill: "s", Samples: 2, SuccessRate: 0.5, CostUSD: 2, CostPerSuccess: 2, InputTokens: 105, OutputTokens: 10, P50Ms: 40, P95Ms: 40, Weight: 0.5 / 3},
		{Agent: "b", Skill: "s", Samples: 3, SuccessRate: 1, P50Ms: 20, P95Ms: 20, Weight: 1},
	}
	if diff := cmp.Diff(want, b.Costs(Filter{Skill: "S"}), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("costs (-want +got):\n%s", diff)
	}
	if got := b.Costs(Filter{MinSamples: 3}); len(got) != 1 || got[0].Agent != "b" {
		t.Errorf("with three samples: %+v", got)
	}
	sure := []Confidence{{Agent: "a", Skill: "s", Samples: 2, Mean: 0.75, OnSuccess: 0.5, OnFailure: 1, SureFailures: 1}}
	if diff := cmp.Diff(sure, b.Confidences(Filter{Agent: "a"})); diff != "" || len(b.Confidences(Filter{Agent: "b"})) != 0 {
		t.Errorf("confidences (-want +got):\n%s", diff)
	}
	if !strings.Contains(log.String(), "failed although it was certain") {
		t.Errorf("no warning of a failure where the agent was sure: %s", log.String())
	}
	b.Forget("a")
	if got := b.Costs(Filter{}); len(got) != 1 {
		t.Errorf("after one was forgotten: %+v", got)
	}
}

// Outcomes are stored every 30 seconds and at the end, and loaded at the start.
func TestLearnedSurvives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		notes := new(dirstore.Memory)
		b := New(Config{Notes: notes})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- b.Run(ctx) }()
		ended(b, "a", 2, Outcome{Skill: "s", Bodies: [][]byte{cost(1)}})
		time.Sleep(saveEvery + time.Second)
		synctest.Wait()
		if note, _ := notes.Note(ctx, noteName); note == nil {
			t.Error("nothing was stored after half a minute")
		}
		ended(b, "b", 1, Outcome{})
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		again := New(Config{Notes: notes})
		if err := again.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b.Costs(Filter{}), again.Costs(Filter{})); diff != "" {
			t.Errorf("after a restart (-before +after):\n%s", diff)
		}
		if err := notes.PutNote(t.Context(), noteName, []byte("no JSON")); err != nil {
			t.Fatal(err)
		}
		if err := New(Config{Notes: notes}).Open(t.Context()); err != nil {
			t.Errorf("a note that cannot be read: %v", err)
		}
	})
}

// endingNotes cancels the Broker's context during PutNote.
type endingNotes struct {
	dirstore.Memory
	end context.CancelFunc
}

func (n *endingNotes) PutNote(ctx context.Context, name string, note []byte) error {
	n.end()
	if err := ctx.Err(); err != nil {
		return err
	}
	return n.Memory.PutNote(ctx, name, note)
}

// A shutdown while outcomes are being stored causes no error.
func TestEndWhileStoring(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var log bytes.Buffer
		notes := &endingNotes{end: cancel}
		b := New(Config{Notes: notes, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ended(b, "a", 2, Outcome{Skill: "s", Bodies: [][]byte{cost(1)}})
		if err := b.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if note, _ := notes.Note(t.Context(), noteName); note == nil || log.Len() > 0 {
			t.Errorf("stored %q, and the log says %s", note, log.String())
		}
	})
}

func TestTogether(t *testing.T) {
	t.Parallel()
	b := New(Config{Rules: []Rule{{Skill: "sing", Cooldown: time.Nanosecond}}})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 300 {
				name := b.Choose("sing", []task.Agent{"a", "b"})
				if undo, err := b.Admit("sing", func(string) string { return "" }); err == nil {
					undo()
				}
				ended(b, name, 1, Outcome{Skill: fmt.Sprint("sing", i)})
				b.Costs(Filter{})
			}
		})
	}
	wg.Wait()
}

// For any claims of an agent, weights and sums stay within their bounds.
func FuzzClaims(f *testing.F) {
	f.Add([]byte(cost(1)))
	f.Add(part("confidence-v1", `{"confidence":1e999}`))
	f.Add([]byte(`{"parts":[{"data":[],"metadata":{"mimeType":"application/vnd.protolabs.cost-v1+json"}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		b := New(Config{})
		ended(b, "a", 1, Outcome{Bodies: [][]byte{body}})
		c := b.Costs(Filter{})[0]
		if !(c.Weight >= leastWeight && c.Weight <= 1) || !(c.CostUSD >= 0) || c.InputTokens < 0 {
			t.Errorf("%q: %+v", body, c)
		}
		for _, p := range b.Confidences(Filter{}) {
			if !(p.Mean >= 0 && p.Mean <= 1) {
				t.Errorf("%q: %+v", body, p)
			}
		}
	})
}

func logTo(b *strings.Builder) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }
