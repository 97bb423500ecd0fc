package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/usertoken"
)

// RoleAdmin is the role of those who may change the hub itself.
const RoleAdmin = "admin"

// Errors of Keyring.Revoke.
var (
	// ErrNoKey: there is no key with the id.
	ErrNoKey = errors.New("no such key")
	// ErrConfigured: the key stands in the configuration and is changed there.
	ErrConfigured = errors.New("the key stands in the configuration")
)

// errRequired is what a caller is told whose credentials are missing or wrong, in
// the same words whatever is wrong with them.
var errRequired = apierror.New(ErrUnauthenticated,
	"Authentication required: provide %s header or a bearer token", HeaderKey)

// Keyring is an Authenticator of callers with API keys: those of a configuration and
// those of a store, which may be added and revoked while it works; and, beside them, with
// tokens and certificates.
//
// While there has never been a key for callers, and there are neither Tokens nor
// Certificates, it is off and treats them like Anonymous.
// From the first one on it asks every caller for one, also after the last key was
// revoked. The credential comes in X-Api-Key or as a bearer token in Authorization;
// either header takes every key.
//
// The fields must not change once the Keyring is in use.
type Keyring struct {
	// Configured are keys made by ConfiguredKey.
	Configured []Key
	// Store keeps further keys. If nil, there are none, and none can be added.
	Store KeyStore
	// Tokens, if set, takes bearer tokens that others have issued, beside the keys.
	Tokens Tokens
	// Certificates, if set, takes the certificates of connections from callers who show
	// neither key nor token.
	Certificates Certificates
	// AllowAnonymous takes callers without credentials, from anywhere, for the
	// anonymous local principal, and so those with a certificate that stands for nobody.
	// Those with wrong credentials are refused all the same.
	AllowAnonymous bool
	// Logger receives a record of failed attempts, with the address and the beginning
	// of the key. If nil, nothing is logged.
	Logger *slog.Logger
	// Refused, if set, is told of each attempt that is refused. It must return at once.
	Refused func(a *Attempt)

	failures throttle
	changing sync.Mutex // held while a change is made, so that they do not overlap
	known    atomic.Pointer[keys]
}

var _ Authenticator = (*Keyring)(nil)

// Attempt is an attempt to authenticate that was refused.
type Attempt struct {
	// From is the address of the peer, "host:port".
	From string
	// Reason says why, and holds nothing secret.
	Reason string
	// Key is the id of a key of the hub's own making, as far as one was shown that looks
	// like it; empty otherwise.
	Key string
}

// tell tells of an attempt that is refused.
func (r *Keyring) tell(a attempt) {
	if r.Refused == nil {
		return
	}
	id := strings.TrimSuffix(strings.TrimPrefix(a.hint, keyPrefix), "_"+hintEnd)
	if id == a.hint || len(id) != idLength {
		id = ""
	}
	r.Refused(&Attempt{From: a.from, Reason: a.flaw, Key: id})
}

// keys are all keys at one time. They are not changed but replaced.
type keys struct {
	// byHash finds a key by its hash. Whoever measures how long a lookup takes learns
	// about hashes of his own texts only, from which no text follows.
	byHash map[[32]byte]*Key
	// all are the keys in order, the configured ones first.
	all []Key
	// callers says that one of them is for callers, or was.
	callers bool
}

func newKeys(configured, stored []Key) *keys {
	ks := &keys{byHash: make(map[[32]byte]*Key), all: slices.Concat(configured, stored)}
	for i := range ks.all {
		k := &ks.all[i]
		k.Principal.Via = viaKey + k.ID
		if _, bus := k.BusAgent(); !bus {
			ks.callers = true
		}
		if _, taken := ks.byHash[k.Hash]; !taken { // what is configured comes first and wins
			ks.byHash[k.Hash] = k
		}
	}
	return ks
}

// Load reads the keys of the store. It must be called before the Keyring is used
// with one.
func (r *Keyring) Load(ctx context.Context) error {
	r.changing.Lock()
	defer r.changing.Unlock()
	var stored []Key
	if r.Store != nil {
		var err error
		if stored, err = r.Store.Keys(ctx); err != nil {
			return fmt.Errorf("load keys: %w", err)
		}
	}
	r.known.Store(newKeys(r.Configured, stored))
	return nil
}

// errNotLoaded keeps a Keyring closed whose store was not asked.
var errNotLoaded = errors.New("the keys of the store have not been loaded")

// keys returns the keys in force.
func (r *Keyring) keys() (*keys, error) {
	ks := r.known.Load()
	switch {
	case ks != nil:
		return ks, nil
	case r.Store != nil:
		return nil, errNotLoaded
	}
	r.known.CompareAndSwap(nil, newKeys(r.Configured, nil))
	return r.known.Load(), nil
}

// On reports whether callers are asked for keys or tokens.
func (r *Keyring) On() bool {
	ks, err := r.keys()
	return err != nil || r.asks(ks)
}

// asks reports whether callers are asked for credentials.
func (r *Keyring) asks(ks *keys) bool { return ks.callers || r.Tokens != nil || r.Certificates != nil }

// List returns all keys, the configured ones first, then the others in the order of
// their making, with those that are revoked or expired.
func (r *Keyring) List() []Key {
	ks, err := r.keys()
	if err != nil {
		return nil
	}
	return slices.Clone(ks.all)
}

// Authenticate implements Authenticator. A refusal may be delayed, see Refuse; a
// good key never waits. The caller acts for the organisation that the request names, see
// Principal.For.
func (r *Keyring) Authenticate(ctx context.Context, req *Request) (*Principal, error) {
	p, err := r.authenticate(ctx, req)
	if err != nil || p == nil {
		return nil, err
	}
	return p.For(req)
}

// authenticate finds out who the caller is.
func (r *Keyring) authenticate(ctx context.Context, req *Request) (*Principal, error) {
	ks, err := r.keys()
	if err != nil {
		return nil, err
	}
	if !r.asks(ks) {
		if err := r.misplaced(ctx, ks, req); err != nil {
			return nil, err
		}
		if r.AllowAnonymous || LocalPeer(req.RemoteAddr) {
			return nobody, nil
		}
		r.tell(attempt{from: req.RemoteAddr, flaw: flawMissing})
		return nil, errRequired
	}
	text, flaw := credential(req)
	if flaw == "" {
		k := ks.byHash[HashKey(text)]
		switch {
		case k == nil && r.Tokens != nil && looksLikeToken(text):
			return r.token(ctx, req, text)
		case k == nil:
			flaw = flawUnknown
		default:
			if flaw = k.flaw(time.Now()); flaw != "" {
				break
			}
			if _, bus := k.BusAgent(); !bus {
				return &k.Principal, nil
			}
			flaw = flawBus
		}
	}
	if flaw == flawMissing {
		return r.withoutKey(ctx, req)
	}
	return nil, r.refuse(ctx, req, attempt{flaw: flaw, hint: hintOf(text)})
}

// withoutKey returns the principal of a caller who shows neither key nor token: who that
// is stands in the certificate of the connection. What is shown in a request counts before
// that, also where it is wrong: who shows a key means to be the one that it stands for, and
// must not act as somebody else without a word because it was revoked.
func (r *Keyring) withoutKey(ctx context.Context, req *Request) (*Principal, error) {
	flaw := ""
	if r.Certificates != nil && len(req.Chains) > 0 {
		p, err := r.Certificates.Certificate(req.Chains)
		if err == nil {
			p = p.via(viaCertificate)
		}
		if !errors.Is(err, ErrUnauthenticated) {
			return p, err
		}
		flaw = err.Error()
	}
	switch {
	case r.AllowAnonymous:
		return nobody, nil
	case flaw != "":
		return nil, r.refuse(ctx, req, attempt{flaw: flaw})
	}
	r.tell(attempt{from: req.RemoteAddr, flaw: flawMissing})
	return nil, errRequired // nothing was tried, so nobody is slowed down
}

// token returns the principal of a token.
func (r *Keyring) token(ctx context.Context, req *Request, text string) (*Principal, error) {
	p, err := r.Tokens.Token(ctx, text)
	if errors.Is(err, ErrUnauthenticated) {
		return nil, r.refuse(ctx, req, attempt{flaw: err.Error()})
	}
	if err == nil {
		usertoken.Found(ctx, text)
		p = p.via(viaToken)
	}
	return p, err
}

// Refuse counts a failed attempt to authenticate, of a kind that the Keyring does
// not know itself, and returns the error for the caller. After a few failures in a
// minute from one address it delays its return, from 50 ms to a second; if too many
// wait already, the error says that the caller has to come back later. It returns
// early when ctx ends. reason is for the log and must hold nothing secret.
func (r *Keyring) Refuse(ctx context.Context, req *Request, reason string) error {
	return r.refuse(ctx, req, attempt{flaw: reason})
}

// Add stores a key and makes it good. It turns the Keyring on if it is the first for
// callers.
func (r *Keyring) Add(ctx context.Context, k *Key) error {
	if err := checkKey(k); err != nil {
		return fmt.Errorf("add key: %w", err)
	}
	if r.Store == nil {
		return errors.New("add key: there is no store for keys")
	}
	r.changing.Lock()
	defer r.changing.Unlock()
	ks, err := r.keys()
	if err != nil {
		return fmt.Errorf("add key: %w", err)
	}
	for _, have := range ks.all {
		if have.ID == k.ID || have.Hash == k.Hash {
			return fmt.Errorf("add key %s: there is such a key already", k.ID)
		}
	}
	return r.put(ctx, ks, k)
}

func checkKey(k *Key) error {
	switch {
	case k.ID == "" || !plain(k.ID):
		return errors.New("the id is not one")
	case k.Hash == [32]byte{}:
		return errors.New("the hash is missing")
	case k.Configured:
		return ErrConfigured
	}
	return k.Principal.Check()
}

// put stores a key beside those of ks and tells those who authenticate.
func (r *Keyring) put(ctx context.Context, ks *keys, k *Key) error {
	// A change that was begun is finished, or what is stored and what is in force
	// would differ when the caller goes away.
	if err := r.Store.PutKey(context.WithoutCancel(ctx), k); err != nil {
		return fmt.Errorf("store key %s: %w", k.ID, err)
	}
	all := slices.Clone(ks.all)
	if i := index(all, k.ID); i >= 0 {
		all[i] = *k
	} else {
		all = append(all, *k)
	}
	r.known.Store(newKeys(nil, all))
	return nil
}

func index(all []Key, id string) int {
	return slices.IndexFunc(all, func(k Key) bool { return k.ID == id })
}

// Revoke makes a key useless, now if after is not positive, else after that time, in
// which its successor can take over. A key that has ended, or ends earlier, stays
// as it is. It returns the key as it is then, ErrNoKey or ErrConfigured.
func (r *Keyring) Revoke(ctx context.Context, id string, after time.Duration) (Key, error) {
	r.changing.Lock()
	defer r.changing.Unlock()
	ks, err := r.keys()
	if err != nil {
		return Key{}, fmt.Errorf("revoke %s: %w", id, err)
	}
	i := index(ks.all, id)
	switch {
	case i < 0:
		return Key{}, fmt.Errorf("revoke %s: %w", id, ErrNoKey)
	case ks.all[i].Configured:
		return Key{}, fmt.Errorf("revoke %s: %w", id, ErrConfigured)
	}
	k := ks.all[i]
	if !k.end(recorded(time.Now()), after) {
		return k, nil
	}
	return k, r.put(ctx, ks, &k)
}

// end revokes k, or makes it expire after a time. It reports whether k was to end
// later.
func (k *Key) end(now time.Time, after time.Duration) bool {
	until := now.Add(after)
	switch {
	case !k.RevokedAt.IsZero():
		return false
	case after <= 0:
		k.RevokedAt = now
	case k.ExpiresAt.IsZero() || until.Before(k.ExpiresAt):
		k.ExpiresAt = until
	default:
		return false
	}
	return true
}

// recorded returns a time as stores keep it.
func recorded(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// refuse logs a failed attempt, slows its caller down and returns what he is told.
func (r *Keyring) refuse(ctx context.Context, req *Request, a attempt) error {
	a.from = req.RemoteAddr
	r.tell(a)
	wait, told := r.failures.count(a.from, time.Now())
	if told.record && r.Logger != nil {
		r.Logger.LogAttrs(ctx, slog.LevelWarn, "authentication failed", a.attrs(told.left)...)
	}
	if wait <= 0 {
		return errRequired
	}
	if !r.failures.enter() {
		return &apierror.Error{Err: apierror.ErrExhausted, Message: "too many failed attempts", RetryAfter: longestDelay}
	}
	defer r.failures.leave()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return errRequired
}

// attempt is what is known about a failed attempt.
type attempt struct{ from, flaw, hint string }

// attrs returns the attributes of the record; left is how many attempts went without
// one before.
func (a *attempt) attrs(left int) []slog.Attr {
	attrs := []slog.Attr{slog.String("address", cmp.Or(a.from, "unknown")), slog.String("reason", a.flaw)}
	if a.hint != "" {
		attrs = append(attrs, slog.String("key", a.hint))
	}
	if left > 0 {
		attrs = append(attrs, slog.Int("unrecorded", left))
	}
	return attrs
}
