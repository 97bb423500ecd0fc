package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/llm"
)

// offer is a tool in the form for the caller.
type offer struct {
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
func (d *desk) follow(ctx context.Context, changed <-chan struct{}, err error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	retry := firstRetry
	for {
		again := timer.C
		if err == nil {
			again, retry = nil, firstRetry
		} else {
			d.Logger.Warn("tools cannot be listed", "error", err, "again", retry)
			timer.Reset(retry)
			retry = min(2*retry, lastRetry)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-again:
		}
		changed, err = d.list(ctx)
	}
}

// list replaces the server's tools by those of the source. It returns a channel that is closed
// at the next change.
func (d *desk) list(ctx context.Context) (<-chan struct{}, error) {
	changed := d.Tools.Changed() // before the list, so that no change is missed
	tools, err := d.Tools.Tools(ctx)
	if err != nil {
		return changed, err
	}
	if len(tools) > d.Limits.Tools {
		d.Logger.Warn("some tools are not offered", "count", len(tools), "limit", d.Limits.Tools)
		tools = tools[:d.Limits.Tools]
	}
	now := make(map[string]*offer, len(tools))
	var fresh []*mcp.Tool
	for i := range tools {
		if !d.Choice.Has(tools[i].Name) {
			continue
		}
		t, err := described(&tools[i])
		if err != nil {
			d.Logger.Warn("a tool is not offered", "tool", tools[i].Name, "error", err)
			continue
		}
		wire, err := json.Marshal(t)
		if err != nil {
			d.Logger.Warn("a tool is not offered", "tool", t.Name, "error", err)
			continue
		}
		now[t.Name] = &offer{tools[i], wire}
		if old := d.offered(t.Name); old == nil || !bytes.Equal(old.wire, wire) {
			fresh = append(fresh, t)
		}
	}
	d.replace(now, fresh)
	return changed, nil
}

// replace makes now the current tools; fresh are those of them that are new or changed. The SDK
// changes one tool after the other and notifies clients at once, so requests for the list wait
// meanwhile.
func (d *desk) replace(now map[string]*offer, fresh []*mcp.Tool) {
	d.replacing.Lock()
	defer d.replacing.Unlock()
	d.mu.Lock()
	old := d.tools
	d.tools = now
	d.mu.Unlock()
	var gone []string
	for name := range old {
		if now[name] == nil {
			gone = append(gone, name)
		}
	}
	if len(gone) > 0 {
		d.mcp.RemoveTools(gone...)
	}
	for _, t := range fresh {
		d.mcp.AddTool(t, d.handle)
	}
}

// whole delays requests for the list while the tools are being replaced.
func (d *desk) whole(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "tools/list" {
			d.replacing.RLock()
			defer d.replacing.RUnlock()
		}
		return next(ctx, method, req)
	}
}

func (d *desk) offered(name string) *offer {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tools[name]
}

// described converts a tool to the SDK's type.
func described(t *llm.Tool) (*mcp.Tool, error) {
	if t.Name == "" || t.Call == nil {
		return nil, fmt.Errorf("it has no name, or cannot be called")
	}
	schema := t.Input
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(schema, &kind); err != nil || kind.Type != "object" {
		return nil, fmt.Errorf("its schema is not that of an object")
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
