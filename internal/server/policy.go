package server

import (
	"context"
	"path/filepath"

	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/file/policyfile"
	"github.com/parley-a2a/parley/internal/policy"
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
	path := h.cfg.Policy.File
	note := func(c *policyfile.Change) { h.audit.policyLoaded(path, c.Sum, c.Err) }
	h.policy.Run(ctx, &h.files, note, func(c *policyfile.Change) { // the Watcher logs errors
		h.logger.Info("policy changed and applied", "file", path, "sha256", c.Sum)
		for _, f := range c.Failures {
			h.logger.Warn("a test of the policy fails", "at", f.At, "error", f.Text)
		}
	})
	return nil
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
