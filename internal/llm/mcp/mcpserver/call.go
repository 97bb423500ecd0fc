package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/membudget"
)

// errClosed is the cancel cause of calls that end with the server.
var errClosed = errors.New("the server ends")

// running is a tool call in progress. The tool runs in a goroutine of its own, because a call
// may outlive its request: when it asks a question, the answer may arrive with another request.
type running struct {
	progress progress
	cancel   context.CancelCauseFunc
	// asks passes questions of the tool to the waiting request.
	asks chan *asking
	// abandoned is closed when no request will wait for the call.
	abandoned chan struct{}
	// done is closed when result and err are set.
	done   chan struct{}
	result *llm.Result
	// account is the memory of the answers that the tool has read.
	account *membudget.Account
	err     error
}

// handle answers a call of any tool.
func (svc *service) handle(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.RequestState != "" {
		return svc.resume(ctx, req)
	}
	o := svc.exposed(req.Params.Name)
	if o == nil { // it was removed after the request was read
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", req.Params.Name)}
	}
	args, wrong := svc.arguments(req.Params.Arguments)
	if wrong != "" {
		return failed(wrong), nil
	}
	select {
	case svc.slots <- struct{}{}:
	default:
		return failed(fmt.Sprintf("%d calls are under way, which is the limit; wait until one has ended", cap(svc.slots))), nil
	}
	r := &running{asks: make(chan *asking), abandoned: make(chan struct{}), done: make(chan struct{})}
	r.progress.attach(ctx, req)
	svc.begin(r, &o.tool, args, canElicit(req.ClientCapabilities()))
	return svc.await(ctx, r, req)
}

// arguments returns the arguments of a call, or a description of the mistake.
func (svc *service) arguments(raw json.RawMessage) (args json.RawMessage, wrong string) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return json.RawMessage("{}"), ""
	case len(raw) > svc.Limits.Arguments:
		return nil, fmt.Sprintf("arguments have %d bytes; the maximum is %d", len(raw), svc.Limits.Arguments)
	case raw[0] != '{' || !json.Valid(raw):
		return nil, "arguments is not a JSON object; give an object with the fields of the tool's schema"
	}
	return raw, ""
}

// begin starts a tool. The call holds a slot, and its arguments are an object.
func (svc *service) begin(r *running, tool *llm.Tool, args json.RawMessage, asks bool) {
	ctx, cancel := context.WithCancelCause(svc.base)
	r.cancel = cancel
	r.account = svc.account()
	ctx = r.account.Context(ctx)
	call := &llm.Call{Arguments: args, Progress: r.progress.report}
	if asks {
		call.Ask = r.ask
	}
	svc.wg.Go(func() {
		defer func() { <-svc.slots }()
		defer close(r.done)
		defer cancel(nil)
		r.result, r.err = svc.perform(ctx, tool, call)
	})
}

// perform calls a tool. A panic ends only this call.
func (svc *service) perform(ctx context.Context, tool *llm.Tool, call *llm.Call) (res *llm.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			svc.Logger.Error("a tool panicked", "tool", tool.Name, "panic", p, "stack", string(debug.Stack()))
			res, err = nil, errors.New("internal error")
		}
	}()
	res, err = tool.Call(ctx, call)
	if err == nil && res == nil {
		res = &llm.Result{}
	}
	return res, err
}

// await waits on behalf of a request until the call has ended, the request is canceled, or the
// response must ask the caller a question.
func (svc *service) await(ctx context.Context, r *running, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	defer r.progress.attach(context.WithoutCancel(ctx), nil)
	if svc.exchanges != nil && req.Extra != nil {
		svc.exchanges.begin(req.Extra.Header)
	}
	beat := time.NewTicker(svc.Limits.Beat)
	defer beat.Stop()
	for {
		select {
		case <-r.done:
			defer svc.exchanges.release(req.Extra, r.account)
			return svc.outcome(r), nil
		case a := <-r.asks:
			if req.ProtocolVersion() >= firstModern {
				return svc.suspend(r, a), nil
			}
			a.settle(elicit(ctx, req, a))
		case <-beat.C:
			r.progress.keepAlive(svc.Limits.Beat)
		case <-ctx.Done():
			r.cancel(context.Cause(ctx))
			<-r.done
			r.account.Release()
			return nil, context.Cause(ctx)
		}
	}
}

// outcome returns the response to a call that has ended.
func (svc *service) outcome(r *running) *mcp.CallToolResult {
	switch {
	case r.err == nil:
		return svc.converted(r.result, r.account)
	case svc.base.Err() != nil:
		return failed(errClosed.Error() + "; try again later")
	}
	return failed(r.err.Error())
}

func failed(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
