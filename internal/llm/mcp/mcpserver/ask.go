package mcpserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/llm"
)

// firstModern is the first version of the protocol in which a server asks in the response to a
// request, and the caller answers with another request.
const firstModern = "2026-07-28"

// canElicit reports whether the host can ask its user with a form. A host that names no kind of
// question supports forms.
func canElicit(c *mcp.ClientCapabilities) bool {
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// asking is a tool's question that waits for its answer.
type asking struct {
	ctx      context.Context //nolint:containedctx // the tool waits no longer when it ends
	question *llm.Question
	got      chan answered
}

type answered struct {
	answer *llm.Answer
	err    error
}

// settle passes the answer to the tool. It is called once.
func (a *asking) settle(answer *llm.Answer, err error) { a.got <- answered{answer, err} }

// ask implements llm.Call.Ask.
func (r *running) ask(ctx context.Context, q *llm.Question) (*llm.Answer, error) {
	a := &asking{ctx, q, make(chan answered, 1)}
	select {
	case r.asks <- a:
	case <-r.abandoned:
		return nil, errNoAnswer
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case got := <-a.got:
		return got.answer, got.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// elicit asks the user of the host while the request of a call waits.
func elicit(ctx context.Context, req *mcp.CallToolRequest, a *asking) (*llm.Answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.ctx, cancel)()
	res, err := req.Session.Elicit(ctx, form(a.question))
	if err != nil {
		return nil, fmt.Errorf("ask the host: %w", err)
	}
	return answer(res), nil
}

// answerField is the only field of the form.
const answerField = "answer"

var answerSchema = json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string","title":"Answer"}},"required":["answer"]}`)

// form returns a question in the form for a host.
func form(q *llm.Question) *mcp.ElicitParams {
	return &mcp.ElicitParams{Mode: "form", Message: questionText(q), RequestedSchema: answerSchema}
}

// maxQuestion is the largest number of bytes of a question that is shown.
const maxQuestion = 16 << 10

func questionText(q *llm.Question) string {
	verb := "asks"
	if q.Auth {
		verb = "asks for a permission"
	}
	var texts []string
	rest := 0
	for _, p := range q.Parts {
		if text := p.Text(); text != "" {
			texts = append(texts, text)
		} else if p.Data() != nil {
			if b, err := json.Marshal(p.Data()); err == nil {
				texts = append(texts, string(b))
			}
		} else {
			rest++
		}
	}
	if rest > 0 {
		texts = append(texts, fmt.Sprintf("(and %d files, which are in task %s)", rest, q.TaskID))
	}
	return cmp.Or(q.Agent, "An agent") + " " + verb + ": " + clip.Bytes(strings.Join(texts, "\n"), maxQuestion)
}

// answer converts a form that the user has filled in, declined or dismissed.
func answer(res *mcp.ElicitResult) *llm.Answer {
	text, ok := res.Content[answerField].(string)
	if res.Action != "accept" || !ok {
		return &llm.Answer{Refused: true}
	}
	return &llm.Answer{Text: text}
}

// suspended is a call that waits for a request with an answer.
type suspended struct {
	run   *running
	asked *asking
	// resumed is closed when the answer has arrived.
	resumed chan struct{}
}

var errNoAnswer = errors.New("the caller has not sent an answer")

// suspend answers a request with a question. The call continues with the request that contains
// the answer and the state. If no such request arrives in time, the question fails.
func (svc *service) suspend(r *running, a *asking) *mcp.CallToolResult {
	state := rand.Text()
	p := &suspended{run: r, asked: a, resumed: make(chan struct{})}
	svc.mu.Lock()
	svc.suspended[state] = p
	svc.mu.Unlock()
	svc.wg.Go(func() { svc.awaitAnswer(state, p) })
	return &mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{answerField: form(a.question)},
		RequestState:  state,
	}
}

// awaitAnswer ends a suspended call that is not resumed in time, or before the service ends.
func (svc *service) awaitAnswer(state string, p *suspended) {
	timer := time.NewTimer(svc.Limits.Patience)
	defer timer.Stop()
	select {
	case <-p.resumed:
		return
	case <-timer.C:
	case <-svc.base.Done():
	}
	if svc.takeSuspended(state) == nil {
		return // resumed in the meantime
	}
	close(p.run.abandoned)
	p.asked.settle(nil, errNoAnswer)
	<-p.run.done
	p.run.account.Release()
}

// takeSuspended removes and returns the call of a state; nil if there is none.
func (svc *service) takeSuspended(state string) *suspended {
	svc.mu.Lock()
	defer svc.mu.Unlock()
	p := svc.suspended[state]
	delete(svc.suspended, state)
	return p
}

func (svc *service) resume(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	p := svc.takeSuspended(req.Params.RequestState)
	if p == nil {
		return failed("no call waits for this answer any more; look at the task with get_task, and answer with continue_task"), nil
	}
	close(p.resumed)
	p.run.progress.attach(ctx, req)
	if res, ok := req.Params.InputResponses[answerField].(*mcp.ElicitResult); ok {
		p.asked.settle(answer(res), nil)
	} else {
		p.asked.settle(&llm.Answer{Refused: true}, nil)
	}
	return svc.await(ctx, p.run, req)
}
