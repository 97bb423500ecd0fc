package adminapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/bm25"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/task"
)

// entry returns the directory's entry of a remote agent, or nil.
func (h *Handler) entry(name string) *directory.Entry {
	if h.Directory == nil {
		return nil
	}
	e, err := h.Directory.Get(name)
	if err != nil || e.Spec.Local {
		return nil
	}
	return e
}

// enrich adds the details of the directory that the caller may see.
func (h *Handler) enrich(r *http.Request, a adminjson.Agent) adminjson.Agent {
	h.setPause(r, &a)
	e := h.entry(a.Name)
	if e == nil {
		return a
	}
	a.LastSeen, a.State = e.LastSeen(), e.Health.State.String()
	if !h.may(r, policy.Request{Op: policy.AdminAgents, Agent: task.Agent(a.Name)}) && !h.mayRead(r, policy.AdminRead) {
		return a
	}
	a.Remote = &adminjson.Remote{
		Queue: string(e.Spec.Queue), Transport: e.Transport(), Workers: e.Workers,
		URL: e.Spec.URL, ProtocolVersion: e.ProtocolVersion, SignedBy: e.SignedBy, Streaming: e.Streaming, Push: e.Push,
		Sources: e.Sources, Registered: e.Registered, Pinned: e.Spec.Pinned,
		Credentials: e.Spec.Call.Credentials.Kind(), Target: e.Spec.Call.Target, Problems: e.Problems,
		Health: adminjson.Health{
			State: a.State, LatencyMs: millis(e.Health.Latency), CheckedAt: moment(e.Health.CheckedAt), SeenAt: moment(e.Health.SeenAt),
			CardAt: moment(e.CardAt), Failures: e.Health.Failures, Error: e.Health.Error,
		},
	}
	if c := e.CardChange; c != nil {
		a.Remote.CardChange = &adminjson.CardChange{At: c.At, Lines: c.Lines}
	}
	return a
}

// setPause sets since when an agent is paused, and why. Only administrators learn by whom.
func (h *Handler) setPause(r *http.Request, a *adminjson.Agent) {
	if h.Control == nil {
		return
	}
	if p, paused := h.Control.PauseOf(task.Agent(a.Name)); paused {
		a.PausedSince, a.PauseReason = moment(p.At), p.Reason
		if h.mayRead(r, policy.AdminAgents) {
			a.PausedBy = p.By
		}
	}
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// uncalled describes an agent that the hub could not make callable.
func uncalled(e *directory.Entry) adminjson.Agent {
	a := adminjson.Agent{
		Name: string(e.Name()), Kind: "remote", Title: e.Title, Description: e.Description, Version: e.Version, Skills: []adminjson.Skill{},
		InputModes: list(e.InputModes), OutputModes: list(e.OutputModes),
	}
	for i := range e.Skills {
		s := &e.Skills[i]
		a.Skills = append(a.Skills, adminjson.Skill{
			ID: s.ID, Name: s.Name, Description: s.Description, Tags: list(s.Tags), InputModes: s.InputModes, OutputModes: s.OutputModes,
		})
	}
	return a
}

// noAgent returns the error that the agent does not exist, with suggestions of similar names.
func (h *Handler) noAgent(r *http.Request, name string) error {
	report := errNoAgent
	// A policy may hide agents, so callers then get no suggestions.
	if h.Directory != nil && (h.Policy == nil || h.mayRead(r, policy.AdminAgents)) {
		if _, err := h.Directory.Get(name); err != nil {
			report.Message = err.Error()
		}
	}
	return refuse(report)
}

// errAgentConfigured refuses changes of an agent that a file defines.
var errAgentConfigured = dialect.Row{HTTP: http.StatusConflict, GRPC: dialect.FailedPrecondition, Reason: "AGENT_CONFIGURED"}

func (h *Handler) directoryError(r *http.Request, err error, name string) error {
	switch {
	case errors.Is(err, directory.ErrNoAgent):
		return h.noAgent(r, name)
	case errors.Is(err, directory.ErrConfigured):
		return refuse(dialect.Report{Row: errAgentConfigured, Message: err.Error() + "; change it there"})
	case errors.Is(err, directory.ErrInvalid):
		return apierror.New(a2a.ErrInvalidParams, "%s", err.Error())
	}
	return err
}

// register adds an agent, or changes one.
func (h *Handler) register(r *http.Request, n *adminjson.NewAgent) (*adminjson.Agent, error) {
	name := r.PathValue("id")
	if name != "" && n.Name != "" && n.Name != name {
		return nil, apierror.Field(a2a.ErrInvalidParams, "name", "is not the name in the path")
	}
	n.Name = cmp.Or(n.Name, name)
	s, err := specOf(n)
	if err != nil {
		return nil, err
	}
	e, err := h.Directory.Register(r.Context(), *s, !n.Credentials.Given)
	if err != nil {
		return nil, h.directoryError(r, err, n.Name)
	}
	h.noteAgent(r, "agent registered", e)
	a := h.enrich(r, h.listed(e))
	return &a, nil
}

// review fetches the card of an agent and registers nothing.
func (h *Handler) review(r *http.Request, n *adminjson.NewAgent) (*adminjson.Reviewed, error) {
	s, err := specOf(n)
	if err != nil {
		return nil, err
	}
	found, err := h.Directory.Review(r.Context(), *s)
	if err != nil {
		return nil, h.directoryError(r, err, n.Name)
	}
	about(r, audit.Subject{Kind: "agent", ID: found.Name})
	text, err := json.Marshal(found.Card)
	return &adminjson.Reviewed{Name: found.Name, Card: text, SignedBy: found.SignedBy, Problems: found.Problems}, err
}

// specOf returns the agent of a registration request.
func specOf(n *adminjson.NewAgent) (*directory.Spec, error) {
	if n.TimeoutMs < 0 || n.PollMs < 0 {
		return nil, apierror.Field(a2a.ErrInvalidParams, "timeoutMs", "times must not be negative")
	}
	s := &directory.Spec{
		Name: task.Agent(n.Name), Title: n.Title, URL: n.URL, Description: n.Description, Version: n.Version,
		Skills: n.Skills, Streaming: n.Streaming, Trust: directory.Trust(n.Trust), GatedSkills: n.GatedSkills,
		Call: directory.Call{
			Target: n.Target, Timeout: time.Duration(n.TimeoutMs) * time.Millisecond, Poll: time.Duration(n.PollMs) * time.Millisecond,
		},
	}
	if c := &n.Credentials; c.Given {
		value, err := directory.DecodeHeaderValue(c.HeaderValueBase64)
		if err != nil {
			return nil, apierror.Field(a2a.ErrInvalidParams, "credentials.headerValueBase64", "%s", err.Error())
		}
		s.Call.Credentials = directory.Credentials{APIKey: c.APIKey, Bearer: c.Bearer, HeaderName: c.HeaderName, HeaderValue: value}
	}
	return s, nil
}

// listed describes an agent of the directory in the hub's form.
func (h *Handler) listed(e *directory.Entry) adminjson.Agent {
	if a, ok := h.Hub.Agent(e.Name()); ok {
		return h.describe(a)
	}
	return uncalled(e)
}

// remove deletes a registered agent.
func (h *Handler) remove(r *http.Request) (*adminjson.Agent, error) {
	name := r.PathValue("id")
	e, err := h.Directory.Remove(r.Context(), name)
	if err != nil {
		return nil, h.directoryError(r, err, name)
	}
	h.noteAgent(r, "agent removed", e)
	a := uncalled(e)
	return &a, nil
}

// noteAgent records a change of an agent with its caller.
func (h *Handler) noteAgent(r *http.Request, what string, e *directory.Entry) {
	about(r, audit.Subject{Kind: "agent", ID: string(e.Name()), Agent: string(e.Name())}, audit.Field{Name: "trust", Value: string(e.Spec.Trust)})
	h.record(r, what, "agent", e.Name(), "url", e.Spec.URL)
}

// probe checks whether an agent answers.
func (h *Handler) probe(r *http.Request) (*adminjson.Probe, error) {
	return h.probed(r, h.Directory.Probe)
}

// refresh reads the card of an agent again.
func (h *Handler) refresh(r *http.Request) (*adminjson.Probe, error) {
	return h.probed(r, h.Directory.Refresh)
}

// probed answers with the result of a probe.
func (h *Handler) probed(r *http.Request, ask func(context.Context, string) (*directory.Entry, directory.Probe, error)) (*adminjson.Probe, error) {
	name := r.PathValue("id")
	e, p, err := ask(r.Context(), name)
	if err != nil {
		return nil, h.directoryError(r, err, name)
	}
	return &adminjson.Probe{
		Agent: h.enrich(r, h.listed(e)), Reachable: p.Reachable, LatencyMs: millis(p.Latency),
		Streaming: p.Streaming, Push: p.Push, SkillCount: p.SkillCount, Changed: p.Changed, Error: p.Error,
	}, nil
}

// search answers with the matches of a query.
func (h *Handler) search(r *http.Request) (*adminjson.Found, error) {
	q := r.URL.Query()
	limit, err := numberOf(q, "limit", bm25.DefaultLimit, bm25.MaxLimit)
	switch {
	case err != nil:
		return nil, err
	case strings.TrimSpace(q.Get("q")) == "":
		return nil, apierror.Field(a2a.ErrInvalidParams, "q", "is missing")
	}
	found := adminjson.Found{Results: []adminjson.Result{}}
	for _, hit := range h.hits(r, q.Get("q"), limit) {
		result := adminjson.Result{ID: hit.Name, Type: hit.Kind, Summary: hit.Summary, Relevance: hit.Score}
		if hit.Kind == "mcp" {
			result.TopTools = hit.Skills
		} else {
			result.TopSkills = hit.Skills
		}
		found.Results = append(found.Results, result)
	}
	return &found, nil
}

// hits returns the matches of a query that are visible to the caller.
func (h *Handler) hits(r *http.Request, query string, limit int) []bm25.Hit {
	if h.Policy == nil {
		return h.Directory.Search(query, limit)
	}
	mine := slices.DeleteFunc(h.Directory.Search(query, bm25.MaxLimit), func(hit bm25.Hit) bool {
		return hit.Kind != "mcp" && !h.maySee(r, task.Agent(hit.Name))
	})
	return mine[:min(len(mine), limit)]
}
