package embedded

import (
	"crypto/subtle"
	"log/slog"
	"net"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/bus/job"
	"github.com/parley-a2a/parley/bus/natsbus"
	"github.com/parley-a2a/parley/task"
)

// door decides who gets in, by the token that a client shows.
type door struct {
	hub   string // of the hub itself, within the process
	local string // of bus.json
	agent func(key string) (name string, ok bool)
	log   *slog.Logger
}

// Check implements server.Authentication.
func (d *door) Check(c server.ClientAuthentication) bool {
	token := c.GetOpts().Token
	switch {
	case same(token, d.hub):
		c.RegisterUser(&server.User{Username: "hub"})
		return true
	case same(token, d.local) && near(c.RemoteAddress()):
		c.RegisterUser(&server.User{Username: "local"})
		return true
	case d.agent == nil || token == "":
		return false
	}
	name, ok := d.agent(token)
	if !ok || job.WorkAt(task.Agent(name)).Check() != nil {
		return false
	}
	c.RegisterUser(&server.User{Username: userOf(name), Permissions: permissions(name)})
	d.log.Info("bus: worker connected", "agent", name, "from", c.RemoteAddress().String())
	return true
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// near reports whether a is on this machine.
func near(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

func userOf(agent string) string { return "agent/" + agent }

// permissions are what a worker of an agent needs.
func permissions(agent string) *server.Permissions {
	work := job.WorkAt(task.Agent(agent))
	const stream = natsbus.DefaultStream
	consumer := natsbus.ConsumerName(work)
	return &server.Permissions{
		Publish: &server.SubjectPermission{Allow: []string{
			natsbus.Subject(job.ReportAt("*")), natsbus.Subject(job.ControlAt("*")),
			natsbus.Subject(job.Discovery), natsbus.Subject(bus.Dead),
			"$JS.API.STREAM.INFO." + stream,
			"$JS.API.CONSUMER.INFO." + stream + "." + consumer,
			"$JS.API.CONSUMER.CREATE." + stream + "." + consumer + "." + natsbus.Subject(work),
			"$JS.API.CONSUMER.MSG.NEXT." + stream + "." + consumer,
			"$JS.ACK." + stream + "." + consumer + ".>",
			"$JS.ACK.*.*." + stream + "." + consumer + ".>",
		}},
		Subscribe: &server.SubjectPermission{Allow: []string{
			natsbus.Inbox(agent) + ".>", natsbus.Subject(job.WorkerAt(agent + ".*")), natsbus.Subject(job.Inquiry),
			natsbus.Subject(job.Discovery),
		}},
	}
}
