package adminjson

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/directory"
)

// Agent is an agent of the hub. The parts of the card are copied from it.
type Agent struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Default is set for the agent of callers that name none.
	Default     bool     `json:"default"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Version     string   `json:"version"`
	Skills      []Skill  `json:"skills"`
	InputModes  []string `json:"inputModes"`
	OutputModes []string `json:"outputModes"`
	Traits      Traits   `json:"traits"`
	// Trust is "gated" for an agent that does what its callers are trusted with; absent for
	// others. GatedSkills are those alone that are gated, if not all of it is.
	Trust       string   `json:"trust,omitempty"`
	GatedSkills []string `json:"gatedSkills,omitempty"`
	// Paused is set if the agent is given no messages, so that they wait.
	Paused bool `json:"paused,omitempty"`
	// LastSeen says when an agent elsewhere was last seen, for a person; State is "up",
	// "down" or "unknown". Both are absent for an agent of the hub.
	LastSeen string `json:"lastSeen,omitempty"`
	State    string `json:"state,omitempty"`
	// Remote is what the directory knows of an agent elsewhere. Administrators see it.
	Remote *Remote `json:"remote,omitempty"`
	// Card is the card as it was registered, with the addresses at which the hub takes messages
	// for the agent. It is given where one agent is asked for.
	Card *a2a.AgentCard `json:"card,omitempty"`
}

// Skill is a skill of an agent.
type Skill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	// InputModes and OutputModes are its media types, if they are not those of the agent.
	InputModes  []string `json:"inputModes,omitempty"`
	OutputModes []string `json:"outputModes,omitempty"`
}

// Traits are what an agent says about its runs, see agent.Traits.
type Traits struct {
	Idempotent bool `json:"idempotent"`
	Serial     bool `json:"serial"`
	// Silence is a duration like "15m0s", "never", or absent for the hub's default.
	Silence string `json:"silence,omitempty"`
}

// AgentList is all agents.
type AgentList struct {
	Agents []Agent `json:"agents"`
	// Problems are what is wrong with the files that name agents. Administrators see
	// them.
	Problems []directory.Problem `json:"problems,omitempty"`
}

// Remote is what the directory knows of an agent elsewhere.
type Remote struct {
	URL             string `json:"url"`
	ProtocolVersion string `json:"protocolVersion,omitempty"`
	// SignedBy is the id of the key that signed the card, if that was verified.
	SignedBy  string `json:"signedBy,omitempty"`
	Streaming bool   `json:"streaming"`
	Push      bool   `json:"pushNotifications"`
	// Queue is the agent's name on the bus, Transport says how it is called: "http" or
	// "queue". Workers is how many have announced themselves for the queue and are there.
	Queue     string `json:"queue,omitempty"`
	Transport string `json:"transport"`
	Workers   int    `json:"workers,omitempty"`
	// Sources are the files that name the agent, or "registered"; the first one counts.
	Sources []string `json:"sources"`
	// Registered agents may be changed and removed here.
	Registered bool `json:"registered"`
	// Pinned agents are never asked for a card.
	Pinned bool `json:"pinned,omitempty"`
	// Credentials says what kind they are of, never their values.
	Credentials string `json:"credentials"`
	Target      string `json:"target,omitempty"`
	Health      Health `json:"health"`
	// Problems are what an operator should know.
	Problems []string `json:"problems,omitempty"`
}

// Health is how an agent elsewhere does.
type Health struct {
	// State is "up", "down" or "unknown".
	State     string     `json:"state"`
	LatencyMs float64    `json:"latencyMs,omitempty"`
	CheckedAt *time.Time `json:"checkedAt,omitempty"`
	SeenAt    *time.Time `json:"seenAt,omitempty"`
	CardAt    *time.Time `json:"cardAt,omitempty"`
	Failures  int        `json:"failures,omitempty"`
	Error     string     `json:"error,omitempty"`
}

// Probe is what asking an agent has shown.
type Probe struct {
	Agent      Agent   `json:"agent"`
	Reachable  bool    `json:"reachable"`
	LatencyMs  float64 `json:"latencyMs"`
	Streaming  bool    `json:"streaming"`
	Push       bool    `json:"push"`
	SkillCount int     `json:"skillCount"`
	// Changed is set if the card is another one than before.
	Changed bool   `json:"changed"`
	Error   string `json:"error,omitempty"`
}

// NewAgent asks for the registration of an agent.
type NewAgent struct {
	// Name is the agent's name in the hub. If empty, it is made of Title.
	Name  string `json:"name,omitempty"`
	Title string `json:"title,omitempty"`
	// URL is where the agent is. It is required.
	URL         string            `json:"url"`
	Description string            `json:"description,omitempty"`
	Version     string            `json:"version,omitempty"`
	Skills      []directory.Skill `json:"skills,omitempty"`
	Target      string            `json:"target,omitempty"`
	TimeoutMs   int               `json:"timeoutMs,omitempty"`
	PollMs      int               `json:"pollIntervalMs,omitempty"`
	Streaming   *bool             `json:"streaming,omitempty"`
	// Trust is "gated" for an agent that does what its callers are trusted with, else
	// "open"; GatedSkills are those alone that are gated. If both are absent, what was
	// registered before stays.
	Trust       string   `json:"trust,omitempty"`
	GatedSkills []string `json:"gatedSkills,omitempty"`
	// Credentials are what the hub shows to the agent. If absent, those that were
	// registered before stay as they are, unless the agent moves to another host; null, or an
	// empty object, takes them away.
	Credentials CredentialsUpdate `json:"credentials,omitzero"`
}

// CredentialsUpdate says what becomes of credentials. If it is zero, they stay.
type CredentialsUpdate struct {
	// Given is set if NewCredentials take the place of what there was.
	Given bool
	NewCredentials
}

// UnmarshalJSON takes null for no credentials.
func (u *CredentialsUpdate) UnmarshalJSON(b []byte) error {
	u.Given = true
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(&u.NewCredentials)
}

// MarshalJSON writes the credentials.
func (u CredentialsUpdate) MarshalJSON() ([]byte, error) { return json.Marshal(u.NewCredentials) }

// NewCredentials are the credentials of a registration. An empty object means none.
type NewCredentials struct {
	APIKey string `json:"apiKey,omitempty"`
	Bearer string `json:"bearer,omitempty"`
	// HeaderName and HeaderValueBase64 are any header.
	HeaderName        string `json:"headerName,omitempty"`
	HeaderValueBase64 string `json:"headerValueBase64,omitempty"`
}

// Found is the answer of a search.
type Found struct {
	Results []Result `json:"results"`
}

// Result is an agent or an MCP server that fits.
type Result struct {
	ID      string `json:"id"`
	Type    string `json:"type"` // "a2a" or "mcp"
	Summary string `json:"summary"`
	// Relevance is from 0 to 1, relative to the best.
	Relevance float64  `json:"relevance_score"`
	TopSkills []string `json:"top_skills,omitempty"`
	TopTools  []string `json:"top_tools,omitempty"`
}
