package engine

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// Auditor records what callers do to tasks. Its methods are called concurrently. They keep
// nothing of the caller except its strings.
type Auditor interface {
	// Begin is called before an event is stored. It returns an AuditAck that waits for the
	// durable record, or nil if the engine need not wait. An error refuses the operation.
	Begin(c *op.Caller, d AuditEvent) (AuditAck, error)
	// Abort is called if an event passed to Begin has failed, or if the policy refused an
	// operation: then its action is audit.PolicyRefused.
	Abort(c *op.Caller, d AuditEvent, err error)
	// Read is called after a caller was shown tasks. It returns at once.
	Read(c *op.Caller, d AuditEvent)
}

// AuditAck is an audit record that is being stored.
type AuditAck interface {
	// Wait returns when the record is durable, or the reason why it cannot be stored.
	Wait() error
}

// AuditEvent is an operation of a caller on a task.
type AuditEvent struct {
	Action audit.Action
	// Task and Agent are empty if the event concerns more than one.
	Task  a2a.TaskID
	Agent task.Agent
	// Config is the id of a push notification config.
	Config string
	// Part is the digest of a large part.
	Part string
	// Op is the operation that the policy refused.
	Op string
	// Hook is set if a message carries a push notification config.
	Hook bool
	// Child is set if an agent acts on behalf of a task of the caller.
	Child bool
}

// beginAudit passes an event to the auditor before it is stored, so that both are written at the
// same time.
func (e *Engine) beginAudit(c *op.Caller, d AuditEvent) (AuditAck, error) {
	if e.cfg.Auditor == nil {
		return nil, nil
	}
	return e.cfg.Auditor.Begin(c, d)
}

// awaitAudit waits for the AuditAck that beginAudit has returned.
func awaitAudit(w AuditAck) error {
	if w == nil {
		return nil
	}
	return w.Wait()
}

// audited calls do for an event, and waits until the audit record is durable.
func (e *Engine) audited(c *op.Caller, d AuditEvent, do func() error) error {
	written, err := e.beginAudit(c, d)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		e.abortAudit(c, d, err)
		return err
	}
	return awaitAudit(written)
}

func (e *Engine) abortAudit(c *op.Caller, d AuditEvent, err error) {
	if e.cfg.Auditor != nil {
		e.cfg.Auditor.Abort(c, d, err)
	}
}

func (e *Engine) auditRead(c *op.Caller, d AuditEvent) {
	if e.cfg.Auditor != nil {
		e.cfg.Auditor.Read(c, d)
	}
}
