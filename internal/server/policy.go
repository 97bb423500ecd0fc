package server

import (
	"context"
	"path/filepath"

	"github.com/parley-a2a/parley/auth/audit"
	"github.com/parley-a2a/parley/auth/policy"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/file/policyfile"
)

// openPolicy returns the rules for the engine; nil if there are none. Rules of a file follow
// changes of the file.
func (h *Hub) openPolicy() (*policy.Policy, error) {
	if h.cfg.Policy.File == "" {
		return h.cfg.Policy.Load()
	}
	var err error
	if h.policy, err = policyfile.Open(h.cfg.Policy.File); err != nil {
		return nil, err
	}
	return h.policy.Policy(), nil
}

// runPolicy reloads the policy file when it changes, until ctx ends.
func (h *Hub) runPolicy(ctx context.Context) error {
	if h.policy == nil {
		return nil
	}
	return h.policy.Run(ctx, h.policyChanged)
}

// policyChanged logs and records the result of a change.
func (h *Hub) policyChanged(c *policyfile.Change) {
	path := h.cfg.Policy.File
	if c.Err != nil {
		h.logger.Error("the changed policy is not applied; the earlier rules stay in force", "file", path, "error", c.Err)
	} else {
		h.logger.Info("took a changed policy", "file", path, "sha256", c.Sum)
	}
	for _, f := range c.Failures {
		h.logger.Warn("a test of the policy fails", "at", f.At, "error", f.Text)
	}
	h.audit.policyLoaded(path, c.Sum, c.Err)
}

// policyLoaded records that a policy was read, or why it was not accepted.
func (a *auditParts) policyLoaded(path, sum string, err error) {
	if a.log == nil {
		return
	}
	r := &audit.Record{Actor: theHub, Action: audit.ConfigLoad, Subject: audit.Subject{Kind: "policy", ID: filepath.Base(path)}}
	if sum != "" {
		r.Detail = []audit.Field{{Name: "sha256", Value: sum}}
	}
	if err != nil {
		r.Outcome, r.Reason = audit.Failed, err.Error()
	}
	a.log.Note(r)
}

// policyCheck reports whether the rules of the current policy file are in force. A hub that
// keeps the previous rules because of an error in the file is still ready.
func (h *Hub) policyCheck() (engine.Check, bool) {
	if h.policy == nil {
		return engine.Check{}, false
	}
	c := engine.Check{Name: "policy", OK: true}
	if h.policy.Problem() != "" {
		c.Detail = "the changed file of the policy is not applied; the earlier rules stay in force, and the log has the reason"
	}
	return c, true
}
