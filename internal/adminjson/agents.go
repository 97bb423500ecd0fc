package adminjson

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/parley-a2a/parley/internal/directory"
)

// Gone is the State of an agent at a queue whose last worker has left: no skill leads to it.
const Gone = "gone"

// Agent is an agent of the hub. The parts of the card are copied from it.
type Agent struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Default is set for the agent of messages that name none.
	Default     bool     `json:"default"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Version     string   `json:"version"`
	Skills      []Skill  `json:"skills"`
	InputModes  []string `json:"inputModes"`
	OutputModes []string `json:"outputModes"`
	Traits      Traits   `json:"traits"`
	// Trust is "gated" for an agent whose skills require trust in the caller; absent for
	// others. GatedSkills are the gated skills, if not all of them are.
	Trust       string   `json:"trust,omitempty"`
	GatedSkills []string `json:"gatedSkills,omitempty"`
	// Paused is set if messages to the agent are held back.
	Paused bool `json:"paused,omitempty"`
	// PausedSince is when an operator has paused the agent, PausedBy the operator's id, which only administrators
	// see, and PauseReason the reason.
	PausedSince *time.Time `json:"pausedSince,omitempty"`
	PausedBy    string     `json:"pausedBy,omitempty"`
	PauseReason string     `json:"pauseReason,omitempty"`
	// LastSeen describes when a remote agent was last seen, as text for people; State is "up",
	// "down", "unknown" or "gone". Both are absent for an agent of the hub.
	LastSeen string `json:"lastSeen,omitempty"`
	State    string `json:"state,omitempty"`
	// Remote holds the directory's details of a remote agent. Only administrators see it.
	Remote *Remote `json:"remote,omitempty"`
	// Card is the registered card, with the addresses at which the hub accepts messages for the
	// agent. It is present only in answers about a single agent.
	Card json.RawMessage `json:"card,omitempty"`
}

// NoWorker reports whether the agent's messages wait in its queue because no worker is connected.
func (a *Agent) NoWorker() bool {
	return a.State == "unknown" && a.Remote != nil && a.Remote.Transport == "queue" && a.Remote.Workers == 0
}

// Skill is a skill of an agent.
type Skill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	// InputModes and OutputModes are its media types, if they differ from those of the agent.
	InputModes  []string `json:"inputModes,omitempty"`
	OutputModes []string `json:"outputModes,omitempty"`
}

// Traits are the declared properties of an agent's runs, see agent.Traits.
type Traits struct {
	// AfterCrash is the treatment of a run that a crash of the hub has interrupted: "fail", "repeat",
	// "repeat after output" or "resume"; absent for an agent that was removed.
	AfterCrash string `json:"afterCrash,omitempty"`
	Serial     bool   `json:"serial"`
	// Silence is a duration like "15m0s", "never", or absent for the hub's default.
	Silence string `json:"silence,omitempty"`
}

// AgentList is the answer of GET /api/v1/agents.
type AgentList struct {
	Agents []Agent `json:"agents"`
	// Problems are the errors of the files that name agents. Only administrators see them.
	Problems []directory.Problem `json:"problems,omitempty"`
}

// Remote holds the directory's details of a remote agent.
type Remote struct {
	URL             string `json:"url"`
	ProtocolVersion string `json:"protocolVersion,omitempty"`
	// SignedBy is the id of the key that signed the card, if that was verified.
	SignedBy  string `json:"signedBy,omitempty"`
	Streaming bool   `json:"streaming"`
	Push      bool   `json:"pushNotifications"`
	// Queue is the agent's name on the bus, Transport its transport: "http" or "queue". Workers
	// is the number of announced workers of the queue that are present.
	Queue     string `json:"queue,omitempty"`
	Transport string `json:"transport"`
	Workers   int    `json:"workers,omitempty"`
	// Sources are the files that name the agent, or "registered"; the first one takes
	// precedence.
	Sources []string `json:"sources"`
	// Registered states that the agent can be changed and removed by this API.
	Registered bool `json:"registered"`
	// Pinned states that the agent's card is never fetched.
	Pinned bool `json:"pinned,omitempty"`
	// Credentials describes the kind of the credentials, never their values.
	Credentials string `json:"credentials"`
	Target      string `json:"target,omitempty"`
	Health      Health `json:"health"`
	// Problems are warnings for the operator.
	Problems []string `json:"problems,omitempty"`
	// CardChange is the last change of the card since the start of the hub; absent without one.
	CardChange *CardChange `json:"cardChange,omitempty"`
}

// CardChange is a change of a card.
type CardChange struct {
	At time.Time `json:"at"`
	// Lines are the members that differ, as "- path: value" and "+ path: value".
	Lines []string `json:"lines"`
}

// Reviewed is the card of an agent that is not registered.
type Reviewed struct {
	// Name is the name that the agent would have.
	Name string `json:"name"`
	// Card is the card in v1.0.
	Card json.RawMessage `json:"card"`
	// SignedBy is the id of the key that signed the card, if that was verified.
	SignedBy string `json:"signedBy,omitempty"`
	// Problems are findings of the screening of the card.
	Problems []string `json:"problems,omitempty"`
}

// Health is the health of a remote agent.
type Health struct {
	// State is "up", "down", "unknown" or "gone".
	State     string     `json:"state"`
	LatencyMs float64    `json:"latencyMs,omitempty"`
	CheckedAt *time.Time `json:"checkedAt,omitempty"`
	SeenAt    *time.Time `json:"seenAt,omitempty"`
	CardAt    *time.Time `json:"cardAt,omitempty"`
	Failures  int        `json:"failures,omitempty"`
	Error     string     `json:"error,omitempty"`
}

// Probe is the result of probing an agent.
type Probe struct {
	Agent      Agent   `json:"agent"`
	Reachable  bool    `json:"reachable"`
	LatencyMs  float64 `json:"latencyMs"`
	Streaming  bool    `json:"streaming"`
	Push       bool    `json:"push"`
	SkillCount int     `json:"skillCount"`
	// Changed is set if the card differs from the one before.
	Changed bool   `json:"changed"`
	Error   string `json:"error,omitempty"`
}

// NewAgent requests the registration of an agent.
type NewAgent struct {
	// Name is the agent's name in the hub. If empty, it is derived from Title.
	Name  string `json:"name,omitempty"`
	Title string `json:"title,omitempty"`
	// URL is the address of the agent. It is required.
	URL         string            `json:"url"`
	Description string            `json:"description,omitempty"`
	Version     string            `json:"version,omitempty"`
	Skills      []directory.Skill `json:"skills,omitempty"`
	Target      string            `json:"target,omitempty"`
	TimeoutMs   int               `json:"timeoutMs,omitempty"`
	PollMs      int               `json:"pollIntervalMs,omitempty"`
	Streaming   *bool             `json:"streaming,omitempty"`
	// Trust is "gated" for an agent whose skills require trust in the caller, else "open";
	// GatedSkills are the gated skills, if not all of them are. If both are absent, the
	// registered values stay.
	Trust       string   `json:"trust,omitempty"`
	GatedSkills []string `json:"gatedSkills,omitempty"`
	// Credentials are the credentials that the hub sends to the agent. If absent, those of an
	// earlier registration stay, unless the agent moves to another host; null, or an empty
	// object, removes them.
	Credentials CredentialsUpdate `json:"credentials,omitzero"`
}

// CredentialsUpdate is a change of credentials. The zero CredentialsUpdate keeps them.
type CredentialsUpdate struct {
	// Given is set if NewCredentials replace the earlier ones.
	Given bool
	NewCredentials
}

// UnmarshalJSON decodes the credentials; null means no credentials.
func (u *CredentialsUpdate) UnmarshalJSON(b []byte) error {
	u.Given = true
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(&u.NewCredentials)
}

// MarshalJSON encodes the credentials.
func (u CredentialsUpdate) MarshalJSON() ([]byte, error) { return json.Marshal(u.NewCredentials) }

// NewCredentials are the credentials of a registration. An empty object means none.
type NewCredentials struct {
	APIKey string `json:"apiKey,omitempty"`
	Bearer string `json:"bearer,omitempty"`
	// HeaderName and HeaderValueBase64 are an arbitrary header.
	HeaderName        string `json:"headerName,omitempty"`
	HeaderValueBase64 string `json:"headerValueBase64,omitempty"`
}

// Found is the answer of a search.
type Found struct {
	Results []Result `json:"results"`
}

// Result is an agent or an MCP server that matches.
type Result struct {
	ID      string `json:"id"`
	Type    string `json:"type"` // "a2a" or "mcp"
	Summary string `json:"summary"`
	// Relevance is from 0 to 1, relative to the best match.
	Relevance float64  `json:"relevance_score"`
	TopSkills []string `json:"top_skills,omitempty"`
	TopTools  []string `json:"top_tools,omitempty"`
}
