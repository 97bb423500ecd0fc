package engine

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth/audit"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// Auditor records what callers do to tasks. Its methods are called concurrently. They keep
// nothing of the caller except its strings.
type Auditor interface {
	// Doing is called before a deed is stored. It returns a Written that waits for the durable
	// record, or nil if the engine need not wait. An error refuses the deed.
	Doing(c *op.Caller, d Deed) (Written, error)
	// Undone is called if a deed passed to Doing has failed, or if the policy refused a deed:
	// then its action is audit.PolicyRefused.
	Undone(c *op.Caller, d Deed, err error)
	// Looked is called after a caller was shown tasks. It returns at once.
	Looked(c *op.Caller, d Deed)
}

// Written is an audit record that is being stored.
type Written interface {
	// Wait returns when the record is durable, or the reason why it cannot be stored.
	Wait() error
}

// Deed is an operation of a caller on a task.
type Deed struct {
	Action audit.Action
	// Task and Agent are empty if the deed concerns more than one.
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

// doing passes a deed to the auditor before the deed is stored, so that both are written at the
// same time.
func (e *Engine) doing(c *op.Caller, d Deed) (Written, error) {
	if e.cfg.Auditor == nil {
		return nil, nil
	}
	return e.cfg.Auditor.Doing(c, d)
}

// assured waits for the Written that doing has returned.
func assured(w Written) error {
	if w == nil {
		return nil
	}
	return w.Wait()
}

// audited calls do for a deed, and waits until the audit record is durable.
func (e *Engine) audited(c *op.Caller, d Deed, do func() error) error {
	written, err := e.doing(c, d)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		e.undone(c, d, err)
		return err
	}
	return assured(written)
}

func (e *Engine) undone(c *op.Caller, d Deed, err error) {
	if e.cfg.Auditor != nil {
		e.cfg.Auditor.Undone(c, d, err)
	}
}

func (e *Engine) looked(c *op.Caller, d Deed) {
	if e.cfg.Auditor != nil {
		e.cfg.Auditor.Looked(c, d)
	}
}
