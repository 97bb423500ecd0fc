package embedded

import (
	"crypto/subtle"
	"log/slog"
	"net"
	"sync"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/parley-a2a/parley/bus/natsbus"
	"github.com/parley-a2a/parley/bus/protocol"
	"github.com/parley-a2a/parley/task"
)

// door authenticates clients by their token.
type door struct {
	hub   string // of the hub itself, within the process
	local string // of bus.json
	agent func(key, from string) (Pass, bool)
	room  func(agent string) (*server.Account, error)
	log   *slog.Logger
	// open is closed once the stream exists. Before, only the hub may connect: another client
	// would create the stream with other settings.
	open chan struct{}
	once sync.Once
}

// letIn admits clients other than the hub.
func (d *door) letIn() { d.once.Do(func() { close(d.open) }) }

// Check implements server.Authentication.
func (d *door) Check(c server.ClientAuthentication) bool {
	token := c.GetOpts().Token
	if same(token, d.hub) {
		c.RegisterUser(&server.User{Username: "hub"})
		return true
	}
	<-d.open
	switch {
	case same(token, d.local) && near(c.RemoteAddress()):
		c.RegisterUser(&server.User{Username: "local"})
		return true
	case d.agent == nil || token == "":
		return false
	}
	return d.admit(c, token)
}

// admit lets a worker with a key into the room of its agent.
func (d *door) admit(c server.ClientAuthentication, key string) bool {
	from := c.RemoteAddress().String()
	p, ok := d.agent(key, from)
	if !ok || protocol.WorkAt(task.Agent(p.Agent)).Check() != nil {
		return false
	}
	if user := c.GetOpts().Username; user != "" && user != p.Agent {
		d.log.Warn("bus: worker refused: the key is that of another agent", "agent", user, "of", p.Agent, "key", p.Key, "from", from)
		return false
	}
	room, err := d.room(p.Agent)
	if err != nil {
		d.log.Error("bus: worker refused", "agent", p.Agent, "from", from, "error", err)
		return false
	}
	c.RegisterUser(&server.User{
		Username: userOf(p.Key), Account: room, Permissions: permissions(p.Agent), ConnectionDeadline: p.Until,
	})
	// Drop finds the connection from now on. A key that was revoked before fails this second
	// check.
	if again, ok := d.agent(key, from); !ok || again.Agent != p.Agent {
		return false
	}
	d.log.Info("bus: worker connected", "agent", p.Agent, "key", p.Key, "from", from)
	return true
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// near reports whether a is on this machine.
func near(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

func userOf(key string) string { return "key/" + key }

// permissions returns the permissions of a worker of an agent. Its room contains no other
// subjects; the permissions give a client an explicit error.
func permissions(agent string) *server.Permissions {
	n := needs(agent)
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: append(n.asks, n.told...)},
		Subscribe: &server.SubjectPermission{Allow: append(n.hears, natsbus.Inbox(agent)+".>")},
	}
}
