package parley

import (
	"context"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/announce"
	"github.com/parley-a2a/parley/internal/directory/dirstore"
	"github.com/parley-a2a/parley/internal/hub"
	"github.com/parley-a2a/parley/internal/outbound/safedial"
	"github.com/parley-a2a/parley/task"
)

// Directory lists the agents of the hub and remote agents, which callers reach through the hub
// by their names. It fetches the cards of remote agents, probes them, and finds agents by their
// texts. API serves it: /api/v1/agents, where administrators also register agents, and
// /api/v1/search. The zero Directory lists the agents of the hub, those that announce themselves
// on Hub.Queues, and registered ones.
type Directory struct {
	// Agents are remote agents. The first one with a name counts, unless the hub itself has an
	// agent with it. ReadAgents reads them from files. An invalid one is logged, and listed as a
	// problem in /api/v1/agents.
	Agents []RemoteAgent
	// NoAnnouncements ignores the agents that announce themselves on Hub.Queues.
	NoAnnouncements bool
	// Store keeps the registered agents, the announced ones and the last known cards; a
	// sqlitestore.AgentStore is one. If nil, they are kept in memory and end with the process. The
	// credentials of registered agents are sealed with the key in Hub.KeyFile; without it,
	// agents with credentials cannot be registered.
	Store AgentStore
	// Allow are the addresses, beside public ones, that registered agents may have: addresses,
	// ranges, host names, "*.example.com", "loopback", "private" or "all". If empty, registered
	// agents are reached at public addresses only.
	Allow []string
	// Transports are transports to the agents of Agents beside HTTP, such as
	// grpcbind.Transport for gRPC.
	Transports map[a2a.TransportProtocol]Transport
	// Refresh is the interval after which a card is fetched in full again; 10 min. Negative
	// means never.
	Refresh time.Duration
	// Probe is the interval between probes of an agent; 1 min. Negative means never.
	Probe time.Duration
}

// RemoteAgent is an agent at an address. Name and URL are required.
type RemoteAgent struct {
	// Name is the name of the agent in the hub (see task.AgentNamed).
	Name string `json:"name"`
	// URL is the base address of the agent. Its card is fetched there.
	URL string `json:"url"`
	// Tenant is the tenant to address at the URL; empty means none.
	Tenant string `json:"tenant"`
	// Description overrides that of the card if it is not empty.
	Description string `json:"description"`
	// APIKey is sent in the header that the card names, or else in X-API-Key; empty means none.
	APIKey string `json:"apiKey"`
	// Bearer is sent as a bearer token; empty means none.
	Bearer string `json:"bearer"`
	// Header is added to each request. Its values are not treated as secrets.
	Header map[string]string `json:"headers"`
	// Timeout limits the duration of a call; zero means the default of remote.Agent. Files
	// cannot set it.
	Timeout time.Duration `json:"-"`
}

// AgentStore stores the data of a Directory. Its methods are called concurrently.
type AgentStore interface {
	AgentRecords
	AgentValues
}

// AgentRecords stores the registered agents and the last known cards, by the names of agents.
type AgentRecords interface {
	// Records returns all records, sorted by name.
	Records(ctx context.Context) ([]AgentRecord, error)
	// PutRecord stores r, replacing the record with its name.
	PutRecord(ctx context.Context, r *AgentRecord) error
	// DropRecord deletes the record with a name. It is not an error if there is none.
	DropRecord(ctx context.Context, name task.Agent) error
}

// AgentValues stores small values by name: the agents that have announced themselves.
type AgentValues interface {
	// Note returns the note with a name; nil if there is none.
	Note(ctx context.Context, name string) ([]byte, error)
	// PutNote stores a note, replacing the one with its name; a nil note deletes it.
	PutNote(ctx context.Context, name string, note []byte) error
}

// listing returns the configuration of the directory, or nil without one.
func (h *Hub) listing() (*hub.Listing, error) {
	d := h.Directory
	if d == nil {
		return nil, nil
	}
	policy, err := safedial.ParsePolicy(d.Allow)
	if err != nil {
		return nil, fmt.Errorf("Directory.Allow: %w", err)
	}
	store := d.Store
	if store == nil {
		store = new(dirstore.Memory)
	}
	l := &hub.Listing{Reader: hub.NewCardReader(policy), Config: directory.Config{
		Sources: []directory.Source{d.fixed()}, Store: store, Policy: policy.CheckURL, Refresh: d.Refresh, Probe: d.Probe,
	}}
	if h.Queues != nil && !d.NoAnnouncements {
		self := protocol.NewHub(bus.HubKey{Hub: h.Queues.ID})
		if s, ok := h.Queues.Signer.(*bus.Signer); ok {
			self.HubKey = s.HubKey()
		}
		l.Announced = &announce.Source{Bus: h.Queues.Bus, Notes: store, Hub: self, Logger: h.Logger}
	}
	return l, nil
}

// fixed returns the agents of Directory.Agents as a source of the directory.
func (d *Directory) fixed() directory.Source {
	f := hub.FixedAgents{Source: "Directory.Agents"}
	for i := range d.Agents {
		a := &d.Agents[i]
		s := directory.Spec{Name: task.AgentNamed(a.Name), Title: a.Name, URL: a.URL, Description: a.Description, Call: directory.Call{
			Target: a.Tenant, Timeout: a.Timeout, Header: a.Header, Credentials: directory.Credentials{APIKey: a.APIKey, Bearer: a.Bearer},
		}}
		if err := s.Check(); err != nil {
			f.Agents.Problems = append(f.Agents.Problems, err)
			continue
		}
		f.Agents.Specs = append(f.Agents.Specs, s)
	}
	return f
}
