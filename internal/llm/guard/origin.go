package guard

import (
	"strings"
	"unicode/utf8"
)

// Origin says whose words a text is, in the form of the labels of envelopes on the bus:
// "caller", or a kind and a name as in "agent/weather". The zero Origin is not known.
type Origin string

// Caller is the origin of what the principal says for whom a task is performed.
const Caller Origin = "caller"

// Agent is the origin of what an agent says.
func Agent(name string) Origin { return origin("agent", name) }

// Card is the origin of what the card of an agent says.
func Card(agent string) Origin { return origin("card", agent) }

// Server is the origin of what an MCP server says, its tools' descriptions included.
func Server(name string) Origin { return origin("mcp", name) }

// Web is the origin of what was fetched from a host.
func Web(host string) Origin { return origin("web", host) }

func origin(kind, name string) Origin { return Origin(kind + "/" + name) }

// maxOrigin is how many bytes of an origin a label shows.
const maxOrigin = 120

// String returns o as a label shows it: names are strangers' words too, so that only
// letters, digits and a few signs are left of them.
func (o Origin) String() string {
	if o == "" {
		return "unknown"
	}
	s := string(o[:min(len(o), maxOrigin)])
	for len(s) > 0 && !utf8.ValidString(s) && len(o) > maxOrigin && len(s) > maxOrigin-utf8.UTFMax {
		s = s[:len(s)-1]
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("/._:@-", r):
			return r
		}
		return '_'
	}, s)
}
