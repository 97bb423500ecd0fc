package rockbothttp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbothttp"
	rb "github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbotpeer"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// write writes a file for a hub and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wellKnown returns the document's well-known-agents.json, with the addresses of two agents,
// and a third one that does not run.
func wellKnown(sample, bob string) string {
	return fmt.Sprintf(`[
  {
    "agentName": "SampleAgent-Http",
    "url": %q
  },
  {
    "agentName": "Bob",
    "url": %q,
    "authHeaderName": "X-Api-Key",
    "authHeaderValueBase64": "YWxpY2UtY2FsbHMtYm9i"
  },
  {
    "agentName": "Down",
    "url": "http://127.0.0.1:1"
  }
]`, sample, bob)
}

// asks is an agent that asks once for a city.
func asks(job *rb.Request) *rb.Result {
	if job.Message.Text() != "Oslo" {
		r := rockbothttp.Result(job, rb.InputRequired, "which city?")
		if r.ContextID == nil {
			r.ContextID = rb.Ptr("made-by-bob")
		}
		return r
	}
	return rockbothttp.Result(job, rb.Completed, "sunny in Oslo")
}

func TestHTTPAgents(t *testing.T) {
	t.Parallel()
	sample := rockbothttp.StartAgent(t, &rockbothttp.Agent{})
	bob := rockbothttp.StartAgent(t, &rockbothttp.Agent{Header: "X-Api-Key", Value: "alice-calls-bob", Handle: asks})
	file := write(t, "well-known-agents.json", wellKnown(sample.URL(), bob.URL()))
	h := hubtest.Start(t, hubtest.Options{Config: "directory: {well_known: " + file + "}\n"})
	t.Run("B22", func(t *testing.T) { testJobs(t, h, sample) })
	t.Run("B23", func(t *testing.T) {
		for name, want := range map[string]string{"sampleagent-http": "[{echo Echo} {general General Task}]", "bob": "[{echo Echo} {general General Task}]"} {
			var c cardOf
			if err := hubtest.Call(within(t), hubtest.Request{URL: h.URL() + "/a2a/" + name + "/.well-known/agent-card.json"}, &c); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(c.Skills); got != want && got != "[{general General Task} {echo Echo}]" {
				t.Errorf("%s has the skills %s", name, got)
			}
		}
		var c cardOf
		down := hubtest.Request{URL: h.URL() + "/a2a/down/.well-known/agent-card.json"}
		if err := hubtest.Call(within(t), down, &c); err != nil || c.Name != "Down" || len(c.Skills) != 0 {
			t.Errorf("the agent that does not run is %+v, %v", c, err)
		}
	})
	t.Run("B15", func(t *testing.T) { testAnswer(t, h, bob) })
}

// testJobs sends a text, and a text with data, as a caller with the ids, chain and budget of a
// hub.
func testJobs(t *testing.T, h *hubtest.Hub, sample *rockbothttp.Agent) {
	hub := at(h, "/a2a/sampleagent-http", "")
	if e, err := hub.Send(within(t), message("hello", "echo", "")); err != nil || e.Message.Text() != "Echo: hello" {
		t.Fatalf("answered %+v, %v", e, err)
	}
	const data = `{"message":{"role":"user","parts":[{"text":"Extract the title and author from this record."},` +
		`{"data":{"recordId":"rec-42","source":"https://example.com/doc"},"mediaType":"application/json"}],"metadata":{"n":7,"o":{"a":[1]},"s":"text"}},` +
		`"metadata":{"skill":"general","deep":{"a":1},"flag":true}}`
	if e, err := hub.Send(within(t), data); err != nil || e.Message.Text() != "Echo: Extract the title and author from this record." {
		t.Fatalf("answered %+v, %v", e, err)
	}
	jobs := sample.Jobs()
	if len(jobs) != 2 || rb.Val(jobs[0].Skill) != "echo" || rb.Val(jobs[1].Skill) != "general" {
		t.Fatalf("jobs are %+v", jobs)
	}
	m := jobs[1].Message
	if len(m.Parts) != 2 || rb.Val(m.Parts[1].Kind) != "data" || rb.Val(m.Parts[1].MimeType) != "application/json" {
		t.Fatalf("parts are %+v", m.Parts)
	}
	got, err := m.Parts[1].JSON()
	want := map[string]any{"recordId": "rec-42", "source": "https://example.com/doc"}
	if diff := cmp.Diff(any(want), got); diff != "" || err != nil {
		t.Errorf("data: %v (-want +got):\n%s", err, diff)
	}
	if m.Metadata["n"] != "7" || m.Metadata["s"] != "text" || m.Metadata["o"] != `{"a":[1]}` {
		t.Errorf("the metadata of the message is %v", m.Metadata)
	}
}

// testAnswer answers the question of an agent, whose next job has the same context and the
// answer alone.
func testAnswer(t *testing.T, h *hubtest.Hub, bob *rockbothttp.Agent) {
	hub := at(h, "/a2a/bob", "")
	asked, err := hub.Send(within(t), message("weather", "general", `,"contextId":"trip"`))
	if err != nil || asked.Task == nil || asked.Task.Status.State != "inputRequired" || asked.Task.Status.Message.Text() != "which city?" {
		t.Fatalf("asked %+v, %v", asked, err)
	}
	e, err := hub.Send(within(t), message("Oslo", "", `,"contextId":"trip"`))
	if err != nil || e.Message.Text() != "sunny in Oslo" {
		t.Fatalf("answered %+v, %v", e, err)
	}
	jobs := bob.Jobs()
	if len(jobs) != 2 {
		t.Fatalf("there were %d jobs", len(jobs))
	}
	first, second := jobs[0], jobs[1]
	context := rb.Val(first.ContextID)
	if context == "" {
		context = "made-by-bob"
	}
	if rb.Val(second.ContextID) != context || len(second.Message.Parts) != 1 || second.Message.Text() != "Oslo" {
		t.Errorf("the answer came in context %q with %+v, want context %q", rb.Val(second.ContextID), second.Message.Parts, context)
	}
}

// The hub is an HTTP agent itself: RockBot reads its card and the results of its jobs.
func TestServesHTTPAgent(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{Config: gatewayConfig})
	get := func(path string) []byte {
		t.Helper()
		resp, err := hubtest.Do(within(t), hubtest.Request{URL: h.URL() + path})
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s, %v", path, resp.StatusCode, b, err)
		}
		return b
	}
	post := func(path string, job *rb.Request) *rb.Result {
		t.Helper()
		resp, err := hubtest.Do(within(t), hubtest.Request{
			URL: h.URL() + path, Body: string(rb.Encode(job)), Header: []string{"X-Api-Key", bobs},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		result := new(rb.Result)
		if err == nil {
			err = rb.Decode(b, result)
		}
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s, %v", path, resp.StatusCode, b, err)
		}
		return result
	}
	job := func(id, skill, text string) *rb.Request {
		return &rb.Request{
			TaskID: rb.Ptr(id), ContextID: rb.Ptr("c-" + skill), Skill: rb.Ptr(skill),
			Message: &rb.Message{Role: rb.Ptr("user"), Parts: []rb.Part{rb.TextPart(text)}},
		}
	}
	t.Run("C15", func(t *testing.T) {
		for _, path := range []string{"", "/a2a/notifier"} {
			card := new(rb.Card)
			if err := rb.Decode(get(path+"/.well-known/agent.json"), card); err != nil || rb.Val(card.AgentName) == "" || len(card.Skills) == 0 {
				t.Errorf("%s: card %+v, %v", path, card, err)
			}
		}
		done := post("/tasks/send", job("j1", "notify-user", "hi"))
		if rb.Val(done.TaskID) != "j1" || done.State != rb.Completed || done.Message.Text() != "Notified: hi" {
			t.Errorf("the result is %+v", done)
		}
		if again := post("/tasks/send", job("j1", "notify-user", "hi")); rb.Val(again.TaskID) != "j1" || again.State != rb.Completed {
			t.Errorf("the same job again: %+v", again)
		}
		asked := post("/a2a/asker/tasks/send", job("j2", "ask", "meet"))
		if asked.State != rb.InputRequired || rb.Val(asked.ContextID) != "c-ask" || asked.Message.Text() != "when?" {
			t.Errorf("the question is %+v", asked)
		}
		if ended := post("/a2a/asker/tasks/send", job("j3", "ask", "ten")); ended.State != rb.Completed || ended.Message.Text() != "at ten" {
			t.Errorf("the answer is %+v", ended)
		}
		with := job("j4", "general", "see")
		with.Message.Parts = append(with.Message.Parts, rb.DataPart(map[string]any{"id": 7}))
		with.Metadata = map[string]string{"from": "test"}
		if r := post("/a2a/tasks/send", with); r.State != rb.Completed {
			t.Errorf("a job with data: %+v", r)
		}
	})
	t.Run("hostile", func(t *testing.T) {
		for body, code := range map[string]string{
			`{`:              "invalid_request",
			`[]`:             "invalid_request",
			`{"taskId":"x"}`: "invalid_request",
			`{"taskId":7,"skill":"general","message":{"role":"user","parts":[{"kind":"text","text":"a"}]}}`:                 "invalid_request",
			`{"taskId":"x","skill":"general","message":{"role":"user","parts":[{"kind":"video","text":"a"}]}}`:              "invalid_request",
			`{"taskId":"x","skill":"general","message":{"role":"user","parts":[{"kind":"data","text":"a"}]}}`:               "invalid_request",
			`{"taskId":"x","skill":7,"message":{"role":"user","parts":[{"kind":"text","text":"a"}]}}`:                       "invalid_request",
			`{"taskId":"x","skill":"general","metadata":[],"message":{"role":"user","parts":[{"kind":"text","text":"a"}]}}`: "invalid_request",
		} {
			resp, err := hubtest.Do(within(t), hubtest.Request{URL: h.URL() + "/tasks/send", Body: body, Header: []string{"X-Api-Key", bobs}})
			if err != nil {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			var answer rb.TaskError
			var named struct{ TaskID any }
			if json.Unmarshal([]byte(body), &named); named.TaskID == "x" {
				err = rb.Decode(b, &answer)
			}
			if err != nil || resp.StatusCode < 400 || !strings.Contains(string(b), `"code":"`+code+`"`) {
				t.Errorf("%s: %d %s, %v, want %s", body, resp.StatusCode, b, err, code)
			}
		}
		if p, err := at(h, "/", bobs).List(within(t), `{"contextId":"x"}`); err != nil || len(p.Tasks) != 0 {
			t.Errorf("tasks of refused jobs: %+v, %v", p, err)
		}
	})
}

// An answer that no agent of RockBot sends fails the task with the reason, and the hub
// continues to work.
func TestHostileHTTPAgent(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"state 9":        `{"taskId":"%s","state":9}`,
		"submitted":      `{"taskId":"%s","state":0}`,
		"working":        `{"taskId":"%s","state":1,"message":{"role":"agent","parts":[{"kind":"text","text":"so far"}]}}`,
		"state of words": `{"taskId":"%s","state":"Resting"}`,
		"no state":       `{"taskId":"%s"}`,
		"null state":     `{"taskId":"%s","state":null}`,
		"other job":      `{"taskId":"other","state":3}`,
		"two states":     `{"taskId":"%s","state":3,"state":4}`,
		"two answers":    `{"taskId":"%s","state":3}{"taskId":"%s","state":3}`,
		"text of number": `{"taskId":"%s","state":3,"message":{"role":"agent","parts":[{"kind":"text","text":7}]}}`,
		"parts no list":  `{"taskId":"%s","state":3,"message":{"role":"agent","parts":"x"}}`,
		"list":           `[]`,
		"half":           `{"taskId":"%s","state":`,
		"page":           `<html>%s</html>`,
		"nothing":        ``,
		"error":          `{"taskId":"%s","code":"execution_failed","message":"on fire","isRetryable":false}`,
	}
	good := map[string]string{
		"named state":  `{"taskId":"%s","state":"Completed","message":{"role":"agent","parts":[{"kind":"text","text":"ok"}]}}`,
		"more members": `{"taskId":"%s","state":3,"x":{"y":1},"artifacts":null,"message":{"role":"agent","metadata":null,"parts":[{"kind":"text","text":"ok","data":null,"mimeType":null}]}}`,
		"twice":        `{"taskId":"%s","state":3,"message":{"role":"agent","parts":[{"kind":"text","text":"ok"},{"kind":"text","text":""}]}}`,
	}
	agent := rockbothttp.StartAgent(t, &rockbothttp.Agent{Answer: func(job *rb.Request) string {
		answer, ok := answers[job.Message.Text()]
		if !ok {
			answer = good[job.Message.Text()]
		}
		return strings.Replace(answer, "%s", rb.Val(job.TaskID), -1)
	}})
	h := hubtest.Start(t, hubtest.Options{Config: "agents: [{name: sample, url: " + agent.URL() + ", timeout: 20s}]\n"})
	hub := at(h, "/a2a/sample", "")
	for name := range answers {
		e, err := hub.Send(within(t), message(name, "general", ""))
		if err != nil || e.Message == nil {
			t.Errorf("%s: %+v, %v", name, e, err)
			continue
		}
		task, err := hub.Task(within(t), "GetTask", `{"id":"`+e.Message.TaskID+`"}`)
		if err != nil || task.Status.State != "failed" || e.Message.Text() == "" {
			t.Errorf("%s: the task is %+v, %v", name, task, err)
		}
	}
	for name := range good {
		if e, err := hub.Send(within(t), message(name, "general", "")); err != nil || e.Message.Text() != "ok" {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}
