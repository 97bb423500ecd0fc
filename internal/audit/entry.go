package audit

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	textclip "github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// Action is the name of an action. Names are stable.
type Action string

// Actions of callers on tasks and memories.
const (
	TaskSend      Action = "task.send"
	TaskCancel    Action = "task.cancel"
	TaskGet       Action = "task.get"
	TaskList      Action = "task.list"
	TaskSubscribe Action = "task.subscribe"
	PartGet       Action = "part.get"
	PushSet       Action = "push.set"
	PushDelete    Action = "push.delete"
	MemorySet     Action = "memory.set"
	MemoryDelete  Action = "memory.delete"
	MemoryEnd     Action = "memory.end"
)

// Actions on the hub itself, and refusals.
const (
	TaskOperate    Action = "task.operate"
	TaskInspect    Action = "task.inspect"
	AgentRegister  Action = "agent.register"
	AgentRemove    Action = "agent.remove"
	AgentProbe     Action = "agent.probe"
	AgentPause     Action = "agent.pause"
	AgentResume    Action = "agent.resume"
	KeyAdd         Action = "key.add"
	KeyRevoke      Action = "key.revoke"
	TrustChange    Action = "trust.change"
	InboxPut       Action = "inbox.put"
	InboxSettle    Action = "inbox.settle"
	PushRedeliver  Action = "push.redeliver"
	DeadReplay     Action = "dead.replay"
	DeadDrop       Action = "dead.drop"
	AdminOther     Action = "admin.change"
	AuthRefused    Action = "auth.refused"
	PolicyRefused  Action = "policy.refused"
	AdminRefused   Action = "admin.refused"
	ConfigLoad     Action = "config.load"
	HubStart       Action = "hub.start"
	HubStop        Action = "hub.stop"
	StoreLoss      Action = "store.loss"
	AuditExport    Action = "audit.export"
	auditSegment   Action = "audit.segment"
	auditSigned    Action = "audit.checkpoint"
	auditMended    Action = "audit.mended"
	auditDamaged   Action = "audit.damaged"
	auditLost      Action = "audit.lost"
	auditPruned    Action = "audit.pruned"
	familyOfAudits        = "audit."
)

// Bookkeeping reports whether a is an action of the log that only serves its verification.
func (a Action) Bookkeeping() bool { return a == auditSegment || a == auditSigned }

// Level selects the actions that are logged. Each level includes the previous ones.
type Level string

const (
	// Off logs nothing.
	Off Level = "off"
	// Changes logs administration, keys, trust, registrations, refusals, start and stop.
	Changes Level = "changes"
	// Tasks adds messages, cancellations, webhooks and memory changes of callers.
	Tasks Level = "tasks"
	// Reads adds reads of tasks and of large parts.
	Reads Level = "reads"
)

var ranks = map[Level]int{Off: 0, Changes: 1, Tasks: 2, Reads: 3}

// level returns the lowest level at which an action is logged.
func (a Action) level() Level {
	switch a {
	case TaskGet, TaskList, TaskSubscribe, PartGet:
		return Reads
	case TaskSend, TaskCancel, PushSet, PushDelete, MemorySet, MemoryDelete, MemoryEnd:
		return Tasks
	}
	return Changes
}

// Has reports whether level l logs an action; the zero Level is Tasks.
func (l Level) Has(a Action) bool {
	return ranks[a.level()] <= ranks[cmp.Or(l, Tasks)]
}

// Outcome is the outcome of an action.
type Outcome string

const (
	// Asked means that the action is allowed and about to begin; another entry records its end.
	Asked Outcome = "asked"
	// OK means that the action has succeeded.
	OK Outcome = "ok"
	// Refused means that the actor is not allowed to perform the action, or that the request is
	// not acceptable.
	Refused Outcome = "refused"
	// Failed means that the action was tried and has failed.
	Failed Outcome = "failed"
)

// Actor is the party that performs an action. Empty fields are unknown.
type Actor struct {
	// ID is the id of the principal. "local" is a caller without credentials, "hub" the hub
	// itself, "operator" the user of a command on the hub's folder.
	ID string `json:"id,omitempty"`
	// Owner is the owner of the principal's tasks, such as "org:acme".
	Owner string `json:"owner,omitempty"`
	// Auth is the method of authentication, such as "key:mfrggzdfmz", "token" or "none".
	Auth string `json:"auth,omitempty"`
	// From is the address of the caller, "host:port".
	From string `json:"from,omitempty"`
}

// Subject is the object of an action. Empty fields do not apply.
type Subject struct {
	// Kind is the kind of the object with ID, such as "key", "agent", "config".
	Kind  string `json:"kind,omitempty"`
	ID    string `json:"id,omitempty"`
	Agent string `json:"agent,omitempty"`
	Task  string `json:"task,omitempty"`
}

// Field is a further detail of an action.
type Field struct{ Name, Value string }

// Record is the content of an entry. It must not contain secrets or texts of messages.
type Record struct {
	Actor   Actor
	Action  Action
	Subject Subject
	// Outcome is the outcome; empty means OK.
	Outcome Outcome
	// Reason is the reason of a refusal or failure.
	Reason string
	// Trace is the trace id of the request in hexadecimal digits (W3C Trace Context); it may be
	// empty.
	Trace string
	// Detail holds details of the action in the order in which they are written.
	Detail []Field
}

// Hash is a SHA-256. As text it has 64 lower-case hexadecimal digits.
type Hash [sha256.Size]byte

// String returns the hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText implements encoding.TextMarshaler.
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts only lower-case digits, so that
// a hash has one text form.
func (h *Hash) UnmarshalText(text []byte) error {
	var sum Hash
	n, err := hex.Decode(sum[:], text[:min(len(text), 2*len(sum))])
	if err != nil || n != len(sum) || len(text) != 2*n || sum.String() != string(text) {
		return errors.New("is not a SHA-256 in 64 lower-case hexadecimal digits")
	}
	*h = sum
	return nil
}

// Mark is a position in a log: an entry and its hash. Its text form is "N:HASH".
type Mark struct {
	Seq  uint64 `json:"seq"`
	Hash Hash   `json:"hash"`
}

// String returns "N:HASH".
func (m Mark) String() string { return strconv.FormatUint(m.Seq, 10) + ":" + m.Hash.String() }

// ParseMark parses "N:HASH".
func ParseMark(text string) (Mark, error) {
	number, digits, _ := strings.Cut(text, ":")
	var m Mark
	var err error
	if m.Seq, err = strconv.ParseUint(number, 10, 64); err != nil || m.Seq == 0 {
		return Mark{}, fmt.Errorf("%q is not an entry number", clip(number))
	}
	if err := m.Hash.UnmarshalText([]byte(digits)); err != nil {
		return Mark{}, fmt.Errorf("the hash %w", err)
	}
	return m, nil
}

// Entry is an entry of a log.
type Entry struct {
	Seq     uint64            `json:"seq"`
	At      time.Time         `json:"at"`
	Actor   Actor             `json:"actor,omitzero"`
	Action  Action            `json:"action"`
	Subject Subject           `json:"subject,omitzero"`
	Outcome Outcome           `json:"outcome"`
	Reason  string            `json:"reason,omitempty"`
	Trace   string            `json:"trace,omitempty"`
	Detail  map[string]string `json:"detail,omitempty"`
	// Prev is the hash of the previous entry; zero for the first one.
	Prev Hash `json:"prev"`
	Hash Hash `json:"hash"`
}

const (
	maxText = 512
	// maxLine is an upper limit for the length of an entry, see maxText and maxFields.
	maxLine   = 256 << 10
	maxFields = 16
)

// position is the number of an entry and the hash of the previous one.
type position struct {
	seq  uint64
	prev Hash
}

// timeForm is RFC 3339 with nine digits, so that the order of texts is the order of times.
const timeForm = "2006-01-02T15:04:05.000000000Z"

// appendEntry appends the line of r at a position of the chain, and returns its hash.
func appendEntry(dst []byte, p position, at time.Time, r *Record) ([]byte, Hash) {
	start := len(dst)
	dst = append(dst, `{"seq":`...)
	dst = strconv.AppendUint(dst, p.seq, 10)
	dst = append(dst, `,"at":"`...)
	dst = at.UTC().AppendFormat(dst, timeForm)
	dst = append(dst, '"')
	a, s := &r.Actor, &r.Subject
	dst = appendObject(dst, "actor", []Field{{"id", a.ID}, {"owner", a.Owner}, {"auth", a.Auth}, {"from", a.From}})
	dst = appendText(dst, "action", string(r.Action))
	dst = appendObject(dst, "subject", []Field{{"kind", s.Kind}, {"id", s.ID}, {"agent", s.Agent}, {"task", s.Task}})
	dst = appendText(dst, "outcome", string(cmp.Or(r.Outcome, OK)))
	dst = appendText(dst, "reason", r.Reason)
	dst = appendText(dst, "trace", r.Trace)
	dst = appendObject(dst, "detail", r.Detail[:min(len(r.Detail), maxFields)])
	dst = append(dst, `,"prev":"`...)
	dst = hex.AppendEncode(dst, p.prev[:])
	dst = append(dst, '"')
	sum := Hash(sha256.Sum256(dst[start:]))
	dst = append(dst, hashMember...)
	dst = hex.AppendEncode(dst, sum[:])
	return append(dst, lineEnd...), sum
}

const (
	hashMember = `,"hash":"`
	lineEnd    = "\"}\n"
	// tailSize is the length of the part of a line behind the hashed bytes, without the
	// newline.
	tailSize = len(hashMember) + 2*sha256.Size + len(lineEnd) - 1
)

// appendText appends a member unless it is empty.
func appendText(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	dst = append(dst, ',', '"')
	dst = append(append(dst, name...), '"', ':')
	return rawjson.AppendString(dst, clip(value))
}

// appendObject appends an object of strings unless all of them are empty.
func appendObject(dst []byte, name string, members []Field) []byte {
	start := len(dst)
	dst = append(dst, ',', '"')
	dst = append(append(dst, name...), '"', ':', '{')
	empty := true
	for i := range members {
		m := &members[i]
		if m.Value == "" {
			continue
		}
		if !empty {
			dst = append(dst, ',')
		}
		empty = false
		dst = append(rawjson.AppendString(dst, clip(m.Name)), ':')
		dst = rawjson.AppendString(dst, clip(m.Value))
	}
	if empty {
		return dst[:start]
	}
	return append(dst, '}')
}

// clip returns s as valid UTF-8 of at most maxText bytes.
func clip(s string) string {
	return strings.ToValidUTF8(textclip.FitBytes(s, maxText), "\uFFFD")
}

// cut returns the hashed bytes of a line without its newline, and the hash that the line names;
// ok is false if the line does not have the form of an entry.
func cut(line []byte) (body []byte, named Hash, ok bool) {
	if len(line) <= tailSize {
		return nil, Hash{}, false
	}
	body, tail := line[:len(line)-tailSize], line[len(line)-tailSize:]
	digits, found := strings.CutPrefix(string(tail), hashMember)
	digits, ended := strings.CutSuffix(digits, lineEnd[:2])
	if !found || !ended || named.UnmarshalText([]byte(digits)) != nil {
		return nil, Hash{}, false
	}
	return body, named, true
}

// ErrNoEntry is wrapped by errors about lines that are not entries, or were changed.
var ErrNoEntry = errors.New("is not an entry of an audit log")

// Parse parses a line, with or without its newline. The error wraps ErrNoEntry. Parse does not
// check the position of the line in a log.
func Parse(line []byte) (*Entry, error) {
	line = []byte(strings.TrimSuffix(string(line), "\n"))
	body, named, ok := cut(line)
	if !ok {
		return nil, fmt.Errorf("the line %w", ErrNoEntry)
	}
	if Hash(sha256.Sum256(body)) != named {
		return nil, fmt.Errorf("the line %w: its bytes do not match its hash", ErrNoEntry)
	}
	e := new(Entry)
	if err := json.Unmarshal(line, e); err != nil {
		return nil, fmt.Errorf("the line %w: %w", ErrNoEntry, err)
	}
	return e, nil
}
