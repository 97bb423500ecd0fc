package push

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	defaultBody     = 1 << 20
	largestBody     = 10 << 20
	defaultRemember = 10_000
	longestID       = 1024
)

// The headers of a token: that of v1.0 implementations and that of v0.3.
const (
	headerToken    = "A2A-Notification-Token"
	headerOldToken = "X-A2A-Notification-Token"
)

// ErrGone is returned by a handler that wants no more notifications of a task. The receiver
// answers 410, and a hub ends the config.
var ErrGone = errors.New("no more notifications are wanted")

// Receiver is a webhook: an http.Handler that accepts notifications of a hub or of any A2A
// server (specification §4.3.3). It verifies the sender before it decodes a notification. Its
// fields must not change once it is in use; it is safe for concurrent use.
type Receiver struct {
	// Handle is called for each notification, by several goroutines at once. It is required.
	// When it returns nil, the receiver answers 204 and the sender does not repeat the
	// notification. The answer is 410 after ErrGone and 500 after any other error; a hub then
	// tries again later. Handle must be idempotent: a notification arrives at least once.
	Handle func(ctx context.Context, n *Notification) error
	// Refused, if set, is called with each request that was not answered with success and with
	// the reason, for a log.
	Refused func(r *http.Request, err error)
	// Token, if set, must come in A2A-Notification-Token or X-A2A-Notification-Token.
	Token string
	// Authorization, if set, is the scheme and the credentials that must come in the header of
	// that name, such as "Bearer abc".
	Authorization string
	// Secrets, if set, are the signing keys, of which one must match the signature; see
	// ParseSecret.
	Secrets [][]byte
	// MaxBody is the largest body in bytes; zero means 1 MiB, more than 10 MiB means 10 MiB.
	MaxBody int64
	// Remember is the number of ids of handled notifications that are kept to recognise
	// repeated ones; zero means 10,000, less means none.
	Remember int

	mu   sync.Mutex // guards the fields below; never held while calling out
	seen map[string]bool
	ring []string // the ids of seen; the oldest is at next once it is full
	next int
}

var _ http.Handler = (*Receiver)(nil)

// refusal is an error with the HTTP status of its response.
type refusal struct {
	status int
	err    error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Errorf(format, args...)}
}

// ServeHTTP verifies, decodes and handles a notification.
func (rc *Receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := rc.receive(w, r)
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if rc.Refused != nil {
		rc.Refused(r, err)
	}
	status, text := http.StatusInternalServerError, "the notification could not be handled"
	var ref *refusal
	switch {
	case errors.As(err, &ref):
		status, text = ref.status, ref.Error()
	case errors.Is(err, ErrUnverified):
		status, text = http.StatusUnauthorized, err.Error()
		w.Header().Set("WWW-Authenticate", rc.challenge())
	case errors.Is(err, ErrGone):
		status, text = http.StatusGone, ErrGone.Error()
	}
	http.Error(w, text, status)
}

// receive verifies, decodes and handles a notification.
func (rc *Receiver) receive(w http.ResponseWriter, r *http.Request) error {
	if err := acceptable(w, r); err != nil {
		return err
	}
	proofs, err := rc.authenticate(r.Header)
	if err != nil {
		return err
	}
	body, err := rc.read(w, r)
	if err != nil {
		return err
	}
	if len(rc.Secrets) > 0 {
		if err := Verify(rc.Secrets, r.Header, body, time.Now()); err != nil {
			return err
		}
		proofs = append(proofs, "signature")
	}
	n, err := decode(body)
	if err != nil {
		return &refusal{http.StatusBadRequest, err}
	}
	n.Proofs = proofs
	if err := n.readHeaders(r.Header); err != nil {
		return err
	}
	n.Repeated = rc.remembers(n.ID)
	if err := rc.Handle(r.Context(), n); err != nil {
		return fmt.Errorf("handle notification about task %s: %w", n.TaskID, err)
	}
	rc.remember(n.ID)
	return nil
}

// acceptable refuses requests that cannot be a notification by method, media type or coding.
func acceptable(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return refuse(http.StatusMethodNotAllowed, "notifications must be sent with POST")
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" && kind != "application/a2a+json" {
		return refuse(http.StatusUnsupportedMediaType, "the content type must be application/json or application/a2a+json")
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return refuse(http.StatusUnsupportedMediaType, "the body must not be encoded")
	}
	return nil
}

// authenticate checks the headers that authenticate the sender, and returns the names of the
// checks that it passed.
func (rc *Receiver) authenticate(h http.Header) (proofs []string, err error) {
	if rc.Token != "" {
		sent := slices.Concat(h.Values(headerToken), h.Values(headerOldToken))
		switch {
		case len(sent) == 0:
			return nil, unverified("the token is missing")
		case slices.ContainsFunc(sent, func(s string) bool { return !same(s, rc.Token) }):
			return nil, unverified("the token is wrong")
		}
		proofs = append(proofs, "token")
	}
	if rc.Authorization != "" {
		sent := h.Values("Authorization")
		switch {
		case len(sent) == 0:
			return nil, unverified("Authorization is missing")
		case len(sent) > 1 || !authorized(sent[0], rc.Authorization):
			return nil, unverified("Authorization is wrong")
		}
		proofs = append(proofs, "authorization")
	}
	return proofs, nil
}

// authorized compares two values of Authorization. The case of a scheme does not matter (RFC
// 9110, section 11.1).
func authorized(got, want string) bool {
	gotScheme, gotRest, _ := strings.Cut(strings.TrimSpace(got), " ")
	wantScheme, wantRest, _ := strings.Cut(strings.TrimSpace(want), " ")
	return strings.EqualFold(gotScheme, wantScheme) && same(strings.TrimSpace(gotRest), strings.TrimSpace(wantRest))
}

// same compares secrets in a time that does not depend on them.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// challenge returns the value of WWW-Authenticate.
func (rc *Receiver) challenge() string {
	if scheme, _, _ := strings.Cut(strings.TrimSpace(rc.Authorization), " "); scheme != "" {
		return scheme
	}
	if rc.Token != "" {
		return headerToken
	}
	return headerSignature
}

func (rc *Receiver) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	most := min(cmp.Or(max(rc.MaxBody, 0), defaultBody), largestBody)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, refuse(http.StatusRequestEntityTooLarge, "the body has more than %d bytes", most)
	case err != nil:
		return nil, refuse(http.StatusBadRequest, "the body could not be read: %w", err)
	}
	return body, nil
}

// readHeaders reads the id and the time of a notification from the headers.
func (n *Notification) readHeaders(h http.Header) error {
	n.ID = h.Get(headerID)
	if len(n.ID) > longestID {
		return refuse(http.StatusBadRequest, "%s has more than %d bytes", headerID, longestID)
	}
	if seconds, err := strconv.ParseInt(h.Get(headerTimestamp), 10, 64); err == nil {
		n.At = time.Unix(seconds, 0)
	}
	return nil
}

func (rc *Receiver) remembers(id string) bool {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return rc.seen[id]
}

// remember keeps the id of a handled notification, and forgets the oldest one if there are too
// many.
func (rc *Receiver) remember(id string) {
	most := cmp.Or(rc.Remember, defaultRemember)
	if id == "" || most < 0 {
		return
	}
	rc.mu.Lock()
	defer rc.mu.Unlock()
	if rc.seen[id] {
		return
	}
	if rc.seen == nil {
		rc.seen = make(map[string]bool)
	}
	rc.seen[id] = true
	if len(rc.ring) < most {
		rc.ring = append(rc.ring, id)
		return
	}
	delete(rc.seen, rc.ring[rc.next])
	rc.ring[rc.next] = id
	rc.next = (rc.next + 1) % most
}
