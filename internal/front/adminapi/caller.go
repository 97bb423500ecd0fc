package adminapi

import (
	"net/http"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/auth/policy"
	"github.com/parley-a2a/parley/internal/adminjson"
)

// caller answers with the caller's own identity.
func (h *Handler) caller(r *http.Request) (*adminjson.Caller, error) {
	p := auth.PrincipalFrom(r.Context())
	return &adminjson.Caller{
		ID: p.ID, Name: p.DisplayName, Owner: string(p.Owner()), Anonymous: p.Anonymous(), Roles: list(p.Roles), Admin: h.mayRead(r, policy.AdminTasks),
	}, nil
}
