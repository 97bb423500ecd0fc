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
	// exchangeTime is how long an authorization server may take.
	exchangeTime = 10 * time.Second
	// maxAnswer is how large its answer may be, in bytes.
	maxAnswer = 256 << 10
	// maxTokens is how many tokens are kept.
	maxTokens = 1024
	// margin is how long before its end a token is not used any more, for those that are
	// good for twice as long; others are used for half of their time.
	margin = 30 * time.Second
	// maxLife is how long a token is kept at most, usualLife one that does not say how long
	// it is good.
	maxLife, usualLife = time.Hour, time.Minute
)

// Exchanger gets tokens for callers from an authorization server (RFC 8693). Its fields must
// not change once it is in use.
type Exchanger struct {
	// TokenURL is the server's token endpoint, an https address or one of this machine. It is
	// required.
	TokenURL string
	// ClientID and ClientSecret are those of the hub there, sent as HTTP Basic.
	ClientID, ClientSecret string
	// Audience, Resource and Scope say what tokens are asked for (RFC 8693 §2.1).
	Audience, Resource, Scope string
	// Client sends the requests. If nil, one of its own does.
	Client *http.Client

	mu     sync.Mutex // guards the fields below
	tokens map[[32]byte]*exchanged
}

// exchanged is a token, or one that is being fetched.
type exchanged struct {
	done  chan struct{} // closed when the fields below are set
	token string
	until time.Time
	err   error
}

// over reports whether the token was fetched, and is not good any more.
func (e *exchanged) over(now time.Time) bool {
	select {
	case <-e.done:
		return !now.Before(e.until)
	default:
		return false
	}
}

// errBusy: there is no place for a further token.
var errBusy = fmt.Errorf("too many tokens are being fetched: %w", httpcall.ErrUnreachable)

// token returns a token for the subject that key stands for. One caller fetches it for all
// who want the same.
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
	// Whoever waits must not go without because the one who fetches for all has gone.
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

// entry returns what there is for a key, and whether the caller has to fetch it.
func (x *Exchanger) entry(key [32]byte) (e *exchanged, mine bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	if e := x.tokens[key]; e != nil && !e.over(now) {
		return e, false, nil
	}
	if len(x.tokens) >= maxTokens && !x.makeRoomLocked(now) {
		return nil, false, errBusy
	}
	if x.tokens == nil {
		x.tokens = make(map[[32]byte]*exchanged)
	}
	e = &exchanged{done: make(chan struct{})}
	x.tokens[key] = e
	return e, true, nil
}

// makeRoomLocked forgets the tokens that are over, or else the one that is over first.
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

// drop forgets a token; one that is being fetched stays.
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

// forget takes an entry back that has no token.
func (x *Exchanger) forget(key [32]byte, e *exchanged) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.tokens[key] == e {
		delete(x.tokens, key)
	}
}

// fetch asks the server for a token. Errors name the endpoint, and nothing secret; those
// that may pass are httpcall.ErrUnreachable: the agent itself has received nothing.
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
		return "", 0, errors.New("is no URL")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.SetBasicAuth(url.QueryEscape(x.ClientID), url.QueryEscape(x.ClientSecret)) // RFC 6749 §2.3.1
	client, release := x.client()
	defer release()
	resp, err := client.Do(req)
	if err != nil {
		return "", 0, fmt.Errorf("%w: %w", httpcall.ErrUnreachable, httpcall.Reason(err))
	}
	return readAnswer(resp)
}

// client returns what sends requests: secrets follow no redirects.
func (x *Exchanger) client() (*http.Client, func()) {
	c, release := httpcall.Client(x.Client)
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, release
}

// answer is what the server says (RFC 8693 §2.2, RFC 6749 §5.2).
type answer struct {
	Token   string      `json:"access_token"`
	Issued  string      `json:"issued_token_type"`
	Type    string      `json:"token_type"`
	Expires json.Number `json:"expires_in"`
	Error   string      `json:"error"`
}

// errorCode is the form of the errors of RFC 6749 §5.2, of which servers say more, such as
// descriptions that repeat what they were sent.
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
		return "", 0, fmt.Errorf("refuses with status %d: %s", resp.StatusCode, a.Error)
	case resp.StatusCode != http.StatusOK:
		return "", 0, fmt.Errorf("refuses with status %d", resp.StatusCode)
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
	if n, err := a.Expires.Int64(); err == nil && n > 0 {
		life = time.Duration(min(n, int64(maxLife/time.Second))) * time.Second
	}
	return a.Token, life, nil
}

// shown returns an address without what could be secret in it.
func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "of the configuration"
	}
	u.RawQuery, u.Fragment = "", ""
	return u.Redacted()
}

// keyOf returns what a token is kept under.
func keyOf(kind string, subject []byte) [32]byte {
	return sha256.Sum256(append([]byte(kind+"\n"), subject...))
}
