package natsbus

import (
	"encoding/json"
	"strings"

	"github.com/nats-io/nats.go"
)

// roomPrefix begins the names of rooms.
const roomPrefix = "agent/"

// Room returns the name of the account of an agent whose workers identify themselves by a key.
func Room(agent string) string { return roomPrefix + agent }

// Inbox returns the Options.Inbox of the workers of such an agent; the key permits no other
// one.
func Inbox(agent string) string { return "_INBOX." + agent }

// headerSender is the header that the server writes into messages from another account. It
// overwrites a value of the sender.
const headerSender = "Nats-Request-Info"

// sender returns the agent from whose room a message came, or "".
func (b *Bus) sender(m *nats.Msg) string {
	text := m.Header.Get(headerSender)
	if !b.options.Rooms || text == "" {
		return ""
	}
	var from struct {
		Account string `json:"acc"`
	}
	_ = json.Unmarshal([]byte(text), &from) // an invalid value is not from the server and names no agent
	agent, ok := strings.CutPrefix(from.Account, roomPrefix)
	if !ok {
		return ""
	}
	return agent
}
