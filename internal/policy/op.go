package policy

import (
	"fmt"

	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/suggest"
)

// Op is an operation in rules.
type Op uint8

// Operations of the protocol refer to the agent of the path, of the message or of the task.
const (
	Send Op = iota
	Stream
	Get
	List
	Cancel
	Subscribe
	PushCreate
	PushGet
	PushList
	PushDelete
	ExtendedCard

	// Operations of /api/v1 on the caller's own data.

	Status
	MemoryRead
	MemoryWrite
	InboxRead
	InboxWrite

	// Operations of administrators. AdminRead allows reading all administrative data; each of
	// the others allows changing and reading one part. AdminAgents refers to an agent if the
	// path names one.

	AdminRead
	AdminKeys
	AdminAgents
	AdminTasks
	AdminPush
	AdminInbox
	AdminTrust
	AdminAudit
	// AdminOther covers administration without a name of its own.
	AdminOther

	operations
)

var names = [operations]string{
	Send: "send", Stream: "stream", Get: "get", List: "list", Cancel: "cancel", Subscribe: "subscribe",
	PushCreate: "push.create", PushGet: "push.get", PushList: "push.list", PushDelete: "push.delete",
	ExtendedCard: "card.extended", Status: "status",
	MemoryRead: "memory.read", MemoryWrite: "memory.write", InboxRead: "inbox.read", InboxWrite: "inbox.write",
	AdminRead: "admin.read", AdminKeys: "admin.keys", AdminAgents: "admin.agents", AdminTasks: "admin.tasks",
	AdminPush: "admin.push", AdminInbox: "admin.inbox", AdminTrust: "admin.trust", AdminAudit: "admin.audit",
	AdminOther: "admin.other",
}

// String returns the name of the operation in rules.
func (o Op) String() string {
	if o >= operations {
		return fmt.Sprintf("Op(%d)", uint8(o))
	}
	return names[o]
}

// Ops returns all operations.
func Ops() []Op {
	all := make([]Op, operations)
	for i := range all {
		all[i] = Op(i)
	}
	return all
}

// ParseOp returns the operation with a name.
func ParseOp(name string) (Op, error) {
	for o, have := range names {
		if have == name {
			return Op(o), nil
		}
	}
	return 0, unknownOp(name)
}

func unknownOp(name string) error {
	meant := ""
	if best := suggest.Nearest(clip.Bytes(name, maxQuoted), names[:]); best != "" {
		meant = "; did you mean " + best + "?"
	}
	return fmt.Errorf("unknown operation %q%s", clip.Bytes(name, maxQuoted), meant)
}

// Admin reports whether the operation is for administrators.
func (o Op) Admin() bool { return o >= AdminRead && o < operations }

// begins reports whether the operation may start a task, so that skills are checked.
func (o Op) begins() bool { return o == Send || o == Stream }

// ofAgents reports whether the operation may refer to an agent.
func (o Op) ofAgents() bool { return o <= ExtendedCard || o == AdminAgents }

// mask is a set of operations.
type mask uint32

func (m mask) has(o Op) bool { return m&(1<<o) != 0 }

func maskOf(fits func(Op) bool) (m mask) {
	for o := range operations {
		if fits(o) {
			m |= 1 << o
		}
	}
	return m
}

// parseOps returns the operations that match the names of a rule.
func parseOps(list []string) (m mask, err error) {
	for _, name := range list {
		p, err := parsePattern(name)
		if err != nil {
			return 0, err
		}
		found := maskOf(func(o Op) bool { return p.matches(names[o]) })
		if found == 0 {
			return 0, unknownOp(name)
		}
		m |= found
	}
	return m, nil
}

// maxQuoted limits quoted text in errors, in bytes.
const maxQuoted = 64
