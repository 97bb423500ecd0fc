package config

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/llm"
)

// MCP says what hosts of MCP get that connect to /mcp. Zero means the default that is
// named.
type MCP struct {
	// Off serves nothing there.
	Off bool `yaml:"off"`
	// NoToolbox leaves out the tools to find, call and remember.
	NoToolbox bool `yaml:"no_toolbox"`
	// Bridge adds a tool for each skill of the agents.
	Bridge bool `yaml:"bridge"`
	// Allow are the tools that are offered; if empty, all are. Block are those that are
	// not. Names may have "*" for any characters.
	Allow []string `yaml:"allow"`
	Block []string `yaml:"block"`
}

// Choice returns which tools are offered.
func (m *MCP) Choice() llm.Filter { return llm.Filter{Allow: m.Allow, Block: m.Block} }

// MCPServer is an MCP server whose tools the hub's models may use, and that can be searched
// for.
type MCPServer struct {
	// Name is the name of the server: letters, digits, "_" and "-", at most 32. It is
	// required.
	Name string `yaml:"name"`
	// Summary says what it is for.
	Summary string `yaml:"summary"`
	// Command is the program, and Args are its further arguments. A single text with Args
	// is the name of the program.
	Command Command  `yaml:"command"`
	Args    []string `yaml:"args"`
	// Dir is the folder that the program runs in: that of the file.
	Dir string `yaml:"dir" path:"yes"`
	// Env is added to the hub's environment.
	Env map[string]string `yaml:"env"`
	// URL is the address of a server that is there already, and Headers are sent to it.
	URL     string            `yaml:"url"`
	Headers map[string]string `yaml:"headers"`
	// Tools says which tools count.
	Tools MCPTools `yaml:"tools"`
	// Start is "demand" for a server that is started when its tools are wanted: hub.
	Start string `yaml:"start" enum:"hub,demand"`
	// Timeout is how long a call may take: 2m.
	Timeout Duration `yaml:"timeout"`
	// Calls is how many calls may be under way at one time: 16.
	Calls int `yaml:"calls"`
	// MaxTools is how many tools count: 200.
	MaxTools int `yaml:"max_tools"`
	// MaxMessage is the largest message of the server: 16MiB.
	MaxMessage Size `yaml:"max_message"`
}

// MCPTools are tools of an MCP server by their names, which may have "*" for any
// characters.
type MCPTools struct {
	// Allow are those that count; if empty, all do.
	Allow []string `yaml:"allow"`
	// Block are those that do not.
	Block []string `yaml:"block"`
}

// Choice returns which tools count.
func (t *MCPTools) Choice() llm.Filter { return llm.Filter{Allow: t.Allow, Block: t.Block} }

// Program returns the program and its arguments; nil for a server on the web.
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

// Header returns what is sent to a server on the web.
func (s *MCPServer) Header() http.Header {
	h := make(http.Header, len(s.Headers))
	for name, value := range s.Headers {
		h.Set(name, value)
	}
	return h
}

// serverName is what stands in the names of tools without changing a letter.
var serverName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// checkMCP notes what is wrong with what is said about MCP.
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
			d.Problem(nil, key+".name", "there is another MCP server %q", yamlfile.Clip(s.Name))
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
		d.Problem(nil, key+".url", "stands beside command; a server has one of them")
	case !program && s.URL == "":
		d.Problem(nil, key, "needs command or url")
	case !program && (len(s.Args) > 0 || len(s.Env) > 0 || s.Dir != ""):
		d.Problem(nil, key, "args, env and dir need command")
	case program && len(s.Headers) > 0:
		d.Problem(nil, key+".headers", "need url")
	}
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
