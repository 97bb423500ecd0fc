package adminapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/dialect"
)

// Keys are the API keys of a hub. *auth.Keyring implements it. Methods are called concurrently.
type Keys interface {
	// List returns all keys.
	List() []auth.Key
	// Add makes a key valid.
	Add(ctx context.Context, k *auth.Key) error
	// Revoke makes a key invalid after a time. It returns auth.ErrNoKey or auth.ErrConfigured
	// for a key that does not exist or is defined in the configuration.
	Revoke(ctx context.Context, id string, after time.Duration) (auth.Key, error)
}

var _ Keys = (*auth.Keyring)(nil)

// The states of a key.
const (
	KeyActive  = "active"
	KeyExpired = "expired"
	KeyRevoked = "revoked"
)

// Key is an API key without its text.
type Key struct {
	ID string `json:"id"`
	// Hint is the beginning of the text, or empty.
	Hint        string `json:"hint,omitempty"`
	AgentID     string `json:"agentId"`
	DisplayName string `json:"displayName,omitempty"`
	Owner       string `json:"owner,omitempty"`
	// Owners are the organisations of a caller that belongs to several; Owner is the first.
	Owners []string `json:"owners,omitempty"`
	Roles  []string `json:"roles"`
	// State is "active", "expired" or "revoked".
	State string `json:"state"`
	// Configured states that the key is defined in the configuration file.
	Configured bool       `json:"configured,omitempty"`
	CreatedAt  *time.Time `json:"createdAt,omitempty"`
	ExpiresAt  *time.Time `json:"expiresAt,omitempty"`
	RevokedAt  *time.Time `json:"revokedAt,omitempty"`
	// LastUsedAt is the time of the last request that this hub has accepted with the key since it was started.
	LastUsedAt *time.Time `json:"lastUsedAt,omitempty"`
}

// NewKey requests a key. Every member is optional.
type NewKey struct {
	// BusAgent makes it a key for workers of the agent with this name at the hub's own bus.
	// Such a key has neither AgentID nor Owner nor Roles.
	BusAgent string `json:"busAgent,omitempty"`
	// AgentID is the principal's id; the default is unique to the key.
	AgentID     string `json:"agentId,omitempty"`
	DisplayName string `json:"displayName,omitempty"`
	Owner       string `json:"owner,omitempty"`
	// Owners are the organisations of the caller, in place of Owner.
	Owners []string `json:"owners,omitempty"`
	Roles  []string `json:"roles,omitempty"`
	// WithoutAdmin accepts a first key that is not an administrator's.
	WithoutAdmin bool `json:"withoutAdmin,omitempty"`
	// ExpiresIn is the validity of the key, as a Go duration; empty means no expiry.
	ExpiresIn string `json:"expiresIn,omitempty"`
}

// principal returns the principal of the key.
func (n *NewKey) principal() (auth.Principal, error) {
	if n.Owner != "" && len(n.Owners) > 0 {
		return auth.Principal{}, apierror.Field(a2a.ErrInvalidParams, "owners", "cannot be given together with owner")
	}
	if n.BusAgent == "" {
		p := auth.Principal{ID: n.AgentID, DisplayName: n.DisplayName, Org: n.Owner, Roles: n.Roles}
		if len(n.Owners) > 0 {
			p.Org, p.Orgs = n.Owners[0], n.Owners
		}
		return p, nil
	}
	if n.AgentID != "" || n.Owner != "" || len(n.Owners)+len(n.Roles) > 0 {
		return auth.Principal{}, apierror.Field(a2a.ErrInvalidParams, "busAgent", "cannot be combined with agentId, owner or other roles: it makes a key for workers")
	}
	role := auth.RoleBus + n.BusAgent
	return auth.Principal{ID: role, DisplayName: n.DisplayName, Roles: []string{role}}, nil
}

// MadeKey is the answer to NewKey.
type MadeKey struct {
	Key
	// Text is the key itself. It is sent here and never again.
	Text string `json:"key"`
	// First states that callers need a key from now on.
	First bool `json:"first,omitempty"`
}

// KeyList is the answer of GET /api/v1/keys.
type KeyList struct {
	Keys []Key `json:"keys"`
}

// Describe returns the public description of a key.
func Describe(k *auth.Key, now time.Time) Key {
	d := Key{
		ID: k.ID, Hint: k.Hint, AgentID: k.Principal.ID, DisplayName: k.Principal.DisplayName, Owner: k.Principal.Org, Owners: k.Principal.Orgs,
		Roles: list(k.Principal.Roles), State: KeyActive, Configured: k.Configured,
		CreatedAt: moment(k.CreatedAt), ExpiresAt: moment(k.ExpiresAt), RevokedAt: moment(k.RevokedAt), LastUsedAt: moment(k.LastUsedAt),
	}
	switch {
	case d.RevokedAt != nil:
		d.State = KeyRevoked
	case !k.Good(now):
		d.State = KeyExpired
	}
	return d
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func timeText(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Make adds a key to keys. Errors caused by the caller name the field. A first key for callers is
// refused if it is not an administrator's, unless n.WithoutAdmin is set.
func (n *NewKey) Make(ctx context.Context, keys Keys, now time.Time) (*MadeKey, error) {
	p, err := n.principal()
	if err != nil {
		return nil, err
	}
	k, text := auth.NewKey(p, now)
	if n.ExpiresIn != "" {
		d, err := time.ParseDuration(n.ExpiresIn)
		if err != nil || d <= 0 {
			return nil, apierror.Field(a2a.ErrInvalidParams, "expiresIn", "is not a duration like 2160h")
		}
		k.ExpiresAt = k.CreatedAt.Add(d)
	}
	if err := k.Principal.Check(); err != nil {
		return nil, apierror.New(a2a.ErrInvalidParams, "%s", err.Error())
	}
	first := !forCallers(keys.List()) && forCallers([]auth.Key{*k})
	if first && !n.WithoutAdmin && !slices.Contains(p.Roles, auth.RoleAdmin) {
		return nil, refuse(errFirstKey)
	}
	if err := keys.Add(ctx, k); err != nil {
		if unknown := new(auth.UnknownRoleError); errors.As(err, &unknown) {
			return nil, apierror.Field(a2a.ErrInvalidParams, "roles", "%s", unknown.Error())
		}
		return nil, err
	}
	return &MadeKey{Key: Describe(k, now), Text: text, First: first}, nil
}

func (h *Handler) listKeys(r *http.Request) (*KeyList, error) {
	answer, now := KeyList{Keys: []Key{}}, time.Now()
	for _, k := range h.Keys.List() {
		answer.Keys = append(answer.Keys, Describe(&k, now))
	}
	return &answer, nil
}

// addKey creates a key and answers with it. A caller with credentials keeps its access, whether
// the first key is an administrator's or not.
func (h *Handler) addKey(r *http.Request, n *NewKey) (*MadeKey, error) {
	n.WithoutAdmin = n.WithoutAdmin || !auth.PrincipalFrom(r.Context()).Anonymous()
	made, err := n.Make(r.Context(), h.Keys, time.Now())
	if err != nil {
		return nil, err
	}
	h.noteKey(r, "API key added", &made.Key)
	return made, nil
}

// Errors of this API beside those of the protocol.
var (
	errNoKey = dialect.Report{
		Row:     dialect.Row{HTTP: http.StatusNotFound, GRPC: dialect.NotFound, Reason: "KEY_NOT_FOUND"},
		Message: "no such key",
	}
	errFirstKey = dialect.Report{
		Row: dialect.Row{HTTP: http.StatusConflict, GRPC: dialect.FailedPrecondition, Reason: "FIRST_KEY_NOT_ADMIN"},
		Message: "the first key must be an administrator's: from then on every caller needs a key, and no caller could make or revoke one; " +
			"give it the role " + auth.RoleAdmin + ", or accept this with --yes-lock-me-out (withoutAdmin)",
	}
	errConfigured = dialect.Report{
		Row:     dialect.Row{HTTP: http.StatusConflict, GRPC: dialect.FailedPrecondition, Reason: "KEY_CONFIGURED"},
		Message: "the key is in the hub's configuration file; remove it there, and the hub rejects it immediately",
	}
)

// revokeKey makes a key invalid, at once or after the time in the query.
func (h *Handler) revokeKey(r *http.Request) (*Key, error) {
	var after time.Duration
	if text := r.URL.Query().Get("after"); text != "" {
		var err error
		if after, err = time.ParseDuration(text); err != nil || after < 0 {
			return nil, apierror.Field(a2a.ErrInvalidParams, "after", "is not a duration like 24h")
		}
	}
	id := r.PathValue("id")
	k, err := h.Keys.Revoke(r.Context(), id, after)
	switch {
	case errors.Is(err, auth.ErrNoKey):
		return nil, named(errNoKey, id)
	case errors.Is(err, auth.ErrConfigured):
		return nil, refuse(errConfigured)
	case err != nil:
		return nil, err
	}
	d := Describe(&k, time.Now())
	h.noteKey(r, "API key revoked", &d)
	return &d, nil
}

// noteKey records a change of a key with its caller.
func (h *Handler) noteKey(r *http.Request, what string, k *Key) {
	about(r, audit.Subject{Kind: "key", ID: k.ID}, audit.Field{Name: "principal", Value: k.AgentID}, audit.Field{Name: "owner", Value: k.Owner},
		audit.Field{Name: "roles", Value: strings.Join(k.Roles, " ")}, audit.Field{Name: "state", Value: k.State}, audit.Field{Name: "expires", Value: timeText(k.ExpiresAt)})
	h.record(r, what, "key", k.ID, "agent", k.AgentID)
}
