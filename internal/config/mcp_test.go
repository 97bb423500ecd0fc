package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/config"
)

func parseMCP(t *testing.T, src string) (*config.Config, error) {
	t.Helper()
	return config.Parse("parley.yaml", []byte(src), func(string) (string, bool) { return "", false })
}

func TestMCPServerPrograms(t *testing.T) {
	t.Parallel()
	c, err := parseMCP(t, `mcp_servers:
  - {name: a, command: npx, args: [-y, x]}
  - {name: b, command: npx -y x}
  - {name: c, command: [npx, -y], args: [x]}
  - {name: d, url: "http://x.example/mcp", headers: {x-key: k}}
`)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{{"npx", "-y", "x"}, {"/bin/sh", "-c", "npx -y x"}, {"npx", "-y", "x"}, nil} {
		if diff := cmp.Diff(want, c.MCPServers[i].Program()); diff != "" {
			t.Errorf("program of %s mismatch (-want +got):\n%s", c.MCPServers[i].Name, diff)
		}
	}
	if got := c.MCPServers[3].Header().Get("X-Key"); got != "k" {
		t.Errorf("header = %q", got)
	}
}

func TestMCPProblems(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"mcp_servers: [{command: x}]":                                     "parley.yaml:1: mcp_servers[0].name: is missing",
		"mcp_servers: [{name: a b, command: x}]":                          `mcp_servers[0].name: "a b" is not 1 to 32 letters`,
		"mcp_servers: [{name: a}]":                                        "mcp_servers[0]: needs command or url",
		"mcp_servers: [{name: a, command: x, url: 'http://x'}]":           "mcp_servers[0].url: cannot be combined with command",
		"mcp_servers: [{name: a, url: 'ftp://x'}]":                        `mcp_servers[0].url: "ftp://x" is not a URL`,
		"mcp_servers: [{name: a, url: 'http://x', args: [y]}]":            "args, env and dir need command",
		"mcp_servers: [{name: a, command: x, headers: {k: v}}]":           "mcp_servers[0].headers: need url",
		"mcp_servers: [{name: a, url: 'http://x', headers: {'a b': v}}]":  "mcp_servers[0].headers",
		"mcp_servers: [{name: a, command: x}, {name: a, command: y}]":     `mcp_servers[1].name: duplicate MCP server "a"`,
		"{mcp_services: [{id: a}], mcp_servers: [{name: a, command: y}]}": `mcp_servers[0].name: duplicate MCP server`,
		"mcp_servers: [{name: a, command: x, tools: {allow: ['[x']}}]":    `mcp_servers[0].tools: pattern "[x" is broken`,
		"mcp_servers: [{name: a, command: x, start: soon}]":               "mcp_servers[0].start",
		"mcp_servers: [{name: a, command: x, timeout: soon}]":             "mcp_servers[0].timeout",
		"mcp_servers: [{name: a, comand: x}]":                             "comand",
		"mcp: {allow: ['[x']}":                                            `mcp: pattern "[x" is broken`,
		"mcp: {of: true}":                                                 "mcp.of",
	} {
		_, err := parseMCP(t, src)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a problem with %s", src, err, want)
		}
	}
}
