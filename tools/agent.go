package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
	"github.com/parley-a2a/parley/internal/llm/hubtools"
)

// Config holds the address of a single agent and the options for calling it. Its JSON and YAML
// keys are those of other runtimes of agents.
type Config struct {
	// URL is the address of the agent. It is required.
	URL string `json:"agent_url" yaml:"agent_url"`
	// SkillID is the only skill that gets a tool. If empty, SkillFilter decides.
	SkillID string `json:"skill_id,omitempty" yaml:"skill_id"`
	// SkillFilter selects the skills that get a tool.
	SkillFilter Filter `json:"skill_filter,omitzero" yaml:"skill_filter"`
	// TimeoutMs is the longest wait of a tool in milliseconds. Zero means five minutes.
	TimeoutMs int `json:"timeout_ms,omitempty" yaml:"timeout_ms"`
	// Headers are added to each request. HeadersFromEnv adds further ones in the form
	// "Header=NAME", with the name of an environment variable.
	Headers        map[string]string `json:"headers,omitempty" yaml:"headers"`
	HeadersFromEnv []string          `json:"headers_from_env,omitempty" yaml:"headers_from_env"`
	Auth           Auth              `json:"auth,omitzero" yaml:"auth"`
	Retry          Retry             `json:"retry,omitzero" yaml:"retry"`

	// HTTP sends the requests. If nil, a client with a connect timeout is used.
	HTTP *http.Client `json:"-" yaml:"-"`
	// LookupEnv looks up environment variables. If nil, os.LookupEnv is used.
	LookupEnv func(string) (string, bool) `json:"-" yaml:"-"`
	// Screening is applied to the texts of the agent before a model reads them; Mark if it is
	// empty.
	Screening Screening `json:"-" yaml:"-"`
}

// Filter selects skills by their ids. Block is ignored if Allow is not empty.
type Filter struct {
	Allow []string `json:"allowlist,omitempty" yaml:"allowlist"`
	Block []string `json:"blocklist,omitempty" yaml:"blocklist"`
}

// Auth is a credential in the header Authorization.
type Auth struct {
	// Scheme is the authentication scheme. Empty means "Bearer".
	Scheme string `json:"scheme,omitempty" yaml:"scheme"`
	// Token is the credential; TokenEnv names an environment variable with it.
	Token    string `json:"token,omitempty" yaml:"token"`
	TokenEnv string `json:"token_env,omitempty" yaml:"token_env"`
}

// Retry limits how often a message is sent again. That happens only if the agent cannot have
// accepted it: if the connection failed, and after the statuses 429 and 503.
type Retry struct {
	// Max is the number of retries. Zero means 3, negative none.
	Max int `json:"max_retries,omitempty" yaml:"max_retries"`
	// InitialMs is the first pause, which doubles up to MaxMs, both in milliseconds. Up to half
	// of each pause is random. Zero means 500 and 30,000.
	InitialMs int `json:"initial_delay_ms,omitempty" yaml:"initial_delay_ms"`
	MaxMs     int `json:"max_delay_ms,omitempty" yaml:"max_delay_ms"`
}

// header returns the headers of the requests.
func (c *Config) header() (http.Header, error) {
	lookup := c.LookupEnv
	if lookup == nil {
		lookup = os.LookupEnv
	}
	h := http.Header{}
	for name, value := range c.Headers {
		h.Set(name, value)
	}
	for _, entry := range c.HeadersFromEnv {
		name, variable, ok := strings.Cut(entry, "=")
		if !ok || name == "" || variable == "" {
			return nil, fmt.Errorf("headers_from_env: %q is not of the form Header=NAME", entry)
		}
		value, set := lookup(variable)
		if !set {
			return nil, fmt.Errorf("headers_from_env: the environment variable %s is not set", variable)
		}
		h.Set(name, value)
	}
	token := c.Auth.Token
	if c.Auth.TokenEnv != "" && token == "" {
		value, set := lookup(c.Auth.TokenEnv)
		if !set {
			return nil, fmt.Errorf("auth.token_env: the environment variable %s is not set", c.Auth.TokenEnv)
		}
		token = value
	}
	if token != "" {
		scheme := c.Auth.Scheme
		if scheme == "" || strings.EqualFold(scheme, "bearer") {
			scheme = "Bearer"
		}
		h.Set("Authorization", scheme+" "+token)
	}
	return h, nil
}

// Agent has a tool for each skill of a single A2A agent, in whatever dialect it speaks. Run looks
// for changed skills every ten minutes. It is safe for concurrent use.
type Agent struct {
	*Skills

	peer *peer
}

// Dial reads the card of the agent that cfg names, and selects the dialect of A2A for its
// calls. The error wraps client.ErrUnreachable if the agent does not answer.
func Dial(ctx context.Context, cfg *Config) (*Agent, error) {
	header, err := cfg.header()
	if err != nil {
		return nil, err
	}
	p := &peer{cfg: *cfg, options: client.Options{HTTP: cfg.HTTP, Header: header, Pin: true}}
	if p.client, err = client.Dial(ctx, cfg.URL, p.options); err != nil {
		return nil, err
	}
	b := &hubtools.Bridge{
		Source: p, Allow: cfg.SkillFilter.Allow, Block: cfg.SkillFilter.Block,
		Box:     &hubtools.Toolbox{Guard: cfg.Screening.guard()},
		Timeout: time.Duration(cfg.TimeoutMs) * time.Millisecond, Refresh: 10 * time.Minute,
	}
	if cfg.SkillID != "" {
		b.Allow, b.Block = []string{cfg.SkillID}, nil
	}
	return &Agent{Skills: &Skills{bridge: b}, peer: p}, nil
}

// Close releases the connections.
func (a *Agent) Close() error { return a.peer.client.Close() }

// peer is a single agent as a source of skills.
type peer struct {
	cfg     Config
	options client.Options
	client  *client.Client
}

// Agents implements hubtools.Source. It reads the card again.
func (a *peer) Agents(ctx context.Context) ([]adminjson.Agent, error) {
	c, _, err := client.Fetch(ctx, a.cfg.URL, a.options)
	if err != nil {
		return nil, err
	}
	known := adminjson.Agent{
		Name: c.Name, Description: c.Description, InputModes: c.DefaultInputModes, OutputModes: c.DefaultOutputModes,
	}
	for i := range c.Skills {
		s := &c.Skills[i]
		known.Skills = append(known.Skills, adminjson.Skill{
			ID: s.ID, Name: s.Name, Description: s.Description, InputModes: s.InputModes, OutputModes: s.OutputModes,
		})
	}
	return []adminjson.Agent{known}, nil
}

var errWaitOver = errors.New("the time to wait is over")

// Send implements hubtools.Source. Calls cannot be joined, because agents know no keys. It
// ignores the session.
func (a *peer) Send(ctx context.Context, s *hubclient.Send) (*hubclient.Sent, error) {
	m := &a2a.Message{
		ID: a2a.NewMessageID(), Role: a2a.MessageRoleUser, Parts: s.Parts, ContextID: s.ContextID, TaskID: s.TaskID,
		Metadata: map[string]any{},
	}
	for k, v := range s.Metadata {
		m.Metadata[k] = v
	}
	if s.Skill != "" {
		m.Metadata["skill"], m.Metadata["skillId"] = s.Skill, s.Skill
	}
	wait, cancel := ctx, context.CancelFunc(func() {})
	if s.Wait > 0 {
		wait, cancel = context.WithTimeoutCause(ctx, s.Wait, errWaitOver)
	}
	defer cancel()
	x := exchange{agent: a, send: s, sent: hubclient.Sent{Agent: a.client.Card().Name}}
	err := x.run(wait, &a2a.SendMessageRequest{Message: m, Config: &a2a.SendMessageConfig{ReturnImmediately: s.Wait == 0}})
	switch {
	case ctx.Err() != nil:
		x.abort(ctx)
		return nil, context.Cause(ctx)
	case wait.Err() != nil && x.sent.Task == nil:
		return nil, hubclient.Refusef("the agent has not answered in time, and it is unknown whether it is at work")
	case wait.Err() == nil && err != nil:
		return nil, toRefusal(err)
	}
	return &x.sent, nil
}

// Cancel implements hubtools.Source.
func (a *peer) Cancel(ctx context.Context, id a2a.TaskID) (*hubclient.Sent, error) {
	t, err := a.client.Cancel(ctx, &a2a.CancelTaskRequest{ID: id})
	if err != nil {
		return nil, toRefusal(err)
	}
	return &hubclient.Sent{Agent: a.client.Card().Name, Task: t}, nil
}

// toRefusal converts an error of the agent to one for the model.
func toRefusal(err error) error {
	var e *client.Error
	switch {
	case errors.Is(err, client.ErrUnreachable):
		return hubclient.Refusef("the agent cannot be reached now; nothing was sent. Try it later, or choose another tool")
	case errors.Is(err, a2a.ErrTaskNotFound):
		return hubclient.NotFoundf("the agent has no such task, or it has ended: leave task_id out")
	case errors.As(err, &e):
		return hubclient.Refusef("the agent rejected the request (status %d)", e.Status)
	}
	return err
}

// exchange is one message and its result.
type exchange struct {
	agent *peer
	send  *hubclient.Send
	sent  hubclient.Sent
	fold  client.Fold
}

// run sends the message, and retries if the agent cannot have accepted it.
func (x *exchange) run(ctx context.Context, req *a2a.SendMessageRequest) error {
	r := &x.agent.cfg.Retry
	pause, most := limit(r.InitialMs, 500), limit(r.MaxMs, 30_000)
	for tries := 0; ; tries++ {
		err := x.try(ctx, req)
		if err == nil || x.fold.Result() != nil || !unaccepted(err) || tries >= max(0, cmp.Or(r.Max, 3)) {
			return err
		}
		wait := pause - time.Duration(rand.Int64N(int64(pause)/2+1))
		var e *client.Error
		if errors.As(err, &e) {
			wait = max(wait, min(e.RetryAfter, most))
		}
		if backoff.Sleep(ctx, wait) != nil {
			return err
		}
		pause = min(2*pause, most)
	}
}

func limit(ms, otherwise int) time.Duration {
	return time.Duration(cmp.Or(max(0, ms), otherwise)) * time.Millisecond
}

// unaccepted reports whether the error proves that the agent has not accepted the message.
func unaccepted(err error) bool {
	var e *client.Error
	if errors.As(err, &e) {
		return e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable
	}
	return errors.Is(err, client.ErrUnreachable)
}

// try sends the message once and follows its task.
func (x *exchange) try(ctx context.Context, req *a2a.SendMessageRequest) error {
	if req.Config.ReturnImmediately {
		res, err := x.agent.client.Send(ctx, req)
		if err == nil {
			x.apply(res.(a2a.Event))
		}
		return err
	}
	for event, err := range x.agent.client.Run(ctx, req) {
		if err != nil {
			return err
		}
		x.apply(event)
	}
	return nil
}

// apply applies an event to the result.
func (x *exchange) apply(event a2a.Event) {
	x.fold.Apply(event)
	x.sent.Task, x.sent.Message = x.fold.Task, x.fold.Message
	if u := client.UpdateOf(event); u.Type == client.UpdateStatus && x.send.Progress != nil && x.fold.Task != nil {
		x.send.Progress(llm.Progress{Agent: x.sent.Agent, State: string(x.fold.Task.Status.State), Text: u.Text})
	}
}

// abort cancels the task of a call that was aborted.
func (x *exchange) abort(ctx context.Context) {
	if t := x.fold.Task; x.send.Abort && t != nil && !t.Status.State.Terminal() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
		defer cancel()
		_, _ = x.agent.Cancel(ctx, t.ID) // the caller is gone
	}
}
