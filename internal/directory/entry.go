package directory

import (
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/task"
)

// Entry is an agent of the directory, as it was at one moment. It is not changed.
type Entry struct {
	// Spec is what the first of Sources says.
	Spec Spec
	// Sources are the names of the sources that know the agent, the one that counts
	// first.
	Sources []string
	// Registered is set if it is a caller who has registered the agent, so that callers
	// may change and remove it.
	Registered bool

	// What is known of the agent, from its Spec and its card.
	Title, Description, Version string
	// ProtocolVersion is the newest that the card names; empty while there is no card.
	ProtocolVersion         string
	Streaming, Push         bool
	Skills                  []Skill
	InputModes, OutputModes []string
	// Extensions are those that the card declares.
	Extensions []a2a.AgentExtension
	// Others are the members of the card that the protocol does not have: see card.Options.
	Others []byte
	// SignedBy is the id of the key that signed the card, if the Fetcher has verified that;
	// empty until a card was read in this process.
	SignedBy string
	// CardAt is when the card was last read, or found unchanged; zero if there is none.
	CardAt time.Time

	Health Health
	// Workers is how many workers have announced themselves for the agent's queue and are
	// there.
	Workers int
	// byBroker says what the card prefers, if it names a broker; nil if it does not.
	byBroker *bool
	// Problems are what an operator should know: two files that name the same agent, a
	// card that is not there.
	Problems []string
}

// Health is what is known of whether an agent answers.
type Health struct {
	State State
	// SeenAt is when the agent last answered in this process or, if it has not, in an
	// earlier one; zero means never.
	SeenAt time.Time
	// Session is set if that was in this process.
	Session bool
	// CheckedAt is when the agent was last asked for its card, and Latency how long it
	// took to answer.
	CheckedAt time.Time
	Latency   time.Duration
	// Failures is how often it has failed to answer since it did.
	Failures int
	// Error is why it did not the last time, for a person.
	Error string
}

// State says whether an agent answers.
type State uint8

const (
	// Unknown agents were not asked yet, or are never asked.
	Unknown State = iota
	// Up agents have answered the last time.
	Up
	// Down agents have not.
	Down
)

// String returns the state in lower case.
func (s State) String() string {
	switch s {
	case Up:
		return "up"
	case Down:
		return "down"
	}
	return "unknown"
}

// notYetSeen is what is shown of an agent that a list names as always there.
const notYetSeen = "well-known (not yet seen this session)"

// LastSeen says when the agent was last seen, for a person and for a model.
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

// Transport says how the agent is called: HTTP, Queue or RockBot.
func (e *Entry) Transport() string {
	s := &e.Spec
	switch {
	case s.RockBot != "" && s.URL == "" && s.Queue == "":
		return RockBot
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
	return Queue // nobody would know of it if no worker had been seen
}

// Name returns the agent's name in the hub.
func (e *Entry) Name() task.Agent { return e.Spec.Name }

// Card returns the card with which the hub serves the agent: what is known of it,
// without addresses and credentials, which are the hub's.
func (e *Entry) Card() *a2a.AgentCard {
	c := &a2a.AgentCard{
		Name: e.Title, Description: e.Description, Version: e.Version,
		Capabilities:       a2a.AgentCapabilities{Streaming: true, Extensions: slices.Clone(e.Extensions)},
		DefaultInputModes:  slices.Clone(e.InputModes),
		DefaultOutputModes: slices.Clone(e.OutputModes),
		Skills:             []a2a.AgentSkill{},
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
