package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// Action names what was done. Names are stable.
type Action string

// What callers do to tasks.
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

// What is done to the hub, and whom it refuses.
const (
	TaskOperate    Action = "task.operate"
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
	AuditExport    Action = "audit.export"
	auditSegment   Action = "audit.segment"
	auditSigned    Action = "audit.checkpoint"
	auditMended    Action = "audit.mended"
	auditDamaged   Action = "audit.damaged"
	auditLost      Action = "audit.lost"
	auditPruned    Action = "audit.pruned"
	familyOfAudits        = "audit."
)

// Level says how much is written down. Each level has what those before it have.
type Level string

const (
	// Off writes nothing down.
	Off Level = "off"
	// Changes are administration, keys, trust, registrations, refusals, start and stop.
	Changes Level = "changes"
	// Tasks are messages, cancellations, webhooks and notes of callers, too.
	Tasks Level = "tasks"
	// Reads are tasks and large parts that callers look at, too.
	Reads Level = "reads"
)

var ranks = map[Level]int{Off: 0, Changes: 1, Tasks: 2, Reads: 3}

// level returns the first level at which an action is written down.
func (a Action) level() Level {
	switch a {
	case TaskGet, TaskList, TaskSubscribe, PartGet:
		return Reads
	case TaskSend, TaskCancel, PushSet, PushDelete, MemorySet, MemoryDelete, MemoryEnd:
		return Tasks
	}
	return Changes
}

// Has reports whether an action is written down at level l; the zero Level is Tasks.
func (l Level) Has(a Action) bool {
	if l == "" {
		l = Tasks
	}
	return ranks[a.level()] <= ranks[l]
}

// Outcome is what came of something.
type Outcome string

const (
	// Asked says that somebody may do it and is about to: how it ends is another entry.
	Asked Outcome = "asked"
	// OK says that it was done.
	OK Outcome = "ok"
	// Refused says that whoever asked for it may not have it done, or not so.
	Refused Outcome = "refused"
	// Failed says that it was tried and did not work.
	Failed Outcome = "failed"
)

// Actor is who did something. Empty fields are not known.
type Actor struct {
	// ID is the id of the principal; "local" is the caller without credentials, "hub" the
	// hub itself, "operator" whoever runs a command on its folder.
	ID string `json:"id,omitempty"`
	// Owner owns the tasks of the principal, such as "org:acme".
	Owner string `json:"owner,omitempty"`
	// Auth says how it was authenticated, such as "key:mfrggzdfmz", "token" or "none".
	Auth string `json:"auth,omitempty"`
	// From is the address that it called from, "host:port".
	From string `json:"from,omitempty"`
}

// Subject is what something was done to. Empty fields do not apply.
type Subject struct {
	// Kind is that of ID, such as "key", "agent", "config".
	Kind  string `json:"kind,omitempty"`
	ID    string `json:"id,omitempty"`
	Agent string `json:"agent,omitempty"`
	Task  string `json:"task,omitempty"`
}

// Field is a further fact about what was done.
type Field struct{ Name, Value string }

// Record is what is written down. It must hold no secret and no text of a message.
type Record struct {
	Actor   Actor
	Action  Action
	Subject Subject
	// Outcome is OK if it is empty.
	Outcome Outcome
	// Reason says why it was refused or has failed.
	Reason string
	// Trace is the trace of the request in hexadecimal digits (W3C Trace Context), if it
	// has one.
	Trace string
	// Detail has facts of the action in the order in which they are written.
	Detail []Field
}

// Hash is a SHA-256. As text it has 64 lower-case hexadecimal digits.
type Hash [sha256.Size]byte

// String returns the digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText implements encoding.TextMarshaler.
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It takes lower-case digits alone, so
// that a hash has one form.
func (h *Hash) UnmarshalText(text []byte) error {
	var sum Hash
	n, err := hex.Decode(sum[:], text[:min(len(text), 2*len(sum))])
	if err != nil || n != len(sum) || len(text) != 2*n || sum.String() != string(text) {
		return errors.New("is not a SHA-256 in 64 lower-case hexadecimal digits")
	}
	*h = sum
	return nil
}

// Mark is a place in a log: an entry and its hash. As text it is "N:HASH".
type Mark struct {
	Seq  uint64 `json:"seq"`
	Hash Hash   `json:"hash"`
}

// String returns "N:HASH".
func (m Mark) String() string { return strconv.FormatUint(m.Seq, 10) + ":" + m.Hash.String() }

// ParseMark reads "N:HASH".
func ParseMark(text string) (Mark, error) {
	number, digits, _ := strings.Cut(text, ":")
	var m Mark
	var err error
	if m.Seq, err = strconv.ParseUint(number, 10, 64); err != nil || m.Seq == 0 {
		return Mark{}, fmt.Errorf("%q is not the number of an entry", clip(number))
	}
	if err := m.Hash.UnmarshalText([]byte(digits)); err != nil {
		return Mark{}, fmt.Errorf("the hash %w", err)
	}
	return m, nil
}

// Entry is an entry as it stands in a log.
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
	// Prev is the hash of the entry before; zero for the first one.
	Prev Hash `json:"prev"`
	Hash Hash `json:"hash"`
}

const (
	maxText = 512
	// maxLine is more bytes than an entry has, see maxText and maxFields.
	maxLine   = 256 << 10
	maxFields = 16
)

// position is where an entry gets its place in the chain.
type position struct {
	seq  uint64
	prev Hash
}

// timeForm is RFC 3339 with nine digits, so that entries sort as texts do.
const timeForm = "2006-01-02T15:04:05.000000000Z"

// appendEntry appends the line of r at a place of the chain, and returns its hash.
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
	outcome := r.Outcome
	if outcome == "" {
		outcome = OK
	}
	dst = appendText(dst, "outcome", string(outcome))
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
	// tailSize is the length of what follows the bytes that are hashed, without the newline.
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

// appendObject appends an object of texts unless all of them are empty.
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
	const more = "…"
	if len(s) > maxText {
		end := maxText - len(more)
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end] + more
	}
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// cut returns the bytes of a line, without its newline, that are hashed, and the hash that
// it names; not ok if it has not the form of an entry.
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

// ErrNoEntry says that a line is not an entry, or not as it was written.
var ErrNoEntry = errors.New("is not an entry of an audit log")

// Parse reads a line, with or without its newline. The error wraps ErrNoEntry; what
// comes before and after the line is not looked at.
func Parse(line []byte) (*Entry, error) {
	line = []byte(strings.TrimSuffix(string(line), "\n"))
	body, named, ok := cut(line)
	if !ok {
		return nil, fmt.Errorf("the line %w", ErrNoEntry)
	}
	if Hash(sha256.Sum256(body)) != named {
		return nil, fmt.Errorf("the line %w: its bytes are not those of its hash", ErrNoEntry)
	}
	e := new(Entry)
	if err := json.Unmarshal(line, e); err != nil {
		return nil, fmt.Errorf("the line %w: %w", ErrNoEntry, err)
	}
	return e, nil
}
