package tokenexchange

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
)

// Types of tokens (RFC 8693 §3).
const (
	accessToken = "urn:ietf:params:oauth:token-type:access_token"
	jwtToken    = "urn:ietf:params:oauth:token-type:jwt"
	idToken     = "urn:ietf:params:oauth:token-type:id_token"
)

const (
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	// exchangeTime limits the duration of a request to the authorization server.
	exchangeTime = 10 * time.Second
	// maxAnswer limits the size of its answer, in bytes.
	maxAnswer = 256 << 10
	// maxTokens limits the number of cached tokens.
	maxTokens = 1024
	// margin is the time before its expiry at which a token is no longer used. A token that is
	// valid for less than twice that time is used for half of it.
	margin = 30 * time.Second
	// maxLife limits the time for which a token is cached; usualLife is the default for a token
	// without a lifetime.
	maxLife, usualLife = time.Hour, time.Minute
)

// Exchanger gets tokens for callers from an authorization server (RFC 8693). Its fields must
// not change after the first call.
type Exchanger struct {
	// TokenURL is the server's token endpoint: an https address, or one of this machine. It is
	// required.
	TokenURL string
	// ClientID and ClientSecret are the hub's credentials at the server, sent as HTTP Basic.
	ClientID, ClientSecret string
	// Audience, Resource and Scope are parameters of the request (RFC 8693 §2.1).
	Audience, Resource, Scope string
	// Client sends the requests. If nil, a default client is used.
	Client *http.Client

	mu     sync.Mutex // guards the fields below
	tokens map[[32]byte]*cacheEntry
}

// cacheEntry is a cached token, or one that is being fetched.
type cacheEntry struct {
	done  chan struct{} // closed when the fields below are set
	token string
	until time.Time
	err   error
}

// over reports whether the token was fetched and has expired.
func (e *cacheEntry) over(now time.Time) bool {
	select {
	case <-e.done:
		return !now.Before(e.until)
	default:
		return false
	}
}

// errBusy is returned if no further token can be cached.
var errBusy = fmt.Errorf("too many tokens are being fetched: %w", httpcall.ErrUnreachable)

// token returns a token for the subject of a cache key. One caller fetches it for all
// concurrent callers with the same key.
func (x *Exchanger) token(ctx context.Context, key [32]byte, subject func() (text, kind string, err error)) (string, error) {
	e, mine, err := x.entry(key)
	if err != nil {
		return "", err
	}
	if !mine {
		select {
		case <-e.done:
			return e.token, e.err
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	defer close(e.done)
	// The request must not be canceled for the waiting callers when the caller that sends it
	// disconnects.
	fetching, cancel := context.WithTimeout(context.WithoutCancel(ctx), exchangeTime)
	defer cancel()
	text, kind, err := subject()
	if err == nil {
		var life time.Duration
		began := time.Now()
		e.token, life, err = x.fetch(fetching, text, kind)
		e.until = began.Add(max(life-margin, life/2))
	}
	if e.err = err; err != nil {
		x.forget(key, e)
	}
	return e.token, e.err
}

// entry returns the entry of a key, and whether the caller must fetch its token.
func (x *Exchanger) entry(key [32]byte) (e *cacheEntry, mine bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	if e := x.tokens[key]; e != nil && !e.over(now) {
		return e, false, nil
	}
	if len(x.tokens) >= maxTokens && !x.makeRoomLocked(now) {
		return nil, false, errBusy
	}
	e = &cacheEntry{done: make(chan struct{})}
	if x.tokens == nil {
		x.tokens = make(map[[32]byte]*cacheEntry)
	}
	x.tokens[key] = e
	return e, true, nil
}

// makeRoomLocked removes the expired tokens or, if there are none, the one that expires first.
func (x *Exchanger) makeRoomLocked(now time.Time) bool {
	var first [32]byte
	var until time.Time
	for key, e := range x.tokens {
		select {
		case <-e.done:
		default:
			continue
		}
		if !now.Before(e.until) {
			delete(x.tokens, key)
		} else if until.IsZero() || e.until.Before(until) {
			first, until = key, e.until
		}
	}
	if len(x.tokens) >= maxTokens && !until.IsZero() {
		delete(x.tokens, first)
	}
	return len(x.tokens) < maxTokens
}

// drop removes a cached token, except one that is being fetched.
func (x *Exchanger) drop(key [32]byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.tokens[key]
	if e == nil {
		return
	}
	select {
	case <-e.done:
		delete(x.tokens, key)
	default:
	}
}

// forget removes an entry whose token could not be fetched.
func (x *Exchanger) forget(key [32]byte, e *cacheEntry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.tokens[key] == e {
		delete(x.tokens, key)
	}
}

// fetch requests a token from the server. Errors name the endpoint and contain no secrets.
// Temporary errors wrap httpcall.ErrUnreachable, because the agent itself has received nothing.
func (x *Exchanger) fetch(ctx context.Context, subject, kind string) (string, time.Duration, error) {
	token, life, err := x.ask(ctx, subject, kind)
	if err != nil {
		return "", 0, fmt.Errorf("token endpoint %s: %w", shown(x.TokenURL), err)
	}
	return token, life, nil
}

func (x *Exchanger) ask(ctx context.Context, subject, kind string) (string, time.Duration, error) {
	form := url.Values{
		"grant_type": {grantExchange}, "subject_token": {subject}, "subject_token_type": {kind},
		"requested_token_type": {accessToken},
	}
	for name, v := range map[string]string{"audience": x.Audience, "resource": x.Resource, "scope": x.Scope} {
		if v != "" {
			form.Set(name, v)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, errors.New("is not a URL")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.SetBasicAuth(url.QueryEscape(x.ClientID), url.QueryEscape(x.ClientSecret)) // RFC 6749 §2.3.1
	// No redirects are followed, because requests contain secrets.
	client, release := httpcall.Client(x.Client)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	defer release()
	resp, err := client.Do(req)
	if err != nil {
		return "", 0, fmt.Errorf("%w: %w", httpcall.ErrUnreachable, httpcall.Reason(err))
	}
	return readAnswer(resp)
}

// answer is the server's response (RFC 8693 §2.2, RFC 6749 §5.2).
type answer struct {
	Token   string      `json:"access_token"`
	Issued  string      `json:"issued_token_type"`
	Type    string      `json:"token_type"`
	Expires json.Number `json:"expires_in"`
	Error   string      `json:"error"`
}

// errorCode matches the error codes of RFC 6749 §5.2. Other error texts are not repeated,
// because they may quote the request.
var errorCode = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

func readAnswer(resp *http.Response) (string, time.Duration, error) {
	text, err := httpcall.ReadBounded(resp.Body, maxAnswer)
	if err != nil {
		if errors.Is(err, httpcall.ErrTooLarge) || errors.Is(err, io.ErrUnexpectedEOF) {
			return "", 0, err
		}
		return "", 0, fmt.Errorf("%w: %w", httpcall.ErrUnreachable, err)
	}
	if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests {
		return "", 0, fmt.Errorf("%w: answered with status %d", httpcall.ErrUnreachable, resp.StatusCode)
	}
	var a answer
	err = json.Unmarshal(text, &a)
	switch {
	case resp.StatusCode != http.StatusOK && err == nil && errorCode.MatchString(a.Error):
		return "", 0, fmt.Errorf("rejected the request with status %d: %s", resp.StatusCode, a.Error)
	case resp.StatusCode != http.StatusOK:
		return "", 0, fmt.Errorf("rejected the request with status %d", resp.StatusCode)
	case err != nil:
		return "", 0, errors.New("its answer is not JSON")
	case a.Token == "" || strings.ContainsFunc(a.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", 0, errors.New("its answer has no access_token that can be sent")
	case !strings.EqualFold(a.Type, "Bearer"):
		return "", 0, errors.New("its answer has a token_type that is not Bearer")
	case a.Issued != accessToken && a.Issued != jwtToken && a.Issued != idToken:
		return "", 0, errors.New("its answer has no issued_token_type for a token that can be sent")
	}
	life := usualLife
	if n, ok := rawjson.Int([]byte(a.Expires)); ok && n > 0 {
		life = time.Duration(min(n, int64(maxLife/time.Second))) * time.Second
	}
	return a.Token, life, nil
}

// shown returns an address without parts that may be secret.
func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "of the configuration"
	}
	u.RawQuery, u.Fragment = "", ""
	return u.Redacted()
}

// keyOf returns the cache key of a subject.
func keyOf(kind string, subject []byte) [32]byte {
	return sha256.Sum256(append([]byte(kind+"\n"), subject...))
}
