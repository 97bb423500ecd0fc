package guard

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// Origin names the author of a text, in the form of the labels of envelopes on the bus:
// "caller", or a kind and a name as in "agent/weather". The zero Origin is unknown.
type Origin string

// Caller is the origin of text from the principal of a task.
const Caller Origin = "caller"

// Hub is the origin of answers of the hub that may repeat text of others.
const Hub Origin = "hub"

// Agent is the origin of text from an agent.
func Agent(name string) Origin { return origin("agent", name) }

// Card is the origin of text from the card of an agent.
func Card(agent string) Origin { return origin("card", agent) }

// Server is the origin of text from an MCP server, including the descriptions of its tools.
func Server(name string) Origin { return origin("mcp", name) }

// Note is the origin of text from a note.
func Note(session string) Origin { return origin("note", session) }

func origin(kind, name string) Origin { return Origin(kind + "/" + name) }

// maxOrigin is the largest number of bytes of an origin in a label.
const maxOrigin = 120

// String returns o as shown in a label. Names are foreign text as well, so it keeps only
// letters, digits and a few signs. A hash replaces a name whose words are an order.
func (o Origin) String() string {
	if o == "" {
		return "unknown"
	}
	plain := o.plain()
	if _, name, ok := strings.Cut(plain, "/"); ok && !harmless(name) {
		return o.hashed()
	}
	return plain
}

// outside returns o as shown outside of a label: a hash replaces a name that is no plain one.
func (o Origin) outside() string {
	if _, name, ok := strings.Cut(string(o), "/"); ok && !IsName(name) {
		return o.hashed()
	}
	return o.String()
}

func (o Origin) hashed() string {
	kind, _, _ := strings.Cut(o.plain(), "/")
	sum := sha256.Sum256([]byte(o))
	return kind + "/" + hex.EncodeToString(sum[:5])
}

// plain returns o without the characters that a label cannot have.
func (o Origin) plain() string {
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
