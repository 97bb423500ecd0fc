package directory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/task"
)

// Skill is a skill of an agent (specification §4.4.5).
type Skill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name,omitempty"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Examples    []string `json:"examples,omitempty"`
	InputModes  []string `json:"inputModes,omitempty"`
	OutputModes []string `json:"outputModes,omitempty"`
}

// Trust says whether an agent does what everybody asks.
type Trust string

// An agent that is Gated does what its callers are trusted with, one that is Open does what
// they ask.
const (
	Open  Trust = "open"
	Gated Trust = "gated"
)

// Spec is what a source says of an agent. What it leaves out, the agent's card says.
type Spec struct {
	// Name is the agent's name in the hub, see NameOf. It is required.
	Name task.Agent `json:"name"`
	// Title is the name as people write it. If empty, it is Name.
	Title string `json:"title,omitempty"`
	// Queue is the agent's name on the bus, if workers at a queue perform its tasks; Serial
	// is set if those of one context come one after the other.
	Queue  task.Agent `json:"queue,omitempty"`
	Serial bool       `json:"serial,omitempty"`
	// RockBot is the agent's name on RockBot's exchange, if it is reached there.
	RockBot task.Agent `json:"rockBot,omitempty"`
	// Transport says how an agent is called that has a URL and a queue: "http" or "queue".
	// If empty, its card says it: the first of its interfaces, if one of them is that of a
	// broker. If that says nothing, it is "queue" once a worker was seen.
	Transport string `json:"transport,omitempty"`
	// URL is where the agent is. It is required, unless the agent is local or at a queue. It is also
	// where the agent is called, whatever its card says, unless Call.FollowCard is set.
	URL string `json:"url,omitempty"`
	// Description and Version take the place of those of the card.
	Description string `json:"description,omitempty"`
	Version     string `json:"version,omitempty"`
	// Skills take the place of those of the card with the same id, field by field; they
	// stay when the card has none such.
	Skills []Skill `json:"skills,omitempty"`
	// Extensions count where the card has none.
	Extensions []a2a.AgentExtension `json:"extensions,omitempty"`
	// Streaming says whether the agent streams, whatever its card says; nil leaves it to
	// the card.
	Streaming *bool `json:"streaming,omitempty"`
	// Pinned says that the Spec says all there is to know: nothing is fetched.
	Pinned bool `json:"pinned,omitempty"`
	// Local is set for an agent of the hub itself, which nobody fetches or probes.
	Local bool `json:"local,omitempty"`
	// WellKnown is set for an agent of a list that says who is always there: it is shown
	// as such until it answers.
	WellKnown bool `json:"wellKnown,omitempty"`
	// Guarded is set for an agent that somebody else than the operator has named. It is
	// reached at public addresses only, unless the operator allows more.
	Guarded bool `json:"guarded,omitempty"`
	// Trust says whether the agent does what everybody asks; empty leaves that to the hub.
	Trust Trust `json:"trust,omitempty"`
	// GatedSkills are those alone that are gated where Trust is not Gated.
	GatedSkills []string `json:"gatedSkills,omitempty"`
	// Model says that the hub itself performs the agent's tasks, with a language model; nil
	// for all others.
	Model *Model `json:"model,omitempty"`
	// Where says where the Spec stands, for a person, such as "agents.yaml:12".
	Where string `json:"-"`
	// Call says how the agent is called.
	Call Call `json:"call,omitzero"`
	// InputModes and OutputModes are media types; if empty, the card's count.
	InputModes  []string `json:"inputModes,omitempty"`
	OutputModes []string `json:"outputModes,omitempty"`
	// StrictModes refuses messages whose media types are not among those of the agent, which
	// are advice otherwise.
	StrictModes bool `json:"strictModes,omitempty"`
}

// Model is the language model that thinks for an agent of the hub.
type Model struct {
	// Provider is one of those that the hub knows; empty means the only one. ID is its name
	// for the model.
	Provider string `json:"provider,omitempty"`
	ID       string `json:"id"`
	// SystemPrompt is the model's instruction, MaxRounds how many messages it may write for
	// one of its caller; zero leaves that to the hub.
	SystemPrompt string `json:"systemPrompt,omitempty"`
	MaxRounds    int    `json:"maxRounds,omitempty"`
	// Allowed and Excluded are patterns of the tools that it may and may not call.
	Allowed  []string `json:"allowed,omitempty"`
	Excluded []string `json:"excluded,omitempty"`
	// Delegates are the agents that it may ask.
	Delegates []task.Agent `json:"delegates,omitempty"`
}

// Call says how an agent is called. The zero Call leaves everything to the caller's
// defaults.
type Call struct {
	// Target is the tenant that is asked for at the URL; empty means none.
	Target string `json:"target,omitempty"`
	// Timeout is how long a call may take. Zero means the caller's default.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Poll is the time between questions for a task that does not stream. Zero means the
	// a time that doubles, from PollInitial to PollMax; zero leaves these to the caller.
	Poll        time.Duration `json:"poll,omitempty"`
	PollInitial time.Duration `json:"pollInitial,omitempty"`
	PollMax     time.Duration `json:"pollMax,omitempty"`
	// HistoryLength limits the history that is asked for; nil asks for what the agent
	// gives.
	HistoryLength *int `json:"historyLength,omitempty"`
	// ReturnImmediately asks for the task at once, and follows it.
	ReturnImmediately bool `json:"returnImmediately,omitempty"`
	// Idempotent says that the agent takes a message with the same id once.
	Idempotent bool `json:"idempotent,omitempty"`
	// FollowCard calls the address that the card names instead of the URL.
	FollowCard bool `json:"followCard,omitempty"`
	// Binding and Version say how the agent is called at the URL where no card says it. If
	// Binding is empty, an agent without a card cannot be called.
	Binding a2a.TransportProtocol `json:"binding,omitempty"`
	Version a2a.ProtocolVersion   `json:"version,omitempty"`
	// Fixed calls the URL alone, if it has a path, whatever the card lists.
	Fixed bool `json:"fixed,omitempty"`
	// OmitContext leaves it to the agent to name contexts.
	OmitContext bool `json:"omitContext,omitempty"`
	// ParamsContext sends the context id beside the message, too.
	ParamsContext bool `json:"paramsContext,omitempty"`
	// Push says whether the agent may tell the hub of a task by callbacks; nil leaves it
	// to its card.
	Push *bool `json:"push,omitempty"`
	// External says that the agent reaches the hub from outside, at its public address.
	External bool `json:"external,omitempty"`
	// Header is added to each request. Its values are shown.
	Header map[string]string `json:"header,omitempty"`
	// Credentials are what the hub shows to the agent.
	Credentials Credentials `json:"-"`
	// TLS is the hub's certificate for the agent, and whom the hub trusts. Only an operator
	// names files: it is not kept with agents that are registered.
	TLS TLS `json:"-"`
}

// TLS are files in PEM. The zero TLS means no certificate, and the authorities of the system.
type TLS struct {
	// CertFile and KeyFile are the certificate and its key, CAFile the authorities that are
	// trusted instead of the system's.
	CertFile, KeyFile, CAFile string
}

// Same reports whether two Specs say the same, wherever they stand.
func (s *Spec) Same(o *Spec) bool {
	encode := func(s *Spec) []byte {
		b, err := json.Marshal(s)
		if err != nil {
			panic("directory: " + err.Error()) // nothing in a Spec can fail
		}
		return b
	}
	return s.Call.Credentials == o.Call.Credentials && bytes.Equal(encode(s), encode(o))
}

// NameOf returns the name in the hub of an agent that people call title: small letters
// and digits, with a dash for every run of other characters.
func NameOf(title string) task.Agent { return task.AgentNamed(title) }

// The transports of agents.
const (
	HTTP  = "http"
	Queue = "queue"
	// RockBot is RockBot's exchange.
	RockBot = "rockbot"
)

// maxQueue is the length of the longest name on a bus: the names of queues are made of it.
const maxQueue = 128

// queueName is a name on a bus.
var queueName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// maxName is the length of the longest name.
const maxName = 64

// Check returns what is wrong with a Spec, for whoever wrote it.
func (s *Spec) Check() error {
	switch {
	case s.Name == "":
		return fmt.Errorf("name: is missing")
	case s.Name != NameOf(string(s.Name)) || len(s.Name) > maxName:
		return fmt.Errorf("name: %q is not a name of at most %d small letters and digits with single dashes between them", clip.Runes(string(s.Name), maxQuoted), maxName)
	case s.Name == "tasks":
		return fmt.Errorf("name: %q is reserved", s.Name)
	case s.Trust != "" && s.Trust != Open && s.Trust != Gated:
		return fmt.Errorf("trust: %q is neither %s nor %s", clip.Runes(string(s.Trust), maxQuoted), Open, Gated)
	case slices.Contains(s.GatedSkills, ""):
		return fmt.Errorf("gatedSkills: a skill has no id")
	case len(s.GatedSkills) > maxSkills:
		return fmt.Errorf("gatedSkills: there are more than %d", maxSkills)
	case s.Local || s.Model != nil:
		return nil
	case s.URL == "" && s.Queue == "" && s.RockBot == "":
		return fmt.Errorf("url: is missing")
	case len(s.RockBot) > maxName || strings.ContainsFunc(string(s.RockBot), notOnExchange):
		return fmt.Errorf("rockbot: %q is not a name of at most %d bytes without spaces, dots, * and #", clip.Runes(string(s.RockBot), maxQuoted), maxName)
	case len(s.Queue) > maxQueue || s.Queue != "" && !queueName.MatchString(string(s.Queue)):
		return fmt.Errorf("queue: %q is not a name of at most %d letters, digits, - and _, with single dots between them", clip.Runes(string(s.Queue), maxQuoted), maxQueue)
	case s.Transport != "" && s.Transport != HTTP && s.Transport != Queue:
		return fmt.Errorf("transport: %q is neither %s nor %s", clip.Runes(s.Transport, maxQuoted), HTTP, Queue)
	case s.Transport == HTTP && s.URL == "" || s.Transport == Queue && s.Queue == "":
		return fmt.Errorf("transport: %q is not there", s.Transport)
	}
	if s.URL != "" {
		if err := checkURL(s.URL); err != nil {
			return fmt.Errorf("url: %w", err)
		}
	}
	if c := &s.Call; c.Poll < 0 || c.PollInitial < 0 || c.PollMax < 0 {
		return fmt.Errorf("poll: a time is negative")
	}
	for i := range s.Skills {
		if s.Skills[i].ID == "" {
			return fmt.Errorf("skills[%d].id: is missing", i)
		}
		same := func(o Skill) bool { return strings.EqualFold(o.ID, s.Skills[i].ID) }
		if slices.ContainsFunc(s.Skills[:i], same) {
			return fmt.Errorf("skills[%d].id: the agent has another skill %q", i, clip.Runes(s.Skills[i].ID, maxQuoted))
		}
	}
	return s.Call.Credentials.Check()
}

// notOnExchange reports whether a character may not stand in a name on RockBot's exchange.
func notOnExchange(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(".*#", r) }
