package mcpclient

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
)

// list replaces the client's tools by the current ones of the server.
func (c *Client) list(ctx context.Context, session *mcp.ClientSession) error {
	ctx, stop := context.WithTimeoutCause(ctx, c.Limits.Handshake, errors.New("the server does not list its tools"))
	defer stop()
	var tools []offer
	var known []Described
	left, seen := 0, 0
	names := make(map[string]bool)
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("list tools: %w", cmp.Or(context.Cause(ctx), err))
		}
		if seen++; seen > 10*c.Limits.Tools {
			break // the server might never end the list
		}
		if !c.Choice.Has(t.Name) {
			continue
		}
		tool, ok := c.tool(t)
		if !ok || names[tool.Name] || len(tools) == c.Limits.Tools {
			left++
			continue
		}
		names[tool.Name] = true
		tools = append(tools, tool)
		known = append(known, Described{tool.Name, cmp.Or(clip.Bytes(t.Description, c.Limits.Text), clip.Bytes(title(t), maxTitle))})
	}
	slices.SortFunc(tools, func(a, b offer) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(known, func(a, b Described) int { return cmp.Compare(a.Name, b.Name) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tools, c.known, c.shown = tools, known, nil
	c.status.Tools, c.status.LeftOut = len(tools), left
	if r := session.InitializeResult(); r != nil && r.ServerInfo != nil {
		c.status.Server = clip.Bytes(strings.TrimSpace(r.ServerInfo.Name+" "+r.ServerInfo.Version), 200)
	}
	c.changed.Send()
	return nil
}

// offer is a tool of the server without a description, and the texts for one.
type offer struct {
	llm.Tool

	// about has the words of the server.
	about string
}

// tool returns a tool under its name in the set. It returns false if the schema is too large or
// not that of an object.
func (c *Client) tool(t *mcp.Tool) (offer, bool) {
	schema, err := json.Marshal(t.InputSchema)
	if err != nil || len(schema) > c.Limits.Schema {
		return offer{}, false
	}
	if object, ok := t.InputSchema.(map[string]any); !ok || object["type"] != "object" {
		return offer{}, false
	}
	var texts schemaTexts
	if schema, err = json.Marshal(texts.bare(t.InputSchema, "", 0)); err != nil {
		return offer{}, false
	}
	tool := offer{Tool: llm.Tool{
		Name: ToolName(c.Name, t.Name), Input: schema,
		Call: func(ctx context.Context, call *llm.Call) (*llm.Result, error) {
			return c.call(ctx, t.Name, call)
		},
	}, about: c.aboutTool(t, &texts)}
	if out, err := json.Marshal(t.OutputSchema); err == nil && t.OutputSchema != nil && len(out) <= c.Limits.Schema {
		tool.Output, _ = json.Marshal(new(schemaTexts).bare(t.OutputSchema, "", 0)) // it was JSON before
	}
	if a := t.Annotations; a != nil {
		tool.ReadOnly, tool.Idempotent = a.ReadOnlyHint, a.IdempotentHint
		tool.Destructive = !a.ReadOnlyHint && (a.DestructiveHint == nil || *a.DestructiveHint)
	}
	return tool, true
}

// aboutTool returns the texts of the server about a tool and its arguments.
func (c *Client) aboutTool(t *mcp.Tool, arguments *schemaTexts) string {
	about := clip.Bytes(title(t), maxTitle) + "\n" + clip.Bytes(t.Description, c.Limits.Text) + "\n" + clip.Bytes(arguments.lines.String(), c.Limits.Text)
	return strings.TrimSpace(about)
}

// labelled returns the tools for models with the labels of a guard. c.mu is held.
func (c *Client) labelled(g guard.Guard) []llm.Tool {
	if all, ok := c.shown[g.Policy]; ok {
		return all
	}
	all := make([]llm.Tool, len(c.tools))
	for i := range c.tools {
		all[i] = c.tools[i].Tool
		all[i].Description = c.describe(g, c.tools[i].about)
	}
	if c.shown == nil {
		c.shown = make(map[guard.Policy][]llm.Tool)
	}
	c.shown[g.Policy] = all
	return all
}

// describe returns the description of a tool for a model. All texts of the server have one label:
// the screen finds orders that are spread over them.
func (c *Client) describe(g guard.Guard, about string) string {
	own := "A tool of the MCP server " + plain(c.Name) + "."
	if about == "" {
		return own
	}
	return own + " The server's description of it and of its arguments: " + g.Quote(guard.Server(c.Name), about).Text
}

// maxTitle is the largest number of bytes of a title.
const maxTitle = 200

// title returns the title of a tool, or an empty text.
func title(t *mcp.Tool) string {
	if t.Title == "" && t.Annotations != nil {
		return t.Annotations.Title
	}
	return t.Title
}

// Described is a tool with the server's own description, which carries no label.
type Described struct{ Name, Description string }

// maxName is the largest length of a tool's name.
const maxName = 64

// ToolName returns the name of a server's tool in a Set: mcp__{server}__{tool}. Characters that
// models do not support become "_". A name that is too long is cut and ends with a hash. A hash
// replaces a name whose words are an order to the model.
func ToolName(server, tool string) string {
	name := fit("mcp__" + plain(server) + "__" + plain(tool))
	if guard.IsName(name) {
		return name
	}
	return fit("mcp__" + plain(server) + "__tool_" + digest(tool))
}

func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
}

// call calls a tool. Failures of the server become results that describe them.
func (c *Client) call(ctx context.Context, tool string, call *llm.Call) (*llm.Result, error) {
	session, err := c.ready()
	if err != nil {
		res := c.failed("the MCP server %q %v; try again later, or continue without it", c.Name, err)
		res.Origin = c.origin() // the reason may have texts of the server
		return res, nil
	}
	args := call.Arguments
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(args, &object); err != nil || object == nil {
		return c.failed("arguments is not a JSON object; give an object with the fields of the tool's schema"), nil
	}
	if !c.acquire() {
		return c.failed("%d calls of the MCP server %q are under way, which is the limit; wait until one has ended",
			c.Limits.Calls, c.Name), nil
	}
	defer c.release()
	limited, stop := context.WithTimeout(ctx, c.Limits.Call)
	defer stop()
	params := &mcp.CallToolParams{Name: tool, Arguments: args}
	defer c.listen(params, call.Progress)()
	res, err := session.CallTool(limited, params)
	switch {
	case err == nil:
		return c.result(res), nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case limited.Err() != nil:
		return c.failed("the MCP server %q has not answered within %v; its effects are unknown", c.Name, c.Limits.Call), nil
	}
	return c.refused(err), nil
}

func (c *Client) refused(err error) *llm.Result {
	var answer *jsonrpc.Error
	if errors.As(err, &answer) {
		res := c.failed("the MCP server %q rejected the call: %s", c.Name, clip.Bytes(answer.Message, c.Limits.Text))
		res.Origin = c.origin()
		return res
	}
	var web net.Error
	if !errors.Is(err, mcp.ErrConnectionClosed) && !errors.Is(err, errCutOff) && !broken(err) && !errors.As(err, &web) {
		return c.failed("the MCP server %q has answered with a result that cannot be read: %s", c.Name, clip.Bytes(err.Error(), c.Limits.Text))
	}
	select {
	case c.broken <- fmt.Errorf("%w: %w", errBroke, err):
	default:
	}
	return c.failed("the MCP server %q has ended, and the effects of the call are not known; it is started again", c.Name)
}

func (c *Client) acquire() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == c.Limits.Calls {
		return false
	}
	c.calls++
	return true
}

func (c *Client) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls--
}

// origin returns the Origin of the server's text.
func (c *Client) origin() string { return "mcp:" + c.Name }

func (c *Client) failed(format string, args ...any) *llm.Result {
	return &llm.Result{Error: true, Parts: []*a2a.Part{a2a.NewTextPart(fmt.Sprintf(format, args...))}}
}

// resultFactor is the memory for a result while it is converted, as a multiple of its size.
const resultFactor = 4

// result converts a result of the server.
func (c *Client) result(res *mcp.CallToolResult) *llm.Result {
	var r llm.MCPResult
	b, err := json.Marshal(res)
	defer c.Memory.Count(resultFactor * int64(len(b))).Release()
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		return c.failed("the MCP server %q has answered with something that cannot be read: %v", c.Name, err)
	}
	parts, losses := llm.FromMCPResult(&r)
	for _, l := range llm.Gone(losses) {
		parts = append(parts, a2a.NewTextPart(fmt.Sprintf("(%v)", l)))
	}
	return &llm.Result{Parts: parts, Error: r.IsError, Origin: c.origin()}
}

// listen passes the progress of a call to report, until stop is called.
func (c *Client) listen(params *mcp.CallToolParams, report func(llm.Progress)) (stop func()) {
	if report == nil {
		return func() {}
	}
	token := rand.Text()
	params.SetProgressToken(token)
	c.mu.Lock()
	c.listeners[token] = report
	c.mu.Unlock()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.listeners, token)
	}
}

// progress passes the server's progress of a call on.
func (c *Client) progress(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
	token, _ := req.Params.ProgressToken.(string)
	c.mu.Lock()
	report := c.listeners[token]
	c.mu.Unlock()
	if report == nil {
		return
	}
	text := req.Params.Message
	if text == "" && req.Params.Total > 0 {
		text = fmt.Sprintf("%v of %v", req.Params.Progress, req.Params.Total)
	}
	report(llm.Progress{Agent: c.origin(), Text: clip.Bytes(text, 2<<10)})
}
