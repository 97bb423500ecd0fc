package embedded

import (
	"errors"
	"fmt"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/bus/natsbus"
	"github.com/parley-a2a/parley/bus/protocol"
	"github.com/parley-a2a/parley/task"
)

// Each agent with a key has an account of its own on the server, called its room. Messages
// enter and leave a room only by imports. A response of the server therefore stays in the room,
// whatever subject a client names for it. The server also writes the name of the sender's room
// into each message (natsbus.Options.Rooms).

// subjects are the subjects that a worker of an agent needs.
type subjects struct {
	// asks and told are subjects at which the worker publishes; those in told have several
	// responses.
	asks, told []string
	// hears are subjects at which the worker subscribes.
	hears []string
}

const stream = natsbus.DefaultStream

// needs returns the subjects of the agent with a name; those of all agents if it is "*".
func needs(agent string) subjects {
	work := protocol.WorkAt(task.Agent(agent))
	consumer := natsbus.ConsumerName(work)
	create := consumer + "." + natsbus.Subject(work)
	if agent == "*" {
		consumer, create = "*", "*.>"
	}
	return subjects{
		asks: []string{
			natsbus.Subject(protocol.ReportAt("*")), natsbus.Subject(protocol.ControlAt("*")),
			natsbus.Subject(protocol.Discovery), natsbus.Subject(bus.Dead),
			"$JS.API.CONSUMER.INFO." + stream + "." + consumer,
			"$JS.API.CONSUMER.CREATE." + stream + "." + create,
			"$JS.ACK." + stream + "." + consumer + ".>",
			"$JS.ACK.*.*." + stream + "." + consumer + ".>",
		},
		told:  []string{"$JS.API.CONSUMER.MSG.NEXT." + stream + "." + consumer},
		hears: []string{natsbus.Subject(protocol.WorkerAt(agent + ".*")), natsbus.Subject(protocol.Inquiry)},
	}
}

// exports makes the subjects of the hub's account available for import into rooms.
func (s *Server) exports() error {
	hub, all := s.server.GlobalAccount(), needs("*")
	var err error
	for _, subject := range all.asks {
		err = errors.Join(err, hub.AddServiceExport(subject, nil))
	}
	for _, subject := range all.told {
		err = errors.Join(err, hub.AddServiceExportWithResponse(subject, server.Streamed, nil))
	}
	for _, subject := range []string{natsbus.Subject(protocol.WorkerAt(">")), natsbus.Subject(protocol.Inquiry)} {
		err = errors.Join(err, hub.AddStreamExport(subject, nil))
	}
	return err
}

// room returns the account of an agent; it creates the account at the first connection.
func (s *Server) room(agent string) (*server.Account, error) {
	s.entering.Lock()
	defer s.entering.Unlock()
	if a := s.rooms[agent]; a != nil {
		return a, nil
	}
	a, err := s.server.RegisterAccount(natsbus.Room(agent))
	if err != nil {
		return nil, fmt.Errorf("room of agent %q: %w", agent, err)
	}
	hub, own := s.server.GlobalAccount(), needs(agent)
	for _, subject := range append(own.asks, own.told...) {
		err = errors.Join(err, a.AddServiceImport(hub, subject, subject))
	}
	for _, subject := range own.hears {
		err = errors.Join(err, a.AddStreamImport(hub, subject, ""))
	}
	if err != nil {
		return nil, fmt.Errorf("room of agent %q: %w", agent, err)
	}
	s.rooms[agent] = a
	return a, nil
}
