package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// Idempotency selects the messages that are made durable at most once: those with a key. The
// zero value selects none.
//
// A key belongs to the caller's owner and to the agent. A message with a used key is not stored
// again: its caller gets the current state of the first message's task, or waits for it like
// the first caller. If the content differs, the message is refused with apierror.ErrKeyReused.
// A message with a key is always answered with a task.
type Idempotency struct {
	// Header accepts the key that came beside the payload, as Idempotency-Key.
	Header bool
	// MessageID uses the id of a message without a key as its key.
	MessageID bool
	// Same returns for how long messages of equal content count as the same message, although
	// they have no key. It applies to messages that ask for the given skill and create a task.
	// If Same is nil or returns zero, they never do.
	Same func(skill string) time.Duration
	// TTL is how long a key is kept, at most as long as its task. Zero means 24 h.
	TTL time.Duration
}

const (
	defaultTTL = 24 * time.Hour
	maxKey     = 256
)

// enabled reports whether some messages are made durable at most once.
func (x *Idempotency) enabled() bool { return x.Header || x.MessageID || x.Same != nil }

// TakesKeys reports whether keys beside payloads are accepted.
func (e *Engine) TakesKeys() bool { return e.cfg.Idempotency.Header }

// keyOf returns the name of a request: the kind of its key, and the key. It is empty for a
// request that may be repeated.
func (e *Engine) keyOf(r *op.Send) (string, error) {
	if !e.cfg.Idempotency.enabled() {
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

// sameKind is the prefix of the name of a request that is identified by its content.
const sameKind = "same "

// contentOf returns the name of a request that is identified by its content alone; empty if it
// is not.
func (e *Engine) contentOf(r *op.Send) string {
	if r.Message.TaskID != "" || e.sameFor(r) <= 0 {
		return ""
	}
	return sameKind + hex.EncodeToString(fingerprint("", r, nil))
}

// sameFor returns for how long a request is identified by its content.
func (e *Engine) sameFor(r *op.Send) time.Duration {
	if e.cfg.Idempotency.Same == nil || r.Message.Skill == "" {
		return 0
	}
	return min(e.cfg.Idempotency.Same(r.Message.Skill), e.cfg.Idempotency.TTL)
}

// keyField is the name of the key in errors.
const keyField = "Idempotency-Key"

// admitOnce admits a message with a key. If the message was admitted before, it returns the
// earlier admission. Two concurrent calls find each other in the store.
func (a *admission) admitOnce(ctx context.Context, key string) (*admitted, error) {
	a.wait = false
	owner := a.caller.Principal.Owner()
	if a.send.Message.TaskID == "" {
		// The key belongs to an agent, so a repeated message must be sent to the agent of the
		// first.
		defer a.engine.keyLocks.lock(owner, key)()
		if err := a.chooseOnce(ctx, key); err != nil {
			return nil, err
		}
	}
	const attempts = 3 // the first may lose a race, and the winner may be swept
	for range attempts {
		name, err := a.addressee(ctx)
		if err != nil {
			return nil, err
		}
		at := now()
		a.request = &task.Request{
			Key: key, Fingerprint: fingerprint(name, a.send, a.engine.Activated(name, a.caller.Extensions)),
			At: at, Since: a.engine.since(at, a.send, key),
		}
		ad, err := a.engine.repeated(ctx, owner, name, a.request)
		if ad != nil || err != nil {
			return ad, err
		}
		ad, err = a.admitToTask(ctx)
		if errors.Is(err, a2a.ErrUnsupportedOperation) { // the task may have ended with the message of a concurrent call
			if had, err := a.engine.repeated(ctx, owner, name, a.request); had != nil || err != nil {
				return had, err
			}
		}
		if !errors.Is(err, task.ErrKeyUsed) {
			return ad, err
		}
	}
	return nil, &apierror.Error{Err: apierror.ErrUnavailable, Message: "others use the same idempotency key", RetryAfter: time.Second}
}

// since returns the earliest time at which a request with the same key still counts at the
// given time.
func (e *Engine) since(at task.Millis, r *op.Send, key string) task.Millis {
	ttl := e.cfg.Idempotency.TTL
	if strings.HasPrefix(key, sameKind) {
		ttl = e.sameFor(r)
	}
	return at - task.Millis(ttl.Milliseconds())
}

// chooseOnce chooses an agent if several have the skill: the one that received the message the
// first time, or else a new choice.
func (a *admission) chooseOnce(ctx context.Context, key string) error {
	if err := a.candidates(); err != nil || len(a.agents) < 2 {
		return err
	}
	for _, x := range a.agents {
		had, err := a.engine.store.Request(ctx, a.caller.Principal.Owner(), x.Name, key)
		switch {
		case err == nil && had.At >= a.engine.since(now(), a.send, key):
			a.choice = x
			return nil
		case err != nil && !errors.Is(err, task.ErrNotFound):
			return err
		}
	}
	_, err := a.choose()
	return err
}

// keyLocks serializes the admission of messages with the same key.
type keyLocks struct {
	seed  maphash.Seed
	locks [64]sync.Mutex
}

// lock locks the key and returns the function that unlocks it.
func (d *keyLocks) lock(owner task.Owner, key string) (unlock func()) {
	m := &d.locks[maphash.Comparable(d.seed, [2]string{string(owner), key})%uint64(len(d.locks))]
	m.Lock()
	return m.Unlock
}

// addressee returns the agent that a message is for. It holds the task that the message names,
// if that exists.
func (a *admission) addressee(ctx context.Context) (task.Agent, error) {
	if id := a.send.Message.TaskID; id != "" {
		err := a.hold(ctx, id, a.send.Aliases)
		if err == nil {
			return a.live.snapshot().Agent, nil
		}
		if !a.send.NewIDs || !errors.Is(err, a2a.ErrTaskNotFound) {
			return "", err
		}
	}
	x, err := a.choose()
	if err != nil {
		return "", err
	}
	return x.Name, nil
}

// repeated returns the earlier admission of the request, or nil if there is none since r.Since.
// The caller releases the task.
func (e *Engine) repeated(ctx context.Context, owner task.Owner, name task.Agent, r *task.Request) (*admitted, error) {
	had, err := e.store.Request(ctx, owner, name, r.Key)
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

// dealtWithLocked reports whether the message has been processed. For a message that was
// admitted before, perhaps by another process, the head is decisive: a later message was read,
// or the run that read it waits for the caller.
func (ad *admitted) dealtWithLocked() bool {
	h := &ad.live.head
	if !ad.repeated {
		return ad.live.dealtWithLocked(ad.version)
	}
	return h.Consumed > ad.version || h.Consumed == ad.version && idle(h) && h.State.Interrupted() || ad.live.dealtWithLocked(ad.version)
}

// sweepRequests deletes expired keys, a slice at a time.
func (e *Engine) sweepRequests(ctx context.Context, at time.Time) {
	if !e.cfg.Idempotency.enabled() {
		return
	}
	before := task.MillisOf(at.Add(-e.cfg.Idempotency.TTL))
	for ctx.Err() == nil {
		n, err := e.store.SweepRequests(ctx, before, sweepSlice)
		if err != nil {
			e.cfg.Logger.Error("sweep requests", "error", err)
			return
		}
		if n < sweepSlice {
			return
		}
	}
}

// fingerprint returns a digest of everything that affects how the agent handles a request. It
// distinguishes requests to an agent that have the same key. The wire format, the order of
// members and the caller's wait time do not count. Neither does the message's id, because
// clients generate a new one for each attempt.
func fingerprint(name task.Agent, r *op.Send, active []string) []byte {
	d := digest{sha256.New()}
	d.texts(string(name), string(r.Message.TaskID), r.Message.ContextID, r.Message.Skill)
	d.text(string(appendMembers(nil, r.Message.Body, "messageId")))
	d.text(string(appendSorted(nil, r.Metadata)))
	d.texts(r.AcceptedOutputModes...)
	active = slices.Sorted(slices.Values(active))
	d.texts(active...)
	if p := r.Push; p != nil {
		d.texts(p.ID, p.URL, p.Token, p.Scheme, p.Credentials)
	}
	if r.Others != nil { // earlier versions ignored them: the digest without any must equal theirs
		d.text(string(appendSorted(nil, r.Others)))
	}
	return d.Sum(nil)
}

// digest is a hash of texts that keeps their boundaries.
type digest struct{ hash.Hash }

func (d digest) text(s string) {
	d.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
	d.Write([]byte(s))
}

func (d digest) texts(list ...string) {
	d.Write(binary.BigEndian.AppendUint64(nil, uint64(len(list))))
	for _, s := range list {
		d.text(s)
	}
}

// appendSorted appends valid JSON with the members of objects sorted by name, and all strings
// in the same encoding. Numbers stay unchanged.
func appendSorted(dst, v []byte) []byte {
	switch rawjson.KindOf(v) {
	case rawjson.Object:
		return appendMembers(dst, v, "")
	case rawjson.Array:
		dst = append(dst, '[')
		for e := range rawjson.Elements(v) {
			dst = append(appendSorted(dst, e), ',')
		}
		return append(dst, ']')
	case rawjson.Text:
		s, _ := rawjson.String(v)
		return rawjson.AppendString(dst, s)
	}
	return append(dst, bytes.TrimSpace(v)...)
}

// appendMembers is appendSorted for an object, without the member of the given name.
func appendMembers(dst, obj []byte, without string) []byte {
	type member struct {
		name  string
		value []byte
	}
	var all []member
	for name, v := range rawjson.Fields(obj) {
		if without == "" || name != without {
			all = append(all, member{name, v})
		}
	}
	// The order of members with the same name counts.
	slices.SortStableFunc(all, func(a, b member) int { return strings.Compare(a.name, b.name) })
	dst = append(dst, '{')
	for _, m := range all {
		dst = append(rawjson.AppendString(dst, m.name), ':')
		dst = append(appendSorted(dst, m.value), ',')
	}
	return append(dst, '}')
}
