package embedded

import (
	"crypto/subtle"
	"log/slog"
	"net"
	"sync"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/task"
)

// authenticator authenticates clients by their token.
type authenticator struct {
	hub     string // of the hub itself, within the process
	local   string // of bus.json
	agent   func(key, from string) (Credential, bool)
	account func(agent string) (*server.Account, error)
	log     *slog.Logger
	// open is closed once the stream exists. Before, only the hub may connect: another client
	// would create the stream with other settings.
	open chan struct{}
	once sync.Once
}

// admitClients admits clients other than the hub.
func (a *authenticator) admitClients() { a.once.Do(func() { close(a.open) }) }

// Check implements server.Authentication.
func (a *authenticator) Check(c server.ClientAuthentication) bool {
	token := c.GetOpts().Token
	if equalTokens(token, a.hub) {
		c.RegisterUser(&server.User{Username: "hub"})
		return true
	}
	<-a.open
	switch {
	case equalTokens(token, a.local) && isLocal(c.RemoteAddress()):
		c.RegisterUser(&server.User{Username: "local"})
		return true
	case a.agent == nil || token == "":
		return false
	}
	return a.admitWorker(c, token)
}

// admitWorker lets a worker with a key into the account of its agent.
func (a *authenticator) admitWorker(c server.ClientAuthentication, key string) bool {
	from := c.RemoteAddress().String()
	p, ok := a.agent(key, from)
	if !ok || protocol.JobAt(task.Agent(p.Agent)).Check() != nil {
		return false
	}
	if user := c.GetOpts().Username; user != "" && user != p.Agent {
		a.log.Warn("bus: worker rejected: the key belongs to another agent", "agent", user, "of", p.Agent, "key", p.Key, "from", from)
		return false
	}
	account, err := a.account(p.Agent)
	if err != nil {
		a.log.Error("bus: worker rejected", "agent", p.Agent, "from", from, "error", err)
		return false
	}
	c.RegisterUser(&server.User{
		Username: userOf(p.Key), Account: account, Permissions: permissions(p.Agent), ConnectionDeadline: p.Until,
	})
	// Drop finds the connection from now on. A key that was revoked before fails this second
	// check.
	if again, ok := a.agent(key, from); !ok || again.Agent != p.Agent {
		return false
	}
	a.log.Info("bus: worker connected", "agent", p.Agent, "key", p.Key, "from", from)
	return true
}

func equalTokens(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// isLocal reports whether a is on this machine.
func isLocal(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

func userOf(key string) string { return "key/" + key }

// permissions returns the permissions of a worker of an agent. Its account contains no other
// subjects; the permissions give a client an explicit error.
func permissions(agent string) *server.Permissions {
	n := subjectsOf(agent)
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: append(n.requests, n.streamed...)},
		Subscribe: &server.SubjectPermission{Allow: append(n.subscribed, natsbus.Inbox(agent)+".>")},
	}
}
