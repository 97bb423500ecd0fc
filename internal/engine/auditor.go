package engine

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth/audit"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// Auditor writes down who does what to tasks. Methods are called concurrently, and keep
// nothing of the caller but its texts.
type Auditor interface {
	// Doing is told of a deed before it is stored, and returns what waits until that is
	// written down, or nil if nobody has to wait. An error refuses the deed.
	Doing(c *op.Caller, d Deed) (Written, error)
	// Undone is told that a deed has not come to pass that Doing was told of, or was refused
	// by the policy: then its action is audit.PolicyRefused.
	Undone(c *op.Caller, d Deed, err error)
	// Looked is told of what a caller was shown. It returns at once.
	Looked(c *op.Caller, d Deed)
}

// Written is on its way to where it is kept.
type Written interface {
	// Wait returns when it is durable, or why it cannot be.
	Wait() error
}

// Deed is what a caller does to a task.
type Deed struct {
	Action audit.Action
	// Task and Agent are empty where there is no single one.
	Task  a2a.TaskID
	Agent task.Agent
	// Config is the id of a push notification config.
	Config string
	// Part is the digest of a large part.
	Part string
	// Op is what the policy has refused.
	Op string
	// Hook says that a message brings such a config along.
	Hook bool
	// Child says that an agent does it on behalf of a task of the caller.
	Child bool
}

// doing tells the auditor of a deed before it is stored, so that both are written at the
// same time.
func (e *Engine) doing(c *op.Caller, d Deed) (Written, error) {
	if e.cfg.Auditor == nil {
		return nil, nil
	}
	return e.cfg.Auditor.Doing(c, d)
}

// assured waits for what doing has returned.
func assured(w Written) error {
	if w == nil {
		return nil
	}
	return w.Wait()
}

// audited does a deed, and waits until it is written down.
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
