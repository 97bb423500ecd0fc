package rockbothttp

import (
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	rb "github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbotpeer"
)

// Agent is an agent of RockBot over HTTP. The zero Agent echoes.
type Agent struct {
	// Card is its agent card; nil is the card of the sample.
	Card *rb.Card
	// Header and Value, if set, are the header that callers must send.
	Header, Value string
	// Handle answers a job. If nil, the text is echoed.
	Handle func(*rb.Request) *rb.Result
	// Answer, if set, replaces the result of Handle, for answers that no RockBot agent would
	// send.
	Answer func(*rb.Request) string

	http  *httptest.Server
	mu    sync.Mutex // guards the fields below
	jobs  []*rb.Request
	bad   []string
	calls []Call
	shows func(http.ResponseWriter)
}

// Call is a request to an agent.
type Call struct{ Method, Path, Query, Key string }

// StartAgent starts an agent, which ends with the test. At that time, bodies that it could not
// read fail the test.
func StartAgent(tb testing.TB, a *Agent) *Agent {
	tb.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/agent.json", a.serveCard)
	mux.HandleFunc("POST /tasks/send", a.serveJob)
	a.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.calls = append(a.calls, Call{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Get("X-Api-Key")})
		a.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	tb.Cleanup(func() {
		a.http.CloseClientConnections()
		a.http.Close()
		for _, problem := range a.Unread() {
			tb.Errorf("an agent of RockBot would refuse the request: %s", problem)
		}
	})
	return a
}

// URL is the base URL of the agent.
func (a *Agent) URL() string { return a.http.URL }

// Jobs returns the requests that it could read, in order.
func (a *Agent) Jobs() []*rb.Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]*rb.Request(nil), a.jobs...)
}

// Calls returns all requests, in order.
func (a *Agent) Calls() []Call {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]Call(nil), a.calls...)
}

// Show makes f serve the card from now on; nil restores Card.
func (a *Agent) Show(f func(http.ResponseWriter)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shows = f
}

// Unread returns the exceptions of the requests that it could not read.
func (a *Agent) Unread() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.bad...)
}

// SampleCard returns the card of RockBot.SampleAgent.Http.
func SampleCard() *rb.Card {
	return &rb.Card{
		AgentName: rb.Ptr("SampleAgent-Http"), Version: rb.Ptr("1.0"),
		Description: rb.Ptr("A sample agent demonstrating the A2A protocol pattern over HTTP."),
		Skills: []rb.Skill{
			{ID: rb.Ptr("general"), Name: rb.Ptr("General Task"), Description: rb.Ptr("General-purpose task execution using an LLM.")},
			{ID: rb.Ptr("echo"), Name: rb.Ptr("Echo"), Description: rb.Ptr("Echoes the input message back as confirmation.")},
		},
	}
}

func (a *Agent) serveCard(w http.ResponseWriter, _ *http.Request) {
	a.mu.Lock()
	shows := a.shows
	a.mu.Unlock()
	if shows != nil {
		shows(w)
		return
	}
	card := a.Card
	if card == nil {
		card = SampleCard()
	}
	reply(w, rb.Encode(card))
}

// serveJob binds the body like a minimal API: 415 without JSON, 400 with an empty body for
// invalid JSON.
func (a *Agent) serveJob(w http.ResponseWriter, r *http.Request) {
	if a.Header != "" && r.Header.Get(a.Header) != a.Value {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		a.refuse("the content type is " + r.Header.Get("Content-Type"))
		w.WriteHeader(http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(r.Body)
	job := new(rb.Request)
	if err == nil {
		err = rb.Decode(body, job)
	}
	if err != nil {
		a.refuse(err.Error() + ": " + string(body))
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	a.jobs = append(a.jobs, job)
	a.mu.Unlock()
	if a.Answer != nil {
		reply(w, []byte(a.Answer(job)))
		return
	}
	reply(w, rb.Encode(a.result(job)))
}

func (a *Agent) refuse(problem string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bad = append(a.bad, problem)
}

func (a *Agent) result(job *rb.Request) *rb.Result {
	if a.Handle != nil {
		return a.Handle(job)
	}
	return Result(job, rb.Completed, "Echo: "+job.Message.Text())
}

// Result returns the result of a job with a text.
func Result(job *rb.Request, state rb.State, text string) *rb.Result {
	return &rb.Result{TaskID: job.TaskID, ContextID: job.ContextID, State: state, Message: rb.TextMessage(text)}
}

func reply(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(body) // the caller may have disconnected
}
