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

	"github.com/parley-a2a/parley/llm"
)

// errClosed is the cancel cause of calls that end with the server.
var errClosed = errors.New("the server ends")

// running is a tool call in progress. The tool runs in a goroutine of its own, because a call
// may outlive its request: when it asks a question, the answer may arrive with another request.
type running struct {
	told   teller
	cancel context.CancelCauseFunc
	// asks passes questions of the tool to the waiting request.
	asks chan *asking
	// left is closed when no request will wait for the call.
	left chan struct{}
	// done is closed when result and err are set.
	done   chan struct{}
	result *llm.Result
	err    error
}

// handle answers a call of any tool.
func (d *desk) handle(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.RequestState != "" {
		return d.goOn(ctx, req)
	}
	o := d.offered(req.Params.Name)
	if o == nil { // it was removed after the request was read
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", req.Params.Name)}
	}
	args, wrong := d.arguments(req.Params.Arguments)
	if wrong != "" {
		return failed(wrong), nil
	}
	select {
	case d.slots <- struct{}{}:
	default:
		return failed(fmt.Sprintf("%d calls are under way, which is as many as there may be; wait until one has ended", cap(d.slots))), nil
	}
	r := &running{asks: make(chan *asking), left: make(chan struct{}), done: make(chan struct{})}
	r.told.listen(ctx, req)
	d.begin(r, &o.tool, args, canElicit(req.ClientCapabilities()))
	return d.await(ctx, r, req)
}

// arguments returns the arguments of a call, or a description of the mistake.
func (d *desk) arguments(raw json.RawMessage) (args json.RawMessage, wrong string) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return json.RawMessage("{}"), ""
	case len(raw) > d.Limits.Arguments:
		return nil, fmt.Sprintf("arguments have %d bytes; at most %d are taken", len(raw), d.Limits.Arguments)
	case raw[0] != '{' || !json.Valid(raw):
		return nil, "arguments is not a JSON object; give an object with the fields of the tool's schema"
	}
	return raw, ""
}

// begin starts a tool. The call holds a slot, and its arguments are an object.
func (d *desk) begin(r *running, tool *llm.Tool, args json.RawMessage, asks bool) {
	ctx, cancel := context.WithCancelCause(d.base)
	r.cancel = cancel
	call := &llm.Call{Arguments: args, Progress: r.told.tell}
	if asks {
		call.Ask = r.ask
	}
	d.wg.Go(func() {
		defer func() { <-d.slots }()
		defer close(r.done)
		defer cancel(nil)
		r.result, r.err = d.perform(ctx, tool, call)
	})
}

// perform calls a tool. A panic ends only this call.
func (d *desk) perform(ctx context.Context, tool *llm.Tool, call *llm.Call) (res *llm.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			d.Logger.Error("a tool panicked", "tool", tool.Name, "panic", p, "stack", string(debug.Stack()))
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
func (d *desk) await(ctx context.Context, r *running, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	defer r.told.listen(context.WithoutCancel(ctx), nil)
	beat := time.NewTicker(d.Limits.Beat)
	defer beat.Stop()
	for {
		select {
		case <-r.done:
			return d.outcome(r), nil
		case a := <-r.asks:
			if modern(req) {
				return d.park(r, a), nil
			}
			a.settle(elicit(ctx, req, a))
		case <-beat.C:
			r.told.beat(d.Limits.Beat)
		case <-ctx.Done():
			r.cancel(context.Cause(ctx))
			<-r.done
			return nil, context.Cause(ctx)
		}
	}
}

// outcome returns the response to a call that has ended.
func (d *desk) outcome(r *running) *mcp.CallToolResult {
	switch {
	case r.err == nil:
		return d.converted(r.result)
	case d.base.Err() != nil:
		return failed(errClosed.Error() + "; try again later")
	}
	return failed(r.err.Error())
}

// failed returns an error result with a text.
func failed(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
