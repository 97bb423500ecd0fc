package negotiation

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/openaitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(hubtest.M{M: m}) }

// The keys of the people and the hub, and the pattern of an offer.
const (
	adaKey = "ada-key-0123456789"  // Ada, at her own hub
	hubKey = "hub-key-0123456789"  // Ada's hub, at Bob's
	bobKey = "bob-key-0123456789"  // Bob, at his own hub
	offer  = `How about (\S+ \S+)` // the offer of a time by the front desk
)

// taken is the time that Ada proposes, at which Bob already has a meeting: a Monday in the week
// after the next.
var taken = func() string {
	at := time.Now().UTC().AddDate(0, 0, 8)
	for at.Weekday() != time.Monday {
		at = at.AddDate(0, 0, 1)
	}
	return at.Format(time.DateOnly) + " 10:00"
}()

const bobConfig = `
front_desk: {serve: true, trust: gated, hours: "09:00-17:00", time_zone: UTC}
auth:
  api_keys:
    BOB: {agent_id: bob, roles: [admin], owner: local}
    HUB: {agent_id: adas-hub}
model_providers: [{name: test, base_url: MODELS}]
agents:
  - name: secretary
    description: Finds times for meetings with Bob.
    model: {model: test, system_prompt: You are the secretary of Bob., delegates: [negotiate-meeting]}
`

const adaConfig = `
questions: {answering_agent: clerk}
auth:
  api_keys:
    ADA: {agent_id: ada, roles: [admin], owner: local}
model_providers: [{name: test, base_url: MODELS}]
agents:
  - name: assistant
    model: {model: test, system_prompt: You are the assistant of Ada., delegates: [bob]}
  - name: clerk
    model: {model: test, system_prompt: You answer questions for Ada.}
  - name: bob
    endpoint: {backend: a2a, base_url: BOBSHUB, target: secretary, auth: {type: bearer, token: HUB}}
`

var offered = regexp.MustCompile(offer)

// think returns the turns of the models of both hubs.
func think(r *openaitest.Request) openaitest.Turn {
	system, user := r.Last("system"), r.Last("user")
	ask := func(who, what string) openaitest.Turn {
		return openaitest.Turn{Calls: []openaitest.Call{openaitest.CallOf("agent_run_"+who, map[string]string{"prompt": what})}}
	}
	switch {
	case strings.Contains(system, "assistant of Ada") && r.Round() == 0:
		return ask("bob", "Ada would like to meet Bob for 30 minutes.")
	case strings.Contains(system, "assistant of Ada"):
		return openaitest.Turn{Text: "It is arranged: " + strings.Join(r.Results("agent_run_bob"), "")}
	case strings.Contains(system, "secretary of Bob") && r.Round() == 0:
		return ask("negotiate-meeting", "A meeting of 30 minutes with Ada.")
	case strings.Contains(system, "secretary of Bob"):
		return openaitest.Turn{Text: "The calendar says: " + strings.Join(r.Results("agent_run_negotiate-meeting"), "")}
	case offered.MatchString(user):
		return openaitest.Turn{Text: "yes"}
	}
	return openaitest.Turn{Text: taken + " for 30 minutes"}
}

// town holds the two hubs and their models.
type town struct {
	t        *testing.T
	ada, bob *hubtest.Hub
	models   *openaitest.Server
}

func newTown(t *testing.T, level string) *town {
	t.Helper()
	w := &town{t: t, models: openaitest.New(t, openaitest.Config{}, think)}
	fill := func(config, url string) string {
		return strings.NewReplacer("MODELS", w.models.URL, "BOBSHUB", url, "ADA", adaKey, "HUB", hubKey, "BOB", bobKey).Replace(config)
	}
	w.bob = hubtest.Start(t, hubtest.Options{Config: fill(bobConfig, "")})
	w.ada = hubtest.Start(t, hubtest.Options{Config: fill(adaConfig, w.bob.URL())})
	w.call(w.bob, bobKey, hubtest.Request{URL: "/api/v1/trust", Body: `{"agentId":"adas-hub","level":"act","approve":["negotiate-meeting"]}`}, nil)
	w.call(w.ada, adaKey, hubtest.Request{URL: "/api/v1/trust", Body: fmt.Sprintf(`{"agentId":"bob","level":%q,"approve":["bob","secretary"]}`, level)}, nil)
	return w
}

func (w *town) call(h *hubtest.Hub, key string, r hubtest.Request, into any) {
	w.t.Helper()
	r.URL, r.Header = h.URL()+r.URL, append(slices.Clone(r.Header), "Authorization", "Bearer "+key)
	if err := hubtest.Call(w.t.Context(), r, into); err != nil {
		w.t.Fatal(err)
	}
}

type taskJSON struct {
	ID     string
	Status struct {
		State   string
		Message struct{ Parts []struct{ Text string } }
	}
}

func (t *taskJSON) text() string {
	var b strings.Builder
	for _, p := range t.Status.Message.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// send sends a message to an agent, and waits for the end.
func (w *town) send(h *hubtest.Hub, key, agent, text string) *taskJSON {
	w.t.Helper()
	var answer struct{ Task taskJSON }
	body := fmt.Sprintf(`{"message":{"messageId":"m-%d","role":"ROLE_USER","parts":[{"text":%q}]}}`, time.Now().UnixNano(), text)
	w.call(h, key, hubtest.Request{URL: "/v1/a2a/" + agent + "/message:send", Body: body}, &answer)
	return &answer.Task
}

// meetAlready gives Bob a meeting at the time that Ada proposes.
func (w *town) meetAlready() {
	w.t.Helper()
	done := w.send(w.bob, bobKey, "negotiate-meeting", taken+" for 60 minutes")
	if done.Status.State != "TASK_STATE_COMPLETED" {
		w.t.Fatalf("Bob's own meeting is %s: %s", done.Status.State, done.text())
	}
}

// item is an item of Ada's inbox.
type item struct{ ID, Kind, State, Agent, Draft, Text string }

// approve approves each draft for a question as Ada until the test is over, and sends the
// questions to seen.
func (w *town) approve(ctx context.Context, seen chan<- item) {
	defer close(seen)
	resp, err := hubtest.Do(ctx, hubtest.Request{
		Method: http.MethodGet, URL: w.ada.URL() + "/api/v1/inbox/events", Header: []string{"Authorization", "Bearer " + adaKey},
	})
	if err != nil {
		return
	}
	defer resp.Body.Close()
	for ev, err := range hubtest.Events(resp.Body) {
		var it item
		if err != nil || json.Unmarshal([]byte(ev.Data), &it) != nil {
			return
		}
		if it.Kind != "question" || it.State != "open" {
			continue
		}
		seen <- it
		r := hubtest.Request{URL: w.ada.URL() + "/api/v1/inbox/" + it.ID + "/approve", Body: "{}", Header: []string{"Authorization", "Bearer " + adaKey}}
		if err := hubtest.Call(ctx, r, nil); err != nil && ctx.Err() == nil {
			w.t.Errorf("approve %+v: %v", it, err)
		}
	}
}

// TestModelsNegotiate makes the assistant of Ada find a time with the secretary of Bob, who is
// not free at Ada's proposed time.
func TestModelsNegotiate(t *testing.T) {
	for _, level := range []string{"act", "propose"} {
		t.Run(level, func(t *testing.T) {
			w := newTown(t, level)
			w.meetAlready()
			ctx, cancel := context.WithCancel(t.Context())
			seen := make(chan item, 100)
			go w.approve(ctx, seen) // closes seen when ctx is over
			done := w.send(w.ada, adaKey, "assistant", "Arrange half an hour with Bob, please.")
			cancel()
			var asked []item
			for it := range seen {
				asked = append(asked, it)
			}
			if done.Status.State != "TASK_STATE_COMPLETED" || !strings.Contains(done.text(), "It is arranged") {
				t.Fatalf("Ada's task is %s: %s", done.Status.State, done.text())
			}
			w.checkAgreed(done.text())
			w.checkAsked(level, asked)
			w.checkLabels()
		})
	}
}

// checkAgreed checks that the meeting is at the time that the front desk offered.
func (w *town) checkAgreed(answer string) {
	w.t.Helper()
	agreed := regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d`).FindString(answer)
	if agreed == "" || agreed == taken {
		w.t.Errorf("they agree on %q: %s", agreed, answer)
	}
}

// checkAsked checks that the person was asked each time at level Propose, and never at level
// Act.
func (w *town) checkAsked(level string, asked []item) {
	w.t.Helper()
	if level == "act" {
		if len(asked) > 0 {
			w.t.Errorf("the person was asked at act: %+v", asked)
		}
		return
	}
	var drafts []string
	for _, it := range asked {
		drafts = append(drafts, it.Draft)
	}
	if want := []string{taken + " for 30 minutes", "yes"}; !slices.Equal(drafts, want) {
		w.t.Errorf("the person approved %q, want %q: %+v", drafts, want, asked)
	}
}

// checkLabels checks that every model reads text of the other hub only with a label.
func (w *town) checkLabels() {
	w.t.Helper()
	for _, r := range w.models.Requests() {
		for i := range r.Messages {
			m := &r.Messages[i]
			if m.Role == "tool" && !strings.Contains(m.Text(), `from=\"agent/`) {
				w.t.Errorf("a model reads %s", m.Text())
			}
			if m.Role == "user" && strings.Contains(m.Text(), "How about") && !strings.Contains(m.Text(), `from="agent/bob"`) {
				w.t.Errorf("a model reads the question %s", m.Text())
			}
		}
	}
}
