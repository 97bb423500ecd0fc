package protocol

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/task"
)

// The types of envelopes. The first eight are those that every worker needs.
const (
	TypeWork      bus.Type = "job.work"      // hub → queue of the agent, or topic of a worker
	TypeClaim     bus.Type = "job.claim"     // worker → topic of the hub
	TypeGrant     bus.Type = "job.grant"     // hub → topic of the worker
	TypeDeny      bus.Type = "job.deny"      // hub → topic of the worker
	TypeReport    bus.Type = "job.report"    // worker → topic or queue of the hub
	TypeConfirm   bus.Type = "job.confirm"   // hub → topic of the worker
	TypeHeartbeat bus.Type = "job.heartbeat" // worker → topic of the hub
	TypeCancel    bus.Type = "job.cancel"    // hub → topic of the worker

	TypeFetch    bus.Type = "job.fetch"    // worker → topic of the hub
	TypePiece    bus.Type = "job.piece"    // hub → topic of the worker
	TypeBatch    bus.Type = "job.batch"    // either way, at a topic
	TypeHub      bus.Type = "hub.announce" // hub → Discovery
	TypeAnnounce bus.Type = "agent.announce"
	TypeGoodbye  bus.Type = "agent.goodbye"
	TypeChat     bus.Type = "agent.chat.inbound"
)

// The well-known topics.
var (
	// Discovery is where agents and hubs announce themselves.
	Discovery = bus.Topic("discovery.announce")
	// Inquiry is where a hub that has just started asks agents to announce themselves.
	Inquiry = bus.Topic("discovery.inquire")
	// ChatTopic is where hubs publish the messages of agents, for a live view.
	ChatTopic = bus.Topic("agent.chat.inbound")
)

// JobAt returns the queue of an agent.
func JobAt(name task.Agent) bus.Address { return bus.Queue("agent.task." + string(name)) }

// ReportAt returns the queue of a hub.
func ReportAt(hub string) bus.Address { return bus.Queue("hub.report." + hub) }

// ControlAt returns the topic of a hub.
func ControlAt(hub string) bus.Address { return bus.Topic("hub.control." + hub) }

// WorkerAt returns the topic of a worker process.
func WorkerAt(worker string) bus.Address { return bus.Topic("worker." + worker) }

// Times that hubs and workers agree on.
const (
	// Lease is how long a worker may be silent before its jobs are granted to others.
	Lease = 30 * time.Second
	// HeartbeatInterval is the time between two heartbeats.
	HeartbeatInterval = Lease / 4
	// AnnounceInterval is the time between two announcements, AnnounceTTL the time for which one
	// is valid.
	AnnounceInterval = 2 * time.Minute
	AnnounceTTL      = 24 * time.Hour
	// MaxWait is how long work waits for a worker before the task fails.
	MaxWait = 24 * time.Hour
)

// Size limits in bytes of content that does not fit into an envelope.
const (
	// MaxLarge is the size of the largest content of work, and of the largest event.
	MaxLarge = 64 << 20
	// MaxPiece is the size of the largest piece of one.
	MaxPiece = 512 << 10
	// MaxInline is the size up to which content and events surely fit into an envelope.
	MaxInline = 768 << 10
)

// Work is a message for an agent. Envelope.Task, Owner, Principal, Deadline, Chain and Label
// belong to it; ReplyTo is the hub's topic, Source "hub/ID". It is in the queue of the agent, or it
// is sent to the topic of a worker with a free slot, which claims it likewise.
type Work struct {
	// Agent is the name of the agent, Skill the requested skill, or empty.
	Agent task.Agent `json:"agent"`
	Skill string     `json:"skill,omitempty"`
	// Delivery counts how often the hub has published work of this task, from 1. A claim
	// repeats it. Work that is published again because it may be lost has the same number.
	Delivery int64 `json:"delivery"`
	// Key is stable over all attempts of the same message: see agent.Call.
	Key     string `json:"key"`
	Attempt int    `json:"attempt"`
	// Hops is the number of further agents that may be asked one after the other on behalf of
	// this task, Budget the total number of further tasks. Alone is the reason why no other
	// agent may be asked; it is empty if others may be.
	Hops   int    `json:"hops,omitempty"`
	Budget int    `json:"budget,omitempty"`
	Alone  string `json:"alone,omitempty"`
	// ContextID is that of the task.
	ContextID string `json:"contextId"`
	// Message is the caller's message as v1.0 JSON, Metadata that of the request.
	Message  json.RawMessage `json:"message,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// Others are the members of the request that are unknown to the protocol: see agent.Call.
	Others json.RawMessage `json:"others,omitempty"`
	// Stored is the current task as v1.0 JSON, from the second message on; else absent.
	Stored json.RawMessage `json:"task,omitempty"`
	// AcceptedOutputModes are the media types that the caller accepts; absent if it named none.
	AcceptedOutputModes []string `json:"acceptedOutputModes,omitempty"`
	// Extensions are the extension URIs that the caller activated.
	Extensions []string `json:"extensions,omitempty"`
	ParentID   string   `json:"parentId,omitempty"`
	// Reports is the name of the queue for reports.
	Reports string `json:"reports"`
	// Batches is set if the hub accepts Batches at its topic.
	Batches bool `json:"batches,omitempty"`
	// Large refers to a Content if that is too large for an envelope: then Message, Metadata,
	// Others and Stored are absent. The worker fetches it once it has a grant.
	Large *Blob `json:"large,omitempty"`
}

// Claim requests a job. Envelope.Task and Owner are those of the work, Source and ReplyTo the
// worker's.
type Claim struct {
	Delivery int64 `json:"delivery"`
	// Worker is the id of the worker's process, new with each start.
	Worker string `json:"worker"`
	// Nonce is new with each delivery that the worker has received; a repeated claim has that
	// of the first.
	Nonce string `json:"nonce"`
	// Idempotent is set if the job may be granted to another worker after the loss of this one.
	Idempotent bool `json:"idempotent,omitempty"`
	// Batches is set if the worker accepts Batches at its topic.
	Batches bool `json:"batches,omitempty"`
	// Slots is the number of jobs that the worker performs concurrently. It is set if the worker
	// accepts work at its topic as well.
	Slots int `json:"slots,omitempty"`
}

// Times of work at the topic of a worker.
const (
	// OfferWithin is the time that a worker has to claim the work. After it the hub publishes the
	// work at the queue.
	OfferWithin = 250 * time.Millisecond
	// OfferPatience is the longest time for which a worker that performs other jobs keeps the
	// work. It then drops the work.
	OfferPatience = 100 * time.Millisecond
)

// Grant assigns the job to the worker that has claimed it. Envelope.Epoch is the epoch of its
// events.
type Grant struct {
	Nonce string `json:"nonce"`
	// Token authenticates each report and each heartbeat for this job. It is known to hub and
	// worker alone.
	Token string `json:"token"`
	// Lease is in milliseconds.
	Lease int64 `json:"lease"`
}

// Deny refuses one of three things: the claim with Nonce, which the worker must not start; the run
// at Envelope.Epoch, which the worker ends; or, without Envelope.Task, the tasks of the agent, because
// another agent of the hub has its name. The worker acknowledges the work of a denied claim or run.
type Deny struct {
	// Nonce is that of a denied claim; else empty.
	Nonce string `json:"nonce,omitempty"`
	// Later is set if the hub cannot decide yet about a claim: the worker asks again.
	Later bool `json:"later,omitempty"`
	// Reason is a text for operators, such as that another worker has the job or the task has
	// ended.
	Reason string `json:"reason"`
}

// Report carries events of the agent. Envelope.Epoch is that of the grant, Seq the number of
// the first event.
type Report struct {
	Token string `json:"token"`
	// Worker is the id of the worker's process; answers go to its topic.
	Worker string `json:"worker"`
	// Events are StreamResponses (specification §3.2.3): objects with one member, task,
	// message, statusUpdate or artifactUpdate. The hub ignores the ids of task and context in
	// them.
	Events []json.RawMessage `json:"events,omitempty"`
	// Error is set if the agent has failed without a final event; it comes after Events and
	// counts as one. It is for the hub's log unless Public.
	Error  string `json:"error,omitempty"`
	Public bool   `json:"public,omitempty"`
	// Ended is set if the run has ended although the task is not in a final state
	// (AUTH_REQUIRED); it comes after Events and counts as one.
	Ended bool `json:"ended,omitempty"`
	// GivenBack is set if the worker stops before the job is done. It comes after Events and
	// counts as one.
	GivenBack bool `json:"givenBack,omitempty"`
	// CancelRefused is the reason why a cancel request was refused; it is no event and has no
	// number.
	CancelRefused string `json:"cancelRefused,omitempty"`
	// Large is an event that is too large for an envelope, and Piece is a piece of it. Each
	// piece is in a report without Events, and has a number of its own; pieces come in order.
	Large *Blob  `json:"large,omitempty"`
	Piece *Piece `json:"piece,omitempty"`
}

// Confirm confirms that all events up to Envelope.Seq of Envelope.Epoch are durable; a Seq of zero
// confirms none.
type Confirm struct {
	// Final is set if the job is over: the worker acknowledges its work.
	Final bool `json:"final,omitempty"`
	// Resend is the number from which on the hub lacks events: the worker sends them again. Zero
	// means that it lacks none.
	Resend int64 `json:"resend,omitempty"`
	// MessageWaiting is set if a further message of the caller waits until the job is over.
	MessageWaiting bool `json:"messageWaiting,omitempty"`
}

// Heartbeat shows that a worker is alive, and lists the jobs that it holds of one hub.
type Heartbeat struct {
	Worker string    `json:"worker"`
	Jobs   []HeldJob `json:"jobs"`
}

// HeldJob is a job in a Heartbeat.
type HeldJob struct {
	Task  string     `json:"task"`
	Owner task.Owner `json:"owner,omitempty"`
	Epoch int64      `json:"epoch"`
	Token string     `json:"token"`
}

// Cancel asks the worker to cancel the job of Envelope.Epoch.
type Cancel struct {
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// Blob refers to bytes that do not fit into an envelope.
type Blob struct {
	// ID names them within the job.
	ID     string `json:"id"`
	Size   int64  `json:"size"`
	SHA256 []byte `json:"sha256"`
}

// BlobOf returns the Blob of some bytes.
func BlobOf(b []byte) *Blob {
	sum := sha256.Sum256(b)
	return &Blob{ID: hex.EncodeToString(sum[:16]), Size: int64(len(b)), SHA256: sum[:]}
}

const maxBlobID = 64

// Check returns an error if the fields of b are invalid. Both hub and worker call it.
func (b *Blob) Check() error {
	switch {
	case b.ID == "" || len(b.ID) > maxBlobID || len(b.SHA256) != sha256.Size:
		return fmt.Errorf("large content without an id of up to %d bytes or without a SHA-256: %w", maxBlobID, bus.ErrInvalid)
	case b.Size < 1 || b.Size > MaxLarge:
		return fmt.Errorf("large content of %d bytes: 1 to %d are allowed: %w", b.Size, MaxLarge, bus.ErrTooLarge)
	}
	return nil
}

// Matches reports whether whole are the bytes that b refers to.
func (b *Blob) Matches(whole []byte) bool {
	sum := sha256.Sum256(whole)
	return int64(len(whole)) == b.Size && bytes.Equal(sum[:], b.SHA256)
}

// Follows reports whether p is the next piece of b after the first have bytes.
func (p *Piece) Follows(b *Blob, have int) bool {
	n := int64(len(p.Data))
	return p.Blob == b.ID && p.Offset == int64(have) && n > 0 && n <= MaxPiece && n <= b.Size-p.Offset
}

// Content is the JSON that Work.Large refers to. Its members are those of Work.
type Content struct {
	Message  json.RawMessage `json:"message"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Others   json.RawMessage `json:"others,omitempty"`
	Stored   json.RawMessage `json:"task,omitempty"`
}

// Fetch requests a piece of Work.Large. Envelope.Epoch is that of the grant.
type Fetch struct {
	Token string `json:"token"`
	// Worker is the id of the worker's process; the answer goes to its topic.
	Worker string `json:"worker"`
	// Blob is the id of the Blob, Offset where the piece begins.
	Blob   string `json:"blob"`
	Offset int64  `json:"offset"`
}

// Piece is a part of the bytes that a Blob refers to.
type Piece struct {
	// Blob is the id of the Blob, Offset where Data begins in it.
	Blob   string `json:"blob"`
	Offset int64  `json:"offset"`
	// Data are 1 to MaxPiece bytes.
	Data []byte `json:"data"`
}

// Hub is the announcement of a hub. The hub publishes it when it starts, every AnnounceInterval,
// and when a worker is new to it. Envelope.Source is "hub/ID". A receiver that relies on it
// trusts the broker.
type Hub struct {
	bus.HubKey
	// Started is when the process began, in milliseconds since 1970.
	Started task.Millis `json:"started"`
}

// NewHub returns the announcement of a hub that starts now.
func NewHub(key bus.HubKey) Hub { return Hub{HubKey: key, Started: task.MillisOf(time.Now())} }

// Announce is the announcement of an agent. Envelope.Source is "agent/NAME".
type Announce struct {
	Agent task.Agent `json:"agent"`
	// Card is the agent's card as v1.0 JSON.
	Card json.RawMessage `json:"card"`
	// Worker is the id of the announcing process.
	Worker string `json:"worker"`
	// Idempotent and Serial are the traits of the agent: see agent.Traits.
	Idempotent bool `json:"idempotent,omitempty"`
	Serial     bool `json:"serial,omitempty"`
	// Started is when the process began, in milliseconds since 1970.
	Started task.Millis `json:"started"`
}

// Goodbye announces that a worker stops; the agent may have other workers.
type Goodbye struct {
	Agent  task.Agent `json:"agent"`
	Worker string     `json:"worker"`
}

// Chat is one message of an agent, for a live view.
type Chat struct {
	Agent task.Agent `json:"agent"`
	// Type is "status", "artifact" or "message".
	Type  string `json:"type"`
	Text  string `json:"text"`
	State string `json:"state,omitempty"`
}

// Encode returns the JSON of a body. Unlike json.Marshal it leaves embedded raw JSON unchanged.
func Encode(body any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return nil, fmt.Errorf("encode %T: %w: %w", body, err, bus.ErrInvalid)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Decode decodes text into *body, which is a body of this package. It accepts the same texts as
// rawjson.Unmarshal. Its errors name the member.
func Decode[T any](text json.RawMessage, body *T) error {
	*body = *new(T)
	return rawjson.Readable(rawjson.Unmarshal(text, body))
}
