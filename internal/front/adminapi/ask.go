package adminapi

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/task"
)

const (
	maxQuestionTTL = 7 * 24 * time.Hour
	// maxQuestions is how many open questions one caller may have.
	maxQuestions = 100
	maxAsker     = 200
)

func (h *Handler) putQuestion(r *http.Request, n *adminjson.NewQuestion) (*inbox.Item, error) {
	it, err := questionOf(n, auth.PrincipalFrom(r.Context()))
	if err == nil {
		err = h.roomToAsk(r, it)
	}
	if err != nil {
		return nil, err
	}
	put, err := h.Inbox.Put(r.Context(), it)
	if err != nil {
		return nil, err
	}
	about(r, audit.Subject{Kind: "item", ID: string(put.ID), Agent: string(put.Agent)})
	return &put, nil
}

func questionOf(n *adminjson.NewQuestion, p *auth.Principal) (*inbox.Item, error) {
	ttl := maxQuestionTTL
	switch {
	case strings.TrimSpace(n.Text) == "":
		return nil, apierror.Field(a2a.ErrInvalidParams, "text", "is missing")
	case len(n.Text) > inbox.MaxText:
		return nil, apierror.Field(a2a.ErrInvalidParams, "text", "is longer than %d bytes", inbox.MaxText)
	case len(n.Agent) > maxAsker:
		return nil, apierror.Field(a2a.ErrInvalidParams, "agent", "is longer than %d bytes", maxAsker)
	case n.TTL != "":
		d, err := time.ParseDuration(n.TTL)
		if err != nil || d <= 0 || d > maxQuestionTTL {
			return nil, apierror.Field(a2a.ErrInvalidParams, "ttl", "is not a time like 5m, at most %v", maxQuestionTTL)
		}
		ttl = d
	}
	key := n.Key
	if key == "" {
		key = string(a2a.NewTaskID())
	}
	return &inbox.Item{
		ID: questionID(p.Owner(), key), Kind: inbox.Question, Owner: p.Owner(), Agent: task.Agent(n.Agent),
		Caller: p.ID, CallerName: p.DisplayName, Text: n.Text, Expires: time.Now().Add(ttl),
	}, nil
}

// questionID returns the id of the question with a key, which differs between owners.
func questionID(owner task.Owner, key string) inbox.ID {
	sum := sha256.Sum256(fmt.Appendf(nil, "parley question %q %q", owner, key))
	return inbox.ID(strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10])))
}

// roomToAsk returns an error if the caller has too many open questions already. A question that
// exists already does not count as a further one.
func (h *Handler) roomToAsk(r *http.Request, it *inbox.Item) error {
	if _, err := h.Inbox.Get(r.Context(), it.ID); err == nil {
		return nil
	}
	open, err := h.Inbox.List(r.Context(), &inbox.Query{Owner: it.Owner, State: inbox.Open, Kinds: []inbox.Kind{inbox.Question}, Limit: maxQuestions})
	if err == nil && len(open) >= maxQuestions {
		err = apierror.New(a2a.ErrUnsupportedOperation, "you already have %d open questions; answer or refuse some of them first", maxQuestions)
	}
	return err
}
