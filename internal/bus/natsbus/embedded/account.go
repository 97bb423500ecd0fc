package embedded

import (
	"errors"
	"fmt"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/task"
)

// Each agent with a key has an account of its own on the server. Messages enter
// and leave an account only by imports. A response of the server therefore stays in the account,
// whatever subject a client names for it. The server also writes the name of the sender's account
// into each message (natsbus.Options.Accounts).

// subjects are the subjects that a worker of an agent needs.
type subjects struct {
	// requests and streamed are subjects at which the worker publishes; those in streamed have
	// several responses.
	requests, streamed []string
	// subscribed are subjects at which the worker subscribes.
	subscribed []string
}

const stream = natsbus.DefaultStream

// subjectsOf returns the subjects of the agent with a name; those of all agents if it is "*".
func subjectsOf(agent string) subjects {
	work := protocol.JobAt(task.Agent(agent))
	consumer := natsbus.ConsumerName(work)
	create := consumer + "." + natsbus.Subject(work)
	if agent == "*" {
		consumer, create = "*", "*.>"
	}
	return subjects{
		requests: []string{
			natsbus.Subject(protocol.ReportAt("*")), natsbus.Subject(protocol.ControlAt("*")),
			natsbus.Subject(protocol.Discovery), natsbus.Subject(bus.Dead),
			"$JS.API.CONSUMER.INFO." + stream + "." + consumer,
			"$JS.API.CONSUMER.CREATE." + stream + "." + create,
			"$JS.ACK." + stream + "." + consumer + ".>",
			"$JS.ACK.*.*." + stream + "." + consumer + ".>",
		},
		streamed:   []string{"$JS.API.CONSUMER.MSG.NEXT." + stream + "." + consumer},
		subscribed: []string{natsbus.Subject(protocol.WorkerAt(agent + ".*")), natsbus.Subject(protocol.Inquiry)},
	}
}

// exports makes the subjects of the hub's account available for import into the accounts of
// agents.
func (s *Server) exports() error {
	hub, all := s.server.GlobalAccount(), subjectsOf("*")
	var err error
	for _, subject := range all.requests {
		err = errors.Join(err, hub.AddServiceExport(subject, nil))
	}
	for _, subject := range all.streamed {
		err = errors.Join(err, hub.AddServiceExportWithResponse(subject, server.Streamed, nil))
	}
	for _, subject := range []string{natsbus.Subject(protocol.WorkerAt(">")), natsbus.Subject(protocol.Inquiry)} {
		err = errors.Join(err, hub.AddStreamExport(subject, nil))
	}
	return err
}

// account returns the account of an agent; it creates the account at the first connection.
func (s *Server) account(agent string) (*server.Account, error) {
	s.accountsMu.Lock()
	defer s.accountsMu.Unlock()
	if a := s.accounts[agent]; a != nil {
		return a, nil
	}
	a, err := s.server.RegisterAccount(natsbus.AccountName(agent))
	if err != nil {
		return nil, fmt.Errorf("account of agent %q: %w", agent, err)
	}
	hub, own := s.server.GlobalAccount(), subjectsOf(agent)
	for _, subject := range append(own.requests, own.streamed...) {
		err = errors.Join(err, a.AddServiceImport(hub, subject, subject))
	}
	for _, subject := range own.subscribed {
		err = errors.Join(err, a.AddStreamImport(hub, subject, ""))
	}
	if err != nil {
		return nil, fmt.Errorf("account of agent %q: %w", agent, err)
	}
	s.accounts[agent] = a
	return a, nil
}
