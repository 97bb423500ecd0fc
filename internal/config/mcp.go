package config

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/internal/llm"
)

// MCP configures the MCP server at /mcp. Zero fields mean the defaults.
type MCP struct {
	// Off disables the server.
	Off bool `yaml:"off"`
	// NoToolbox omits the tools for searching, calling and memory.
	NoToolbox bool `yaml:"no_toolbox"`
	// Bridge adds a tool for each skill of the agents.
	Bridge bool `yaml:"bridge"`
	// Allow are the tools to offer; if empty, all. Block are tools not to offer. In names, "*"
	// matches any characters.
	Allow []string `yaml:"allow"`
	Block []string `yaml:"block"`
}

// Choice returns the filter of offered tools.
func (m *MCP) Choice() llm.Filter { return llm.Filter{Allow: m.Allow, Block: m.Block} }

// MCPServer is an MCP server whose tools the hub's models may use, and which searches find.
type MCPServer struct {
	// Name is the name of the server: letters, digits, "_" and "-", at most 32. It is
	// required.
	Name string `yaml:"name"`
	// Summary describes the purpose of the server.
	Summary string `yaml:"summary"`
	// Command is the program, and Args are further arguments. With Args, a single text is the
	// name of the program.
	Command Command  `yaml:"command"`
	Args    []string `yaml:"args"`
	// Dir is the working directory of the program. The default is the folder of the file.
	Dir string `yaml:"dir" path:"yes"`
	// Env has the variables that the program gets beside PATH, HOME and the like.
	Env map[string]string `yaml:"env"`
	// URL is the address of a running server, and Headers are sent to it.
	URL     string            `yaml:"url"`
	Headers map[string]string `yaml:"headers"`
	// Tools selects the tools to use.
	Tools MCPTools `yaml:"tools"`
	// Start is "demand" for a server that is started when a tool is needed. The default is hub.
	Start string `yaml:"start" enum:"hub,demand"`
	// Timeout is the time limit of a call. The default is 2m.
	Timeout Duration `yaml:"timeout"`
	// Calls is the largest number of concurrent calls. The default is 16.
	Calls int `yaml:"calls"`
	// MaxTools is the largest number of tools to use. The default is 200.
	MaxTools int `yaml:"max_tools"`
	// MaxMessage is the largest message of the server. The default is 16MiB.
	MaxMessage Size `yaml:"max_message"`
}

// MCPTools selects tools of an MCP server by name. In names, "*" matches any characters.
type MCPTools struct {
	// Allow are the tools to use; if empty, all.
	Allow []string `yaml:"allow"`
	// Block are the tools not to use.
	Block []string `yaml:"block"`
}

// Choice returns the filter of used tools.
func (t *MCPTools) Choice() llm.Filter { return llm.Filter{Allow: t.Allow, Block: t.Block} }

// Program returns the program and its arguments; nil for a server with a URL.
func (s *MCPServer) Program() []string {
	c := s.Command
	if len(s.Args) > 0 && len(c) == 3 && c[0] == "/bin/sh" && c[1] == "-c" {
		c = c[2:]
	}
	if len(c) == 0 {
		return nil
	}
	return slices.Concat(c, s.Args)
}

// Header returns the headers to send to a server with a URL.
func (s *MCPServer) Header() http.Header {
	h := make(http.Header, len(s.Headers))
	for name, value := range s.Headers {
		h.Set(name, value)
	}
	return h
}

// serverName matches server names that tool names contain unchanged.
var serverName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// checkMCP reports the problems of the MCP settings.
func checkMCP(d *yamlfile.Decoder, c *Config) {
	checkChoice(d, "mcp", c.MCP.Choice())
	seen := make(map[string]bool)
	for i := range c.MCPServices {
		seen[c.MCPServices[i].ID] = true
	}
	for i := range c.MCPServers {
		s, key := &c.MCPServers[i], "mcp_servers["+strconv.Itoa(i)+"]"
		checkMCPServer(d, key, s)
		if seen[s.Name] && s.Name != "" {
			d.Problem(nil, key+".name", "duplicate MCP server %q", yamlfile.Clip(s.Name))
		}
		seen[s.Name] = true
	}
}

func checkMCPServer(d *yamlfile.Decoder, key string, s *MCPServer) {
	switch {
	case s.Name == "":
		d.Problem(nil, key+".name", "is missing")
	case !serverName.MatchString(s.Name):
		d.Problem(nil, key+".name", "%q is not 1 to 32 letters, digits, _ and -", yamlfile.Clip(s.Name))
	}
	switch program := len(s.Command) > 0; {
	case program && s.URL != "":
		d.Problem(nil, key+".url", "cannot be combined with command")
	case !program && s.URL == "":
		d.Problem(nil, key, "needs command or url")
	case !program && (len(s.Args) > 0 || len(s.Env) > 0 || s.Dir != ""):
		d.Problem(nil, key, "args, env and dir need command")
	case program && len(s.Headers) > 0:
		d.Problem(nil, key+".headers", "need url")
	}
	checkVariables(d, key+".env", s.Env)
	if s.URL != "" {
		checkURL(d, key+".url", s.URL)
	}
	for name, value := range s.Headers {
		if name == "" || strings.ContainsAny(name, " :\r\n") || strings.ContainsAny(value, "\r\n") {
			d.Problem(nil, key+".headers", "%q cannot be a header with that value", yamlfile.Clip(name))
		}
	}
	checkChoice(d, key+".tools", s.Tools.Choice())
}

func checkChoice(d *yamlfile.Decoder, key string, c llm.Filter) {
	if err := c.Check(); err != nil {
		d.Problem(nil, key, "%v", err)
	}
}
