// Package openaifront lets clients of OpenAI's chat completions talk to the agents of a hub: a
// model is an agent.
//
// # Overview
//
// A [Front] is a surface behind the hub's HTTP front:
//
//	GET  /v1/models  /v1/models/{model}
//	POST /v1/chat/completions
//
// A model is the name of an agent, an agent and one of its skills ("report/report"), or a
// skill, for which the hub chooses the agent. Each request is a message to it. Its answer is
// the text of the artifacts of the task, or else that of its status; it is streamed as the
// agent produces it.
//
// # Conversations
//
// The list of messages is the conversation, as clients of chat completions expect. The messages
// after the last one of the assistant are sent to the agent, preceded by one text with the
// earlier messages. With "user" the hub keeps the conversation: user and model identify a
// context, and an agent gets only the new messages once it knows the others. An agent that asks
// back answers with its question; the next request continues the task that asked. The metadata
// of an answer names its task, context and state.
//
// # Guarantees
//
// Errors have the shape of OpenAI and name the parameter. Parameters that would change the
// shape of the answer are refused by name; those that tune a model are passed to the agent in
// the metadata of the message, under "openai". A client that disconnects changes nothing: its
// task continues. A request that has become a task must not be repeated by a client's own
// retries, so the answer forbids them (x-should-retry).
//
// # Non-guarantees
//
// Token counts are those that agents report in parts of the extension cost-v1, and zero if they
// report none. Two conversations without "user" that are identical are the same one to the hub
// while an agent waits in them.
package openaifront

import (
	"net/http"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/surface"
)

// Front is the surface. Create it as a composite literal.
type Front struct {
	// Engine performs the operations of callers. It is required.
	Engine *engine.Engine
	// Since is the creation time that models report; the zero time means 1970.
	Since time.Time
}

var _ surface.Surface = (*Front)(nil)

const (
	modelsPath = "/v1/models"
	chatPath   = "/v1/chat/completions"
)

// Methods implements surface.Surface.
func (f *Front) Methods(path string) string {
	switch {
	case path == modelsPath, strings.HasPrefix(path, modelsPath+"/"):
		return http.MethodGet
	case path == chatPath:
		return http.MethodPost
	}
	return ""
}

// Serve implements surface.Surface.
func (f *Front) Serve(v *surface.Request) error {
	switch v.Path {
	case modelsPath:
		caller := v.Caller.Principal
		v.Reply(http.StatusOK, marshal(map[string]any{"object": "list", "data": f.models(caller)}))
		return nil
	case chatPath:
		return f.complete(v)
	}
	return f.showModel(v, strings.TrimPrefix(v.Path, modelsPath+"/"))
}

// AppendError implements surface.Surface.
func (f *Front) AppendError(dst []byte, r *dialect.Report) []byte {
	return append(dst, problemOf(r).body()...)
}

// problem is an error in OpenAI's form.
type problem struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func (p *problem) body() []byte { return marshal(map[string]*problem{"error": p}) }

func problemOf(r *dialect.Report) *problem {
	p := &problem{Message: r.Message, Type: "invalid_request_error"}
	code := strings.ToLower(r.Reason)
	switch {
	case r.HTTP == http.StatusUnauthorized:
		code = "invalid_api_key"
	case r.HTTP == http.StatusForbidden:
		p.Type = "permission_error"
	case r.HTTP == http.StatusTooManyRequests:
		p.Type, code = "rate_limit_error", "rate_limit_exceeded"
	case r.HTTP >= http.StatusInternalServerError:
		p.Type = "server_error"
	}
	if r.Meta["code"] != "" {
		code = r.Meta["code"]
	}
	if ref := r.Meta["reference"]; ref != "" {
		p.Message += " (reference " + ref + ")"
	}
	p.Code = &code
	if len(r.Violations) > 0 {
		param := paramOf(r.Violations[0].Field)
		p.Param = &param
	}
	return p
}

// paramOf returns the parameter from which a field of the message to the agent was derived.
func paramOf(field string) string {
	switch {
	case field == "metadata.skill":
		return "model"
	case strings.HasPrefix(field, "message."):
		return "messages"
	}
	return field
}

// invalid is an error about one parameter.
func invalid(param, format string, args ...any) error {
	return apierror.Field(a2a.ErrInvalidParams, param, format, args...)
}
