package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/llm"
)

// exposedTool is a tool in the form for the caller.
type exposedTool struct {
	tool llm.Tool
	// wire is the JSON that the caller has received.
	wire []byte
}

const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// follow lists the tools again after each change, until ctx ends. changed and err are the
// results of the previous list.
func (svc *service) follow(ctx context.Context, changed <-chan struct{}, err error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	retry := firstRetry
	for {
		again := timer.C
		if err == nil {
			again, retry = nil, firstRetry
		} else {
			svc.Logger.Warn("tools cannot be listed", "error", err, "again", retry)
			timer.Reset(retry)
			retry = min(2*retry, lastRetry)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-again:
		}
		changed, err = svc.list(ctx)
	}
}

// list replaces the server's tools by those of the source. It returns a channel that is closed
// at the next change.
func (svc *service) list(ctx context.Context) (<-chan struct{}, error) {
	changed := svc.Tools.Changed() // before the list, so that no change is missed
	tools, err := svc.Tools.Tools(ctx)
	if err != nil {
		return changed, err
	}
	if len(tools) > svc.Limits.Tools {
		svc.Logger.Warn("some tools are not offered", "count", len(tools), "limit", svc.Limits.Tools)
		tools = tools[:svc.Limits.Tools]
	}
	now := make(map[string]*exposedTool, len(tools))
	var fresh []*mcp.Tool
	for i := range tools {
		if !svc.Choice.Has(tools[i].Name) {
			continue
		}
		t, err := described(&tools[i])
		if err != nil {
			svc.Logger.Warn("a tool is not offered", "tool", tools[i].Name, "error", err)
			continue
		}
		wire, err := json.Marshal(t)
		if err != nil {
			svc.Logger.Warn("a tool is not offered", "tool", t.Name, "error", err)
			continue
		}
		now[t.Name] = &exposedTool{tools[i], wire}
		if old := svc.exposed(t.Name); old == nil || !bytes.Equal(old.wire, wire) {
			fresh = append(fresh, t)
		}
	}
	svc.replace(now, fresh)
	return changed, nil
}

// replace makes now the current tools; fresh are those of them that are new or changed. The SDK
// changes one tool after the other and notifies clients at once, so requests for the list wait
// meanwhile.
func (svc *service) replace(now map[string]*exposedTool, fresh []*mcp.Tool) {
	svc.replacing.Lock()
	defer svc.replacing.Unlock()
	svc.mu.Lock()
	old := svc.tools
	svc.tools = now
	svc.mu.Unlock()
	var gone []string
	for name := range old {
		if now[name] == nil {
			gone = append(gone, name)
		}
	}
	if len(gone) > 0 {
		svc.mcp.RemoveTools(gone...)
	}
	for _, t := range fresh {
		svc.mcp.AddTool(t, svc.handle)
	}
}

// consistent delays requests for the list while the tools are being replaced.
func (svc *service) consistent(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "tools/list" {
			svc.replacing.RLock()
			defer svc.replacing.RUnlock()
		}
		return next(ctx, method, req)
	}
}

func (svc *service) exposed(name string) *exposedTool {
	svc.mu.Lock()
	defer svc.mu.Unlock()
	return svc.tools[name]
}

// described converts a tool to the SDK's type.
func described(t *llm.Tool) (*mcp.Tool, error) {
	if t.Name == "" || t.Call == nil {
		return nil, fmt.Errorf("it has no name or cannot be called")
	}
	schema := t.Input
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(schema, &kind); err != nil || kind.Type != "object" {
		return nil, fmt.Errorf("its schema does not describe an object")
	}
	// Tools may reach agents with unknown effects: the default, an open world, applies.
	notes := &mcp.ToolAnnotations{Title: t.Title, ReadOnlyHint: t.ReadOnly, IdempotentHint: t.Idempotent}
	if !t.ReadOnly {
		notes.DestructiveHint = &t.Destructive
	}
	return &mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: schema, Annotations: notes,
	}, nil
}
