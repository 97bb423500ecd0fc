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

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/wake"
)

// CallbackPath is the path at which a hub serves Callbacks; the id of a run follows it.
const CallbackPath = "/api/a2a/callback/"

// Callbacks is the webhook for remote agents that send push notifications but cannot stream. It
// is an http.Handler for CallbackPath. Its fields must not change after the first use; it is
// safe for concurrent use.
//
// A notification is only a hint: its content is ignored, and the task is read from the agent. A
// forged notification therefore changes nothing, and a missing one only delays the next read,
// because the task is polled as well.
type Callbacks struct {
	// URL is the address of CallbackPath as the agents can reach it. It is required.
	URL string
	// Key derives the tokens, a different one for each task. It holds random bytes that must
	// survive a restart of the hub. It is required.
	Key []byte

	mu    sync.Mutex // guards the field below
	calls map[string]*callbackTarget
}

// callbackTarget is a run that waits for a callback.
type callbackTarget struct {
	token    string
	notified wake.Signal
}

var _ http.Handler = (*Callbacks)(nil)

// Limits of a notification.
const (
	maxCallback = 10 << 20
	maxNesting  = 100
)

// ServeHTTP receives a notification: a StreamResponse of v1.0, a task or event of v0.3, or any
// other JSON object. The token is a bearer token or the header X-A2A-Notification-Token. The
// answer is 204; 404 if no run waits under the id; 401 if the token is missing or wrong.
func (c *Callbacks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "notifications must be sent with POST", http.StatusMethodNotAllowed)
		return
	}
	to := c.find(path.Base(r.URL.Path))
	if to == nil {
		http.Error(w, "no task waits for this notification", http.StatusNotFound)
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
	case errors.Is(err, apierror.ErrExhausted):
		w.Header().Set("Retry-After", "5")
		http.Error(w, err.Error(), http.StatusTooManyRequests)
		return
	case err != nil, rawjson.KindOf(body) != rawjson.Object, rawjson.Check(body, maxNesting) != nil:
		http.Error(w, "the notification is not a JSON object", http.StatusBadRequest)
		return
	}
	to.notified.Send()
	w.WriteHeader(http.StatusNoContent)
}

// proven reports whether a header has the token and no other token.
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

func (c *Callbacks) find(id string) *callbackTarget {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[id]
}

func (c *Callbacks) unregister(id string, to *callbackTarget) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[id] == to {
		delete(c.calls, id)
	}
}

// secret derives a value for a task that cannot be computed without the hub's key.
func (c *Callbacks) secret(kind string, r *run) string {
	h := hmac.New(sha256.New, c.Key)
	h.Write([]byte(derived(kind, r.owner, string(r.call.Agent), string(r.ec.TaskID))))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// canCallBack reports whether the peer can send notifications about its task to the run.
func (r *run) canCallBack(p *peerConnection) bool {
	return p.callsBack && r.agent.Callbacks != nil && !r.noCallbacks
}

func (r *run) registerCallback() {
	if r.notified != nil {
		return
	}
	c := r.agent.Callbacks
	r.notified, r.hook = wake.New(), c.secret(idHook, r)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = make(map[string]*callbackTarget)
	}
	c.calls[r.hook] = &callbackTarget{token: c.secret(idToken, r), notified: r.notified}
}

// unregisterCallback reverts listen.
func (r *run) unregisterCallback() {
	if r.notified != nil {
		c := r.agent.Callbacks
		c.unregister(r.hook, c.find(r.hook))
		r.notified = nil
	}
}

// sendWithCallback sends the message to a peer that reports the progress of the task by callbacks.
func (r *run) sendWithCallback(ctx context.Context, p *peerConnection) (done bool, err error) {
	r.registerCallback()
	c := r.agent.Callbacks
	token := c.secret(idToken, r)
	b := rawjson.AppendString([]byte(`{"url":`), strings.TrimSuffix(c.URL, "/")+"/"+r.hook)
	b = rawjson.AppendString(append(b, `,"token":`...), token)
	b = rawjson.AppendString(append(b, `,"authentication":{"scheme":"Bearer","credentials":`...), token)
	ev, err := p.Send(ctx, r.params(append(b, `}}`...)))
	if refused(err) {
		// The peer may have refused the webhook alone, for example a hub that must not call
		// addresses like this hub's. If it refuses the message itself, it will refuse it again.
		r.noCallbacks = true
		r.unregisterCallback()
		return r.sendWithoutCallback(ctx, p)
	}
	return r.passRead(ctx, &ev, err)
}

// callbackPoll is the longest time between two polls of a task whose peer sends callbacks.
const callbackPoll = 30 * time.Second

// awaitCallbacks reads the task after each notification of the peer.
func (r *run) awaitCallbacks(ctx context.Context, p *peerConnection) (done bool, err error) {
	r.registerCallback()
	for {
		if done, err := r.look(ctx, p); done || err != nil || r.state == a2a.TaskStateAuthRequired {
			return done, err
		}
		if r.settled() {
			return r.passRepeatedQuestion(), nil
		}
		select {
		case <-r.notified:
		case <-time.After(r.untilSettled(max(callbackPoll, r.agent.Poll))):
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}
