package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/secret/openid"
)

const (
	cookieName = "parley_console"
	// sessionTime is how long a session lasts after its last request, and sessionMost how long
	// after the sign-in.
	sessionTime = time.Hour
	sessionMost = 12 * time.Hour
	// maxSessions is the maximum number of sessions. One more ends the oldest one.
	maxSessions = 1000
	// maxKey is the maximum length of a key in bytes.
	maxKey = 16 << 10
)

// session is the state of a browser.
type session struct {
	// cookie is the value of its cookie.
	cookie string
	credential
	// until is the end of a session with a key.
	until time.Time
}

// credential is the proof of a person's identity for the hub.
type credential struct {
	// key is a key or a token; empty for a browser that has not signed in.
	key string
	// openID is set if key is the ID token of provider.
	openID   *openid.Session
	provider *openid.Provider
}

// kept is a session in memory.
type kept struct {
	credential
	expires, last time.Time
}

// sessions are the sessions with a credential, by a digest of their cookie.
type sessions struct {
	mu  sync.Mutex // guards all
	all map[string]*kept
}

// digest returns the digest of a cookie.
func digest(cookie string) string {
	sum := sha256.Sum256([]byte(cookie))
	return string(sum[:])
}

// add stores a credential for a cookie. A session ends with its ID token.
func (s *sessions) add(cookie string, c *credential) {
	now := time.Now()
	last := now.Add(sessionMost)
	if c.openID != nil {
		last = earlier(last, c.openID.Expiry)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[string]*kept)
	}
	oldest := ""
	for id, k := range s.all {
		if !before(now, k.expires) {
			delete(s.all, id)
		} else if first, ok := s.all[oldest]; !ok || before(k.expires, first.expires) {
			oldest = id
		}
	}
	if len(s.all) >= maxSessions {
		delete(s.all, oldest)
	}
	s.all[digest(cookie)] = &kept{*c, earlier(now.Add(sessionTime), last), last}
}

// before reports whether a is earlier than b.
func before(a, b time.Time) bool { return a.Before(b) }

// earlier returns the earlier time.
func earlier(a, b time.Time) time.Time {
	if before(a, b) {
		return a
	}
	return b
}

// find returns the session of a cookie, and prolongs it. Without a credential it is one of a browser that
// has not signed in.
func (s *sessions) find(cookie string) *session {
	now, id, found := time.Now(), digest(cookie), &session{cookie: cookie}
	s.mu.Lock()
	if k := s.all[id]; k == nil || !before(now, k.expires) {
		delete(s.all, id)
	} else {
		k.expires = earlier(now.Add(sessionTime), k.last)
		found.credential, found.until = k.credential, k.expires
	}
	s.mu.Unlock()
	return found
}

// lives reports whether a cookie has a session, and does not prolong it.
func (s *sessions) lives(cookie string) bool {
	s.mu.Lock()
	k := s.all[digest(cookie)]
	lives := k != nil && before(time.Now(), k.expires)
	s.mu.Unlock()
	return lives
}

func (s *sessions) remove(cookie string) {
	s.mu.Lock()
	delete(s.all, digest(cookie))
	s.mu.Unlock()
}

// sessionOf returns the session of a request. A browser without a cookie gets one.
func (h *Handler) sessionOf(w http.ResponseWriter, r *http.Request) *session {
	if c, err := r.Cookie(cookieName); err == nil && len(c.Value) == len(newCookie()) {
		return h.sessions.find(c.Value)
	}
	return h.begin(w, r)
}

// begin starts a session without a key.
func (h *Handler) begin(w http.ResponseWriter, r *http.Request) *session {
	s := &session{cookie: newCookie()}
	h.setCookie(w, r, &http.Cookie{Name: cookieName, Value: s.cookie, Path: Root, SameSite: http.SameSiteStrictMode})
	return s
}

// encrypted reports whether the browser has sent a request over TLS.
func encrypted(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

func newCookie() string { return rand.Text() + rand.Text() }

// token returns the token that forms of a session carry.
func (h *Handler) token(s *session) string {
	mac := hmac.New(sha256.New, h.secret)
	mac.Write([]byte(s.cookie))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// genuine reports whether a form comes from a page of its session.
func (h *Handler) genuine(r *http.Request, s *session) bool {
	return h.names.SameOrigin(r) == nil && hmac.Equal([]byte(r.PostFormValue("token")), []byte(h.token(s)))
}

// signInView is the content of the page where one signs in.
type signInView struct {
	Next, Error string
	Providers   []signInLink
}

// signInLink leads to an OpenID provider.
type signInLink struct{ Name, Address string }

func (h *Handler) signInView(next string) signInView {
	v := signInView{Next: h.within(next)}
	for _, p := range h.Providers {
		v.Providers = append(v.Providers, signInLink{p.Name, h.prefix + signInPath + url.PathEscape(p.Name) + "/start?" + query("next", v.Next)})
	}
	return v
}

func (h *Handler) signInPage(w http.ResponseWriter, r *http.Request) {
	p := h.pageOf(w, r)
	p.show(http.StatusOK, "signin", h.signInView(r.FormValue("next")))
}

// signIn checks a key and begins a session with it, under a new cookie.
func (h *Handler) signIn(w http.ResponseWriter, r *http.Request) {
	p := h.pageOf(w, r)
	v := h.signInView(r.PostFormValue("next"))
	key := strings.TrimSpace(r.PostFormValue("key"))
	if !h.genuine(r, p.session) {
		v.Error = "This form is too old. Please try again."
		p.show(http.StatusForbidden, "signin", v)
		return
	}
	if key == "" || len(key) > maxKey || strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }) {
		v.Error = "That is not a key."
		p.show(http.StatusUnprocessableEntity, "signin", v)
		return
	}
	old := p.session.cookie
	p.session.key = key
	var c adminjson.Caller
	if err := p.get("/api/v1/caller", &c); err != nil || c.Anonymous {
		p.session.key = ""
		if r := refusedBy(err); r != nil && r.Code != http.StatusUnauthorized {
			v.Error = r.Message
			p.show(r.Code, "signin", v)
			return
		}
		v.Error = "The hub does not accept this key. It may have been revoked, or have a typing error."
		p.show(http.StatusUnauthorized, "signin", v)
		return
	}
	h.sessions.remove(old)
	h.sessions.add(h.begin(w, r).cookie, &credential{key: key})
	h.see(w, r, v.Next)
}

func (h *Handler) signOut(w http.ResponseWriter, r *http.Request) {
	s := h.sessionOf(w, r)
	if !h.genuine(r, s) {
		h.see(w, r, Root)
		return
	}
	h.sessions.remove(s.cookie)
	p := &page{hub: h, w: w, r: r, session: h.begin(w, r)}
	if s.provider == nil {
		h.see(w, r, Root)
		return
	}
	p.show(http.StatusOK, "signedout", signInLink{s.provider.Name, s.provider.SignOut()})
}

// within returns the path of next below the prefix of the hub if it is a page of the console, or else
// the first page. A page of the console names itself with the prefix.
func (h *Handler) within(next string) string {
	if tail, ok := strings.CutPrefix(next, h.prefix+Root); ok {
		next = Root + tail
	}
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, Root) || strings.ContainsAny(next, "\\\r\n") {
		return Root
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}
