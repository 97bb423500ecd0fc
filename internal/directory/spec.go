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

// Trust selects whether an agent acts on messages of every caller.
type Trust string

// A Gated agent acts only as far as a caller is trusted; an Open agent acts on every message.
const (
	Open  Trust = "open"
	Gated Trust = "gated"
)

// Spec is the configuration of an agent from one source. The agent's card supplies the fields
// left out.
type Spec struct {
	// Name is the agent's name in the hub, see NameOf. It is required.
	Name task.Agent `json:"name"`
	// Title is the display name. If empty, it is Name.
	Title string `json:"title,omitempty"`
	// Queue is the agent's name on the bus, if workers at a queue perform its tasks. Again is set if
	// another worker may begin again after the loss of one that has shown output.
	Queue task.Agent `json:"queue,omitempty"`
	Again bool       `json:"again,omitempty"`
	// Serial is set if tasks of one context run one at a time.
	Serial bool `json:"serial,omitempty"`
	// Left is set for an agent at a queue whose last worker has said goodbye. No skill leads to it:
	// only messages that name it wait in its queue.
	Left bool `json:"left,omitempty"`
	// Exchange is the agent's name on the exchange that a part connects to; empty if it is not
	// reached there.
	Exchange task.Agent `json:"rockBot,omitempty"`
	// Transport selects the transport of an agent that has a URL and a queue: "http" or
	// "queue". If empty, the order of the addresses in its card decides, if one is that of a
	// broker. Otherwise it is "queue" as soon as a worker was seen.
	Transport string `json:"transport,omitempty"`
	// URL is the agent's base address. It is required, unless the agent is local or at a queue.
	// The agent is called there, regardless of its card, unless Call.FollowCard is set.
	URL string `json:"url,omitempty"`
	// Description and Version override those of the card.
	Description string `json:"description,omitempty"`
	Version     string `json:"version,omitempty"`
	// Skills override the card's skills with the same id, field by field. They remain if the
	// card lacks them.
	Skills []Skill `json:"skills,omitempty"`
	// Extensions are used if the card declares none.
	Extensions []a2a.AgentExtension `json:"extensions,omitempty"`
	// Streaming overrides whether the agent streams; nil uses the card.
	Streaming *bool `json:"streaming,omitempty"`
	// Pinned means that the Spec is complete: no card is fetched.
	Pinned bool `json:"pinned,omitempty"`
	// Local is set for an agent of the hub itself, which is never fetched or probed.
	Local bool `json:"local,omitempty"`
	// WellKnown is set for an agent from a list of permanent agents; it is shown as well-known
	// until it answers.
	WellKnown bool `json:"wellKnown,omitempty"`
	// Guarded is set for an agent that was not configured by the operator. It is reached at
	// public addresses only, unless the operator allows more.
	Guarded bool `json:"guarded,omitempty"`
	// Trust selects whether the agent acts on messages of every caller; empty uses the hub's
	// default.
	Trust Trust `json:"trust,omitempty"`
	// GatedSkills are the ids of the gated skills of an agent whose Trust is not Gated.
	GatedSkills []string `json:"gatedSkills,omitempty"`
	// Model is set for an agent whose tasks the hub performs with a language model; nil
	// otherwise.
	Model *Model `json:"model,omitempty"`
	// Where is the position of the Spec for display, such as "agents.yaml:12".
	Where string `json:"-"`
	// Call configures how the agent is called.
	Call Call `json:"call,omitzero"`
	// InputModes and OutputModes are media types; if empty, those of the card are used.
	InputModes  []string `json:"inputModes,omitempty"`
	OutputModes []string `json:"outputModes,omitempty"`
	// StrictModes rejects messages whose media types the agent does not list. Otherwise the
	// lists are advisory.
	StrictModes bool `json:"strictModes,omitempty"`
}

// Model is the language model of an agent of the hub.
type Model struct {
	// Provider is the name of a provider of the hub; empty means the only one. ID is the
	// provider's name of the model.
	Provider string `json:"provider,omitempty"`
	ID       string `json:"id"`
	// SystemPrompt is the instruction for the model. MaxRounds limits the model's messages per
	// message of a caller; zero uses the hub's default.
	SystemPrompt string `json:"systemPrompt,omitempty"`
	MaxRounds    int    `json:"maxRounds,omitempty"`
	// Allowed and Excluded are patterns of the tools that the model may and may not call.
	// Nil Allowed means all.
	Allowed  []string `json:"allowed,omitzero"`
	Excluded []string `json:"excluded,omitempty"`
	// Guard is the treatment of texts of others: label, redact, refuse or off. Empty means the
	// hub's default.
	Guard string `json:"guard,omitempty"`
	// Delegates are the agents to which the model may delegate.
	Delegates []task.Agent `json:"delegates,omitempty"`
}

// Call configures how an agent is called. The zero Call uses the caller's defaults.
type Call struct {
	// Target is the tenant to address at the URL; empty means none.
	Target string `json:"target,omitempty"`
	// Timeout limits the duration of a call. Zero means the caller's default.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Poll is the polling interval for a task that does not stream. If zero, the interval
	// doubles from PollInitial to PollMax; if these are zero, the caller's defaults apply.
	Poll        time.Duration `json:"poll,omitempty"`
	PollInitial time.Duration `json:"pollInitial,omitempty"`
	PollMax     time.Duration `json:"pollMax,omitempty"`
	// HistoryLength limits the requested history; nil requests the agent's default.
	HistoryLength *int `json:"historyLength,omitempty"`
	// ReturnImmediately requests the task without waiting for its end, and follows it.
	ReturnImmediately bool `json:"returnImmediately,omitempty"`
	// Idempotent means that the agent accepts a message with the same id only once.
	Idempotent bool `json:"idempotent,omitempty"`
	// FollowCard calls the address in the card instead of the URL.
	FollowCard bool `json:"followCard,omitempty"`
	// Binding and Version are used at the URL if no card specifies them. If Binding is empty,
	// an agent without a card cannot be called.
	Binding a2a.TransportProtocol `json:"binding,omitempty"`
	Version a2a.ProtocolVersion   `json:"version,omitempty"`
	// Fixed calls only the URL, if it has a path, regardless of the addresses in the card.
	Fixed bool `json:"fixed,omitempty"`
	// OmitContext sends no context id before the agent has assigned one.
	OmitContext bool `json:"omitContext,omitempty"`
	// ParamsContext also sends the context id beside the message.
	ParamsContext bool `json:"paramsContext,omitempty"`
	// Push selects whether the agent may notify the hub of a task by callbacks; nil uses the
	// card.
	Push *bool `json:"push,omitempty"`
	// External means that the agent reaches the hub at its public address.
	External bool `json:"external,omitempty"`
	// Header is added to each request. Its values are not treated as secrets.
	Header map[string]string `json:"header,omitempty"`
	// Credentials are sent by the hub to the agent.
	Credentials Credentials `json:"-"`
	// TLS holds the hub's client certificate for the agent and the trusted authorities. Only an
	// operator names files: TLS is not stored for registered agents.
	TLS TLS `json:"-"`
}

// TLS names PEM files. The zero TLS means no client certificate, and the system's authorities.
type TLS struct {
	// CertFile and KeyFile are the certificate and its key; CAFile replaces the system's
	// authorities.
	CertFile, KeyFile, CAFile string
}

// Same reports whether two Specs are equal, ignoring Where.
func (s *Spec) Same(o *Spec) bool {
	encode := func(s *Spec) []byte {
		b, err := json.Marshal(s)
		if err != nil {
			panic("directory: " + err.Error()) // a Spec can always be encoded
		}
		return b
	}
	return s.Call.Credentials == o.Call.Credentials && bytes.Equal(encode(s), encode(o))
}

// NameOf returns the name in the hub for a title: lower-case letters and digits, with one dash
// for every run of other characters.
func NameOf(title string) task.Agent { return task.AgentNamed(title) }

// Transports of agents.
const (
	HTTP  = "http"
	Queue = "queue"
	// Exchange is the exchange that a part connects to.
	Exchange = "rockbot"
)

// maxQueue is the maximum length of a name on a bus; queue names are derived from it.
const maxQueue = 128

// queueName matches a name on a bus.
var queueName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// maxName is the maximum length of a name.
const maxName = 64

// Check returns the first error in a Spec, worded for its author.
func (s *Spec) Check() error {
	switch {
	case s.Name == "":
		return fmt.Errorf("name: is missing")
	case s.Name != NameOf(string(s.Name)) || len(s.Name) > maxName:
		return fmt.Errorf("name: %q is invalid; use at most %d lowercase letters, digits and single dashes", clip.Runes(string(s.Name), maxQuoted), maxName)
	case s.Name == "tasks":
		return fmt.Errorf("name: %q is reserved", s.Name)
	case s.Trust != "" && s.Trust != Open && s.Trust != Gated:
		return fmt.Errorf("trust: %q must be %s or %s", clip.Runes(string(s.Trust), maxQuoted), Open, Gated)
	case slices.Contains(s.GatedSkills, ""):
		return fmt.Errorf("gatedSkills: a skill has no id")
	case len(s.GatedSkills) > maxSkills:
		return fmt.Errorf("gatedSkills: more than %d", maxSkills)
	case s.Local || s.Model != nil:
		return nil
	case s.URL == "" && s.Queue == "" && s.Exchange == "":
		return fmt.Errorf("url: is missing")
	case len(s.Exchange) > maxName || strings.ContainsFunc(string(s.Exchange), notOnExchange):
		return fmt.Errorf("exchange: %q is invalid; use at most %d bytes without spaces, dots, * and #", clip.Runes(string(s.Exchange), maxQuoted), maxName)
	case len(s.Queue) > maxQueue || s.Queue != "" && !queueName.MatchString(string(s.Queue)):
		return fmt.Errorf("queue: %q is invalid; use at most %d letters, digits, -, _ and single dots", clip.Runes(string(s.Queue), maxQuoted), maxQueue)
	case s.Transport != "" && s.Transport != HTTP && s.Transport != Queue:
		return fmt.Errorf("transport: %q must be %s or %s", clip.Runes(s.Transport, maxQuoted), HTTP, Queue)
	case s.Transport == HTTP && s.URL == "" || s.Transport == Queue && s.Queue == "":
		return fmt.Errorf("transport: unknown %q", s.Transport)
	}
	if s.URL != "" {
		if err := checkURL(s.URL); err != nil {
			return fmt.Errorf("url: %w", err)
		}
	}
	if c := &s.Call; c.Poll < 0 || c.PollInitial < 0 || c.PollMax < 0 {
		return fmt.Errorf("poll: times must not be negative")
	}
	for i := range s.Skills {
		if s.Skills[i].ID == "" {
			return fmt.Errorf("skills[%d].id: is missing", i)
		}
		same := func(o Skill) bool { return strings.EqualFold(o.ID, s.Skills[i].ID) }
		if slices.ContainsFunc(s.Skills[:i], same) {
			return fmt.Errorf("skills[%d].id: duplicate skill %q", i, clip.Runes(s.Skills[i].ID, maxQuoted))
		}
	}
	return s.Call.Credentials.Check()
}

// notOnExchange reports whether a name on an exchange may not contain r.
func notOnExchange(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(".*#", r) }
