package server

import (
	"cmp"
	"context"
	"sync"

	"github.com/parley-a2a/parley/internal/agents/command"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/hub"
	"github.com/parley-a2a/parley/internal/llm/mcp/endpoint"
	"github.com/parley-a2a/parley/internal/llm/mcp/mcpclient"
	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/version"
)

// mcpServers creates the clients of the configured MCP servers, which runMCPServers runs.
func (h *Hub) mcpServers() *mcpclient.Set {
	s := new(mcpclient.Set)
	memory := &membudget.Budget{Max: cmp.Or(int64(h.cfg.Limits.Memory), membudget.Default()) / 2}
	for i := range h.cfg.MCPServers {
		s.Clients = append(s.Clients, h.mcpClient(&h.cfg.MCPServers[i], memory))
	}
	return s
}

func (h *Hub) mcpClient(m *config.MCPServer, memory *membudget.Budget) *mcpclient.Client {
	c := &mcpclient.Client{
		Name: m.Name, URL: m.URL, Header: m.Header(), Lazy: m.Start == "demand", Choice: m.Tools.Choice(),
		Version: version.Version, Logger: h.logger, Guard: h.cfg.Safety.Guard(), Memory: memory,
		Limits: mcpclient.Limits{
			Call: duration(m.Timeout), Calls: m.Calls, Tools: m.MaxTools, Message: int(m.MaxMessage),
		},
	}
	if program := m.Program(); program != nil {
		run := &command.Companion{Command: program, Dir: m.Dir, Env: config.Variables(m.Env), Runs: h.runs()}
		c.Start = func() (mcpclient.Program, error) { return run.Start() }
	}
	return c
}

// runMCPServers keeps the servers running, and their entries in the directory current, until
// ctx ends.
func (h *Hub) runMCPServers(ctx context.Context) error {
	if len(h.servers.Clients) == 0 {
		return nil
	}
	var telling sync.WaitGroup
	defer telling.Wait()
	telling.Go(func() { h.indexServers(ctx) })
	return h.servers.Run(ctx)
}

// indexServers updates the directory entries of the servers until ctx ends.
func (h *Hub) indexServers(ctx context.Context) {
	d := h.core.Directory()
	if d == nil {
		return
	}
	for {
		changed := h.servers.Changed()
		for i, c := range h.servers.Clients {
			d.PutService(service(&h.cfg.MCPServers[i], c))
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// service returns the directory entry of a server.
func service(m *config.MCPServer, c *mcpclient.Client) *directory.Service {
	s := &directory.Service{ID: m.Name, Summary: m.Summary}
	for _, t := range c.Known() {
		s.Tools = append(s.Tools, directory.Tool(t))
	}
	return s
}

// serverStatus returns the states of the servers for administrators.
func (h *Hub) serverStatus() []adminapi.MCPServer {
	var all []adminapi.MCPServer
	for _, s := range h.servers.Status() {
		all = append(all, adminapi.MCPServer(s))
	}
	return all
}

// mcp returns the endpoint /mcp, or nil if it is off.
func (h *Hub) mcp() hub.MCP {
	c := &h.cfg.MCP
	if c.Off || h.cfg.Conformance {
		return nil
	}
	return &endpoint.Endpoint{
		URL: cmp.Or(h.cfg.PublicURL, h.URL()), Version: version.Version, NoToolbox: c.NoToolbox, Bridge: c.Bridge, Choice: c.Choice(),
		Guard: h.cfg.Safety.Guard(), WriteTime: duration(h.cfg.Limits.WriteTime), KeepAlive: duration(h.cfg.Limits.KeepAlive), MaxMessage: int(h.cfg.Limits.Body), Logger: h.logger,
	}
}
