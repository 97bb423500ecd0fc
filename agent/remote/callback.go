package remote

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// CallbackPath is where a hub serves Callbacks; the id of a run follows.
const CallbackPath = "/api/a2a/callback/"

// Callbacks is the webhook of remote agents that can tell about their tasks and not
// stream them. It is an http.Handler for CallbackPath. Its fields must not change once it
// is in use; it is safe for concurrent use.
//
// A notification is a hint: whatever it says, and in whatever dialect, the task is then
// read where it is. So nobody can tell lies with it, and nothing is lost if it does not
// come, because the task is looked at from time to time all the same.
type Callbacks struct {
	// URL is CallbackPath as the agents can reach it. It is required.
	URL string
	// Key makes the tokens, a different one for each task: random bytes that stay the
	// same when the hub is started again. It is required.
	Key []byte

	mu    sync.Mutex // guards the field below
	calls map[string]*callee
}

// callee is a run that waits for a callback.
type callee struct {
	token string
	told  chan struct{}
}

var _ http.Handler = (*Callbacks)(nil)

// Limits of a notification.
const (
	maxCallback = 10 << 20
	maxNesting  = 100
)

// ServeHTTP takes a notification: a StreamResponse of v1.0, a task or event of v0.3 or of
// any other spelling. It answers 204; 404 if no task waits under that id; 401 if the
// token is wrong, which comes as a bearer token or in X-A2A-Notification-Token.
func (c *Callbacks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "notifications are sent with POST", http.StatusMethodNotAllowed)
		return
	}
	to := c.find(path.Base(r.URL.Path))
	if to == nil {
		http.Error(w, "nobody waits for this", http.StatusNotFound)
		return
	}
	if !proven(r.Header, to.token) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "the token is missing or wrong", http.StatusUnauthorized)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCallback))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		http.Error(w, "the notification is too large", http.StatusRequestEntityTooLarge)
		return
	case err != nil, rawjson.KindOf(body) != rawjson.Object, rawjson.Check(body, maxNesting) != nil:
		http.Error(w, "the notification is not a JSON object", http.StatusBadRequest)
		return
	}
	select {
	case to.told <- struct{}{}:
	default: // it knows already
	}
	w.WriteHeader(http.StatusNoContent)
}

// proven reports whether a header has the token, and no other.
func proven(h http.Header, token string) bool {
	sent := append(h.Values("X-A2A-Notification-Token"), h.Values("A2A-Notification-Token")...)
	for _, v := range h.Values("Authorization") {
		if scheme, rest, _ := strings.Cut(v, " "); strings.EqualFold(scheme, "Bearer") {
			sent = append(sent, strings.TrimSpace(rest))
		}
	}
	for _, s := range sent {
		if !hmac.Equal([]byte(s), []byte(token)) {
			return false
		}
	}
	return len(sent) > 0
}

func (c *Callbacks) find(id string) *callee {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[id]
}

func (c *Callbacks) enter(id string, to *callee) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = make(map[string]*callee)
	}
	c.calls[id] = to
}

func (c *Callbacks) leave(id string, to *callee) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[id] == to {
		delete(c.calls, id)
	}
}

// secret returns what only the hub can know about a task.
func (c *Callbacks) secret(kind string, r *run) string {
	h := hmac.New(sha256.New, c.Key)
	h.Write([]byte(derived(kind, r.owner, string(r.call.Agent), string(r.ec.TaskID))))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// tellable reports whether the peer can tell the run about its task.
func (r *run) tellable(p *link) bool {
	return p.tells && r.agent.Callbacks != nil && !r.deaf
}

// listen makes the run reachable for callbacks.
func (r *run) listen() {
	if r.told != nil {
		return
	}
	c := r.agent.Callbacks
	r.told, r.hook = make(chan struct{}, 1), c.secret(idHook, r)
	c.enter(r.hook, &callee{token: c.secret(idToken, r), told: r.told})
}

// deafen undoes listen.
func (r *run) deafen() {
	if r.told != nil {
		c := r.agent.Callbacks
		c.leave(r.hook, c.find(r.hook))
		r.told = nil
	}
}

// pushConfig returns where the peer is to tell about its task.
func (r *run) pushConfig() []byte {
	c := r.agent.Callbacks
	token := c.secret(idToken, r)
	b := rawjson.AppendString([]byte(`{"url":`), strings.TrimSuffix(c.URL, "/")+"/"+r.hook)
	b = rawjson.AppendString(append(b, `,"token":`...), token)
	b = rawjson.AppendString(append(b, `,"authentication":{"scheme":"Bearer","credentials":`...), token)
	return append(b, `}}`...)
}

// sendTold sends the message to a peer that will tell what becomes of it.
func (r *run) sendTold(ctx context.Context, p *link) (done bool, err error) {
	r.listen()
	ev, err := p.Send(ctx, r.params(r.pushConfig()))
	if refused(err) {
		// Perhaps it is the webhook that it does not like: another hub may not call
		// addresses like this hub's. If it is the message, that is refused again.
		r.deaf = true
		r.deafen()
		return r.sendOpenly(ctx, p)
	}
	if err != nil {
		return false, err
	}
	return r.arrive(ctx, &ev), nil
}

// safety is how often a task is looked at of which the peer should tell.
const safety = 30 * time.Second

// awaitCallbacks looks at the task each time that the peer has told something.
func (r *run) awaitCallbacks(ctx context.Context, p *link) (done bool, err error) {
	r.listen()
	for {
		if done, err := r.look(ctx, p); done || err != nil || r.state == a2a.TaskStateAuthRequired {
			return done, err
		}
		if r.settles() {
			return r.asksAgain(), nil
		}
		select {
		case <-r.told:
		case <-time.After(r.untilSettled(max(safety, r.agent.Poll))):
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}
