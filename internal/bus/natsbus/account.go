package natsbus

import (
	"encoding/json"
	"strings"

	"github.com/nats-io/nats.go"
)

// accountPrefix begins the names of accounts.
const accountPrefix = "agent/"

// AccountName returns the name of the account of an agent whose workers identify themselves by
// a key.
func AccountName(agent string) string { return accountPrefix + agent }

// Inbox returns the Options.Inbox of the workers of such an agent; the key permits no other
// one.
func Inbox(agent string) string { return "_INBOX." + agent }

// headerSender is the header that the server writes into messages from another account. It
// overwrites a value of the sender.
const headerSender = "Nats-Request-Info"

// sender returns the agent from whose account a message came, or "".
func (b *Bus) sender(m *nats.Msg) string {
	text := m.Header.Get(headerSender)
	if !b.options.Accounts || text == "" {
		return ""
	}
	var from struct {
		Account string `json:"acc"`
	}
	_ = json.Unmarshal([]byte(text), &from) // an invalid value is not from the server and names no agent
	agent, ok := strings.CutPrefix(from.Account, accountPrefix)
	if !ok {
		return ""
	}
	return agent
}
