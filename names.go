package parley

import (
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/inbox/question"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/transport"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/trust"
)

// Store keeps the tasks of a hub, for Hub.Store. The stores of this module are the only ones until
// version 1.
type Store = task.Store

// Agents behind a queue, which workers perform (package worker).
type (
	// Queues connects a hub to a bus, for Hub.Queues. Bus and ID are required; worker.Dial opens
	// a bus by its URL.
	Queues = queue.Dispatcher
	// QueueAgent is an executor, for Hub.Handle, whose tasks are performed by the workers at a
	// queue. Dispatcher is required: the Queues of the hub.
	QueueAgent = queue.Agent
	// Signer signs the messages of a hub to workers, for Queues.Signer.
	Signer = bus.Signer
)

// NewSigner returns a Signer for the hub with an id, with an Ed25519 key from a seed of 32 bytes.
// Workers check the signatures with its HubKey (worker.ParseKeys).
func NewSigner(hub string, seed []byte) (*Signer, error) { return bus.NewSigner(hub, seed) }

// Decisions about callers.
type (
	// Policy allows and denies operations, for Hub.Policy. Replace changes its rules.
	Policy = policy.Policy
	// PolicyRules are the rules of a Policy.
	PolicyRules = policy.Rules
	// PolicyRule allows or denies operations.
	PolicyRule = policy.Rule
	// PolicyTest is a request and the decision that PolicyRules must reach about it.
	PolicyTest = policy.Test

	// Trust holds the levels of trust in callers, for Hub.Trust. Load it before the hub runs.
	Trust = trust.Registry
	// TrustChange is a change of one caller's entry, for Trust.Set.
	TrustChange = trust.Change
	// TrustEntry is the level and the approved skills of one caller.
	TrustEntry = trust.Entry

	// Audit is a signed log of operations, for Hub.Audit. OpenAudit opens one.
	Audit = audit.Log
	// AuditOptions configure an Audit. Dir and Key are required.
	AuditOptions = audit.Options
)

// NewPolicy checks rules and returns a Policy of them.
func NewPolicy(r PolicyRules) (*Policy, error) { return policy.New(r) }

// OpenAudit opens the audit log in a folder, and creates it if it does not exist. Close it after
// the hub has run.
func OpenAudit(o AuditOptions) (*Audit, error) { return audit.Open(o) }

// People and questions.
type (
	// Inbox holds the items that wait for a person, for Hub.Inbox. The zero Inbox keeps them in
	// memory.
	Inbox = inbox.Inbox
	// InboxItem is a question, an approval or a notice for a person.
	InboxItem = inbox.Item
	// InboxQuery selects items, for Inbox.List.
	InboxQuery = inbox.Query

	// Answerer answers the questions of agents in place of their callers, for Hub.Answerer.
	Answerer = question.Responder
	// PolicyAnswerer is an Answerer that decides by policies: "suspend", "auto", "ask", "trust" or
	// "fail". Its field Answerer names the agent that answers.
	PolicyAnswerer = question.PolicyResponder
)

// Memory of agents.
type (
	// Notes are texts with a key and a time to live, for Memory.Notes. The zero Notes keeps them in
	// memory.
	Notes = memory.Notes
	// Note is a note of Notes.
	Note = memory.Note
	// NoteSet is a note to store, for Notes.Set.
	NoteSet = memory.Set
	// NoteList selects notes by the beginning of their keys, for Notes.List.
	NoteList = memory.List
	// NoteSearch selects notes by their words, for Notes.Search.
	NoteSearch = memory.Search
	// Turns are the conversations of callers with agents, for Memory.Turns.
	Turns = memory.Turns
)

// Remote agents.
type (
	// AgentRecord is a registered agent or the last known card of one, in an AgentStore.
	AgentRecord = card.Record
	// Transport connects to an interface of an agent by a binding other than HTTP. grpcbind.Transport
	// is one. It is the same type as client.Transport.
	Transport = transport.Factory
)
