package adminapi

import (
	"errors"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/trust"
)

// TrustList is the answer of GET /api/v1/trust.
type TrustList struct {
	Entries []trust.Entry `json:"entries"`
}

// SetTrust requests a change of the trust in a caller or an agent.
type SetTrust struct {
	// AgentID is the id of a principal or the name of an agent. It is required.
	AgentID string `json:"agentId"`
	// Level is the name or the number of a level; empty means unchanged.
	Level string `json:"level,omitempty"`
	// Approve and Revoke are skills; RevokeAll revokes all others.
	Approve   []string `json:"approve,omitempty"`
	Revoke    []string `json:"revoke,omitempty"`
	RevokeAll bool     `json:"revokeAll,omitempty"`
}

func (h *Handler) listTrust(r *http.Request) (*TrustList, error) {
	return &TrustList{Entries: append([]trust.Entry{}, h.Trust.List()...)}, nil
}

func (h *Handler) setTrust(r *http.Request, ask *SetTrust) (*trust.Entry, error) {
	c := &trust.Change{Approve: ask.Approve, Revoke: ask.Revoke, RevokeAll: ask.RevokeAll}
	if ask.Level != "" {
		var err error
		if c.Level, err = trust.ParseLevel(ask.Level); err != nil {
			return nil, apierror.Field(a2a.ErrInvalidParams, "level", "%s", err.Error())
		}
	}
	e, err := h.Trust.Set(r.Context(), trust.Subject(ask.AgentID), c)
	switch {
	case errors.Is(err, trust.ErrInvalid):
		err = apierror.New(a2a.ErrInvalidParams, "%s", strings.TrimPrefix(err.Error(), "invalid: "))
	case errors.Is(err, trust.ErrInFile):
		err = apierror.New(a2a.ErrUnsupportedOperation, "%s", err.Error())
	}
	if err != nil {
		return nil, err
	}
	about(r, audit.Subject{Kind: "principal", ID: string(e.Subject)}, audit.Field{Name: "level", Value: e.Level.String()},
		audit.Field{Name: "skills", Value: strings.Join(e.Skills, " ")})
	h.record(r, "trust was changed", "who", e.Subject, "level", e.Level.String(), "skills", e.Skills)
	return &e, nil
}
