package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash/maphash"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// Idempotency says which messages are made durable at most once: those that come with
// a key. The zero value does so for none.
//
// A key belongs to the caller's owner and to the agent. A message with a key that was
// used is not stored again: its caller gets the task of the first one as it is now, or
// waits for it as the first caller does. If its content is another, it is refused with
// apierror.ErrKeyReused. A message with a key is always answered with a task.
type Idempotency struct {
	// Header takes the key that came beside the payload, as Idempotency-Key.
	Header bool
	// MessageID takes the id of a message that came without a key.
	MessageID bool
	// Same returns for how long a message that asks for a skill, begins a task and says
	// the same as an earlier one is taken for the same message, though it has no key. If
	// nil, or for zero, it never is.
	Same func(skill string) time.Duration
	// TTL is how long a key is remembered, at most as long as its task. Zero means 24 h.
	TTL time.Duration
}

const (
	defaultTTL = 24 * time.Hour
	maxKey     = 256
)

// requestsOf returns where requests with keys are kept; nil if there are none.
func requestsOf(cfg *Config) task.Requests {
	if x := &cfg.Idempotency; !x.Header && !x.MessageID && x.Same == nil {
		return nil
	}
	s, ok := cfg.Store.(task.Requests)
	if !ok {
		cfg.Logger.Warn("the store keeps no requests: idempotency keys do not count")
		return nil
	}
	return s
}

// TakesKeys reports whether the keys count that come beside payloads.
func (e *Engine) TakesKeys() bool { return e.requests != nil && e.cfg.Idempotency.Header }

// keyOf returns the name of a request: what kind of key it is, and the key. It is empty
// for a request that may be made again.
func (e *Engine) keyOf(r *op.Send) (string, error) {
	if e.requests == nil {
		return "", nil
	}
	if r.Key != "" && e.cfg.Idempotency.Header {
		if !utf8.ValidString(r.Key) {
			return "", apierror.Field(a2a.ErrInvalidParams, keyField, "is not UTF-8")
		}
		return "key " + r.Key, checkID(keyField, r.Key, maxKey)
	}
	id := r.Message.ID
	if id == "" || !e.cfg.Idempotency.MessageID {
		return e.contentOf(r), nil
	}
	if len(id) > maxKey {
		sum := sha256.Sum256([]byte(id))
		return "digest " + hex.EncodeToString(sum[:]), nil
	}
	return "message " + id, nil
}

// sameKind is the kind of the name of a request that is its content.
const sameKind = "same "

// contentOf returns the name of a request that is told from others by its content alone;
// empty if it is not.
func (e *Engine) contentOf(r *op.Send) string {
	if r.Message.TaskID != "" || e.sameFor(r) <= 0 {
		return ""
	}
	return sameKind + hex.EncodeToString(fingerprint("", r, nil))
}

// sameFor returns for how long the content of a request tells it from others.
func (e *Engine) sameFor(r *op.Send) time.Duration {
	if e.cfg.Idempotency.Same == nil || r.Message.Skill == "" {
		return 0
	}
	return min(e.cfg.Idempotency.Same(r.Message.Skill), e.cfg.Idempotency.TTL)
}

// keyField is what errors call the key.
const keyField = "Idempotency-Key"

// admitOnce is admit for a message with a key. If the message was admitted before, it
// returns where. Two that come at the same time find each other in the store.
func (e *Engine) admitOnce(ctx context.Context, c *op.Caller, r *op.Send, key string) (*admitted, error) {
	if r.Message.TaskID == "" {
		// The key belongs to an agent, and whoever repeats the message must not have
		// another one drawn.
		defer e.drawing.lock(c.Principal.Owner(), key)()
		if err := e.chooseOnce(ctx, c, r, key); err != nil {
			return nil, err
		}
	}
	const attempts = 3 // the first may lose a race, and what has won it may be swept
	for range attempts {
		name, err := e.addressee(ctx, c, r)
		if err != nil {
			return nil, err
		}
		r.Request = e.request(c, r, name, key)
		ad, err := e.repeated(ctx, c.Principal.Owner(), name, r.Request)
		if ad != nil || err != nil {
			return ad, err
		}
		ad, err = e.admitMessage(ctx, c, r, false)
		if !errors.Is(err, task.ErrKeyUsed) {
			return ad, err
		}
	}
	return nil, &apierror.Error{Err: apierror.ErrUnavailable, Message: "others use the same idempotency key", RetryAfter: time.Second}
}

// request returns what is stored with a message that has a key.
func (e *Engine) request(c *op.Caller, r *op.Send, name task.Agent, key string) *task.Request {
	at := now()
	return &task.Request{
		Key: key, Fingerprint: fingerprint(name, r, e.Activated(name, c.Extensions)),
		At: at, Since: e.since(at, r, key),
	}
}

// since returns from when on an earlier request with the key counts at a time.
func (e *Engine) since(at task.Millis, r *op.Send, key string) task.Millis {
	ttl := e.cfg.Idempotency.TTL
	if strings.HasPrefix(key, sameKind) {
		ttl = e.sameFor(r)
	}
	return at - task.Millis(ttl.Milliseconds())
}

// chooseOnce sets r.Chosen where several agents have the skill: to the one that got the
// message the first time, or else to the one that gets it now.
func (e *Engine) chooseOnce(ctx context.Context, c *op.Caller, r *op.Send, key string) error {
	agents, err := e.candidates(c, r)
	if err != nil || len(agents) == 1 {
		return err
	}
	for _, a := range agents {
		had, err := e.requests.Request(ctx, c.Principal.Owner(), a.Name, key)
		switch {
		case err == nil && had.At >= e.since(now(), r, key):
			r.Chosen = a.Name
			return nil
		case err != nil && !errors.Is(err, task.ErrNotFound):
			return err
		}
	}
	r.Chosen = e.choose(r, agents).Name
	return nil
}

// drawing lets one message with a key be admitted at a time.
type drawing struct {
	seed  maphash.Seed
	locks [64]sync.Mutex
}

// lock returns how to unlock.
func (d *drawing) lock(owner task.Owner, key string) (unlock func()) {
	m := &d.locks[maphash.Comparable(d.seed, [2]string{string(owner), key})%uint64(len(d.locks))]
	m.Lock()
	return m.Unlock
}

// addressee returns the agent that a message is for.
func (e *Engine) addressee(ctx context.Context, c *op.Caller, r *op.Send) (task.Agent, error) {
	if r.Message.TaskID != "" {
		l, err := e.find(ctx, c, &r.Target, sought{r.Message.TaskID, needOf(r)})
		if err == nil {
			defer e.live.release(l)
			return l.snapshot().Agent, nil
		}
		if !r.NewIDs || !errors.Is(err, a2a.ErrTaskNotFound) {
			return "", err
		}
	}
	a, err := e.resolve(c, r)
	if err != nil {
		return "", err
	}
	return a.Name, nil
}

// repeated returns where the request was admitted before, or nil if it was not, or not
// in a time that counts. The caller releases the task.
func (e *Engine) repeated(ctx context.Context, owner task.Owner, name task.Agent, r *task.Request) (*admitted, error) {
	had, err := e.requests.Request(ctx, owner, name, r.Key)
	switch {
	case errors.Is(err, task.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case had.At < r.Since:
		return nil, nil
	case !bytes.Equal(had.Fingerprint, r.Fingerprint):
		return nil, apierror.New(apierror.ErrKeyReused, "the idempotency key was used for a request with other content").
			With("taskId", string(had.Head.ID))
	}
	l, err := e.open(ctx, ref{owner, had.Head.ID})
	if err != nil {
		return nil, notFound(err)
	}
	return &admitted{live: l, version: had.Version, repeated: true}, nil
}

// dealtWithLocked reports whether the message has been dealt with. Of a message that was
// admitted before, perhaps by another process, the head says it: a later one was read,
// or the run that has read it waits for the caller.
func (ad *admitted) dealtWithLocked() bool {
	h := &ad.live.head
	if !ad.repeated {
		return ad.live.dealtWithLocked(ad.version)
	}
	return h.Read > ad.version || h.Read == ad.version && idle(h) && h.State.Interrupted() || ad.live.dealtWithLocked(ad.version)
}

// sweepRequests forgets the keys whose time is over, a slice at a time.
func (e *Engine) sweepRequests(ctx context.Context, at time.Time) {
	if e.requests == nil {
		return
	}
	before := task.MillisOf(at.Add(-e.cfg.Idempotency.TTL))
	for ctx.Err() == nil {
		n, err := e.requests.SweepRequests(ctx, before, sweepSlice)
		if err != nil {
			e.cfg.Logger.Error("sweep requests", "error", err)
			return
		}
		if n < sweepSlice {
			return
		}
	}
}
