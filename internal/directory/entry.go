package directory

import (
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/task"
)

// Entry is a snapshot of an agent in the directory. It is immutable.
type Entry struct {
	// Spec is the Spec of the first source.
	Spec Spec
	// Sources are the names of the sources that name the agent, in order of precedence.
	Sources []string
	// Registered is set if a caller registered the agent, so that callers may change and remove
	// it.
	Registered bool
	// CardChange is the last change of the card since the start of the hub; nil without one.
	CardChange *CardChange

	// Data merged from the Spec and the card.
	Title, Description, Version string
	// ProtocolVersion is the newest version in the card; empty if there is no card.
	ProtocolVersion         string
	Streaming, Push         bool
	Skills                  []Skill
	InputModes, OutputModes []string
	// Extensions are the extensions that the card declares.
	Extensions []a2a.AgentExtension
	// Provider, DocumentationURL and IconURL are those of the card; zero if it has none.
	Provider                  *a2a.AgentProvider
	DocumentationURL, IconURL string
	// Others holds the members of the card that the protocol does not define, see card.Options.
	Others []byte
	// SignedBy is the id of the key that signed the card, if the Fetcher verified the
	// signature. It is empty until this process has read the card.
	SignedBy string
	// CardAt is the time at which the card was last read or found unchanged; zero if there is
	// no card.
	CardAt time.Time

	Health Health
	// Workers is the number of connected workers that have announced themselves for the agent's
	// queue.
	Workers int
	// byBroker reports whether the card prefers its broker address; nil if it names no broker.
	byBroker *bool
	// Problems are for the operator, such as two files naming the same agent, or a missing
	// card.
	Problems []string
}

// Health is the result of the probes of an agent.
type Health struct {
	State State
	// SeenAt is the time of the agent's last answer, in this or an earlier process; zero means
	// never.
	SeenAt time.Time
	// Session is set if SeenAt is from this process.
	Session bool
	// CheckedAt is the time of the last probe, and Latency its duration.
	CheckedAt time.Time
	Latency   time.Duration
	// Failures counts the failed probes since the last answer.
	Failures int
	// Error is the display text of the last probe's error; empty if it succeeded.
	Error string
}

// State is the result of the last probe.
type State uint8

const (
	// Unknown agents have not been probed yet, or are never probed.
	Unknown State = iota
	// Up agents answered the last probe.
	Up
	// Down agents did not answer the last probe.
	Down
	// Gone agents have left: see Spec.Left.
	Gone
)

// String returns the state in lower case.
func (s State) String() string {
	switch s {
	case Up:
		return "up"
	case Down:
		return "down"
	case Gone:
		return "gone"
	}
	return "unknown"
}

// setPresence sets the state of an agent without a URL from its workers.
func (e *Entry) setPresence() {
	switch h := &e.Health; {
	case e.Workers > 0:
		h.State, h.Error = Up, ""
	case e.Spec.Left:
		h.State, h.Error = Gone, "its last worker has left; messages that name it wait for the next one"
	default:
		h.State, h.Error = Unknown, ""
	}
}

// notYetSeen is shown for a well-known agent that has not answered in this session.
const notYetSeen = "well-known (not yet seen this session)"

// LastSeen returns the time of the agent's last answer, or a phrase, for people and models.
func (e *Entry) LastSeen() string {
	switch {
	case e.Spec.Local || e.Spec.Model != nil:
		return "here"
	case e.Spec.WellKnown && !e.Health.Session:
		return notYetSeen
	case e.Health.SeenAt.IsZero():
		return "never"
	}
	return e.Health.SeenAt.UTC().Format(time.RFC3339)
}

// Transport returns the transport for calls of the agent: HTTP, Queue or Exchange.
func (e *Entry) Transport() string {
	s := &e.Spec
	switch {
	case s.Exchange != "" && s.URL == "" && s.Queue == "":
		return Exchange
	case s.Queue == "":
		return HTTP
	case s.URL == "":
		return Queue
	case s.Transport != "":
		return s.Transport
	case e.byBroker != nil && *e.byBroker:
		return Queue
	case e.byBroker != nil:
		return HTTP
	}
	return Queue // without a worker seen, no Queue would be set
}

// Name returns the agent's name in the hub.
func (e *Entry) Name() task.Agent { return e.Spec.Name }

// Card returns the card with which the hub serves the agent. Addresses and security schemes are
// left out; the hub adds its own.
func (e *Entry) Card() *a2a.AgentCard {
	c := &a2a.AgentCard{
		Name: e.Title, Description: e.Description, Version: e.Version,
		Capabilities:       a2a.AgentCapabilities{Streaming: true, Extensions: slices.Clone(e.Extensions)},
		DefaultInputModes:  slices.Clone(e.InputModes),
		DefaultOutputModes: slices.Clone(e.OutputModes),
		Skills:             []a2a.AgentSkill{},
		Provider:           e.Provider,
		DocumentationURL:   e.DocumentationURL,
		IconURL:            e.IconURL,
	}
	for i := range e.Skills {
		s := &e.Skills[i]
		c.Skills = append(c.Skills, a2a.AgentSkill{
			ID: s.ID, Name: s.Name, Description: s.Description, Tags: s.Tags, Examples: s.Examples,
			InputModes: s.InputModes, OutputModes: s.OutputModes,
		})
	}
	return c
}
