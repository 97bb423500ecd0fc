// Package aguifront offers the agents of a hub to AG-UI clients: any agent is a run with a
// stream of events.
//
// # Overview
//
// A [Front] is a surface behind the hub's HTTP front, for AG-UI 1.0 over HTTP and server-sent
// events:
//
//	POST /ag-ui                    the default agent
//	POST /ag-ui/{agent}[/{skill}]
//
// The body is a RunAgentInput. A thread is a context, a run is a message and its result. The
// agent gets the new messages of the thread; if it does not know the thread yet, one text with
// the earlier messages precedes them.
//
// # Events
//
//	RUN_STARTED              with the ids of task and context in the metadata
//	TEXT_MESSAGE_…           each artifact with text is a message; so is a question
//	ACTIVITY_SNAPSHOT        each status of the task on the way, of the type a2a-task
//	TOOL_CALL_…              tool calls in the extension tool-call-v1; tools that the caller
//	                         is asked to perform, which are pending in the outcome
//	STATE_SNAPSHOT, _DELTA   changes in the extension worldstate-delta-v1, applied to the
//	                         state that the client sent
//	CUSTOM a2a.part          any other part of an artifact, as v1.0 JSON
//	MESSAGES_SNAPSHOT        the thread as the hub knows it, for a run without a message
//	RUN_FINISHED             success; interrupt, if the task waits for its caller;
//	                         cancelled. With the usage in the extension cost-v1
//	RUN_ERROR                the task has failed or was rejected, or the hub stops
//
// # Guarantees
//
// A repeated run, with the same ids of thread and run, is the same run: it is answered with the
// same events. A client that disconnects changes nothing. No value is null.
//
// # Non-guarantees
//
// Interrupts do not expire. The client's tools, context, state and forwarded properties are
// passed to the agent in the metadata of the request, under "ag-ui", and have no effect here.
package aguifront

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/exchange"
	"github.com/parley-a2a/parley/internal/front/surface"
	"github.com/parley-a2a/parley/task"
)

// Front is the surface. Create it as a composite literal.
type Front struct {
	// Engine performs the operations of callers. It is required.
	Engine *engine.Engine
}

var _ surface.Surface = (*Front)(nil)

const root = "/ag-ui"

// Methods implements surface.Surface.
func (f *Front) Methods(path string) string {
	if path == root || strings.HasPrefix(path, root+"/") {
		return http.MethodPost
	}
	return ""
}

// AppendError implements surface.Surface: errors before a run have the form of HTTP+JSON.
func (f *Front) AppendError(dst []byte, r *dialect.Report) []byte { return r.AppendREST(dst) }

// Serve implements surface.Surface.
func (f *Front) Serve(v *surface.Request) error {
	agent, skill, err := f.agentAt(v.Caller.Principal, v.Path)
	if err != nil {
		return err
	}
	in, err := read(v.Body)
	if err != nil {
		return err
	}
	r := &run{eventWriter{front: f, visit: v, in: in, agent: agent, skill: skill}}
	if in.silent() {
		return r.recall()
	}
	if r.declined() {
		return r.cancel()
	}
	m, err := r.message()
	if err != nil {
		return err
	}
	v.Adopt(m)
	r.turn, err = exchange.Begin(v.Request.Context(), f.Engine, v.Caller, m)
	if err != nil {
		return err
	}
	defer r.turn.Close()
	v.About(&r.turn.Task)
	return r.follow()
}

// agentAt returns the agent and the skill that a path names, if the agent is visible to the
// caller.
func (f *Front) agentAt(caller *auth.Principal, path string) (agent task.Agent, skill string, err error) {
	first, second, _ := strings.Cut(strings.Trim(strings.TrimPrefix(path, root), "/"), "/")
	name, err1 := url.PathUnescape(first)
	skill, err2 := url.PathUnescape(second)
	a, ok := f.Engine.AgentFor(caller, task.Agent(name))
	if err1 != nil || err2 != nil || !ok {
		return "", "", apierror.New(a2a.ErrTaskNotFound, "no such agent or task")
	}
	return a.Name, skill, nil
}
