package console

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/secret/openid"
)

const (
	// attemptCookie and the beginning of its state name the cookie of a sign-in in progress. It is
	// SameSite=Lax: a provider on another site sends the browser back with it, but not with the
	// cookie of a session.
	attemptCookie = "parley_sign_in_"
	// attemptTime is how long a sign-in at a provider may take.
	attemptTime = 10 * time.Minute
	// stateSize is the length of a state, and stateName the part of it in the name of the cookie.
	stateSize, stateName = 26, 8
	// maxNext is the maximum length of an address that is kept during a sign-in.
	maxNext = 1 << 10
	// signInPath is the path below which providers send browsers back.
	signInPath = Root + "sign-in/openid/"
)

// attempt is a sign-in in progress, as the browser keeps it, sealed.
type attempt struct {
	openid.Attempt
	Provider, Next string
	Until          time.Time
}

// provider returns the provider of a request; nil if there is none of its name.
func (h *Handler) provider(r *http.Request) *openid.Provider {
	for _, p := range h.Providers {
		if p.Name == r.PathValue("name") {
			return p
		}
	}
	return nil
}

// startOpenID sends a browser to a provider. The browser must have a page of the console open: the
// cookie of that page shows it, and Sec-Fetch-Site.
func (h *Handler) startOpenID(w http.ResponseWriter, r *http.Request) {
	provider, next := h.provider(r), h.within(r.FormValue("next"))
	if len(next) > maxNext {
		next = Root
	}
	if provider == nil {
		h.missing(w, r)
		return
	}
	site := r.Header.Get("Sec-Fetch-Site")
	if _, err := r.Cookie(cookieName); err != nil || site != "" && site != "same-origin" {
		h.see(w, r, Root+"sign-in?next="+url.QueryEscape(next))
		return
	}
	address, begun, err := provider.Begin(r.Context(), h.origin(r)+signInPath+url.PathEscape(provider.Name))
	if err != nil {
		h.signInFailed(w, r, err)
		return
	}
	a := attempt{Attempt: *begun, Provider: provider.Name, Next: next, Until: time.Now().Add(attemptTime)}
	h.keep(w, r, begun.State, h.seal(&a))
	http.Redirect(w, r, address, http.StatusSeeOther)
}

// keep gives the browser the cookie of an attempt; without a value, the browser drops it.
func (h *Handler) keep(w http.ResponseWriter, r *http.Request, state, value string) {
	age := int(attemptTime / time.Second)
	if value == "" {
		age = -1
	}
	h.setCookie(w, r, &http.Cookie{Name: attemptCookie + state[:stateName], Value: value, Path: signInPath, MaxAge: age, SameSite: http.SameSiteLaxMode})
}

// setCookie gives the browser a cookie that scripts cannot read.
func (h *Handler) setCookie(w http.ResponseWriter, r *http.Request, c *http.Cookie) {
	c.Path, c.HttpOnly, c.Secure = h.prefix+c.Path, true, encrypted(r)
	http.SetCookie(w, c)
}

// origin returns the address of the hub for the browser.
func (h *Handler) origin(r *http.Request) string {
	switch {
	case h.PublicURL != "":
		return strings.TrimSuffix(h.PublicURL, "/")
	case encrypted(r):
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// finishOpenID begins a session with the answer that a browser brings back from a provider.
func (h *Handler) finishOpenID(w http.ResponseWriter, r *http.Request) {
	provider := h.provider(r)
	if provider == nil {
		h.missing(w, r)
		return
	}
	a, err := h.attemptOf(w, r, provider.Name)
	if err != nil {
		h.signInFailed(w, r, err)
		return
	}
	signedIn, err := provider.Finish(r.Context(), &a.Attempt, r.URL.Query())
	if err != nil {
		h.signInFailed(w, r, err)
		return
	}
	c := credential{key: signedIn.Token, openID: signedIn, provider: provider}
	p := &page{hub: h, w: w, r: r, session: &session{credential: c}}
	if err := p.get("/api/v1/caller", &p.caller); err != nil || p.caller.Anonymous {
		h.signInFailed(w, r, errors.Join(openid.ErrRefused, err))
		return
	}
	if old, err := r.Cookie(cookieName); err == nil {
		h.sessions.remove(old.Value)
	}
	p.session.cookie = h.begin(w, r).cookie
	h.sessions.add(p.session.cookie, &c)
	h.onward(w, r, a.Next)
}

// attemptOf returns the attempt that a browser finishes. Its cookie serves once.
func (h *Handler) attemptOf(w http.ResponseWriter, r *http.Request, provider string) (*attempt, error) {
	state := r.URL.Query().Get("state")
	if len(state) != stateSize || strings.Trim(state, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		return nil, openid.ErrMismatch
	}
	c, err := r.Cookie(attemptCookie + state[:stateName])
	if err != nil {
		return nil, openid.ErrMismatch
	}
	h.keep(w, r, state, "")
	a, err := h.unseal(c.Value)
	if err != nil || a.Provider != provider || a.State != state || time.Now().After(a.Until) {
		return nil, openid.ErrMismatch
	}
	return a, nil
}

// seal encrypts an attempt for its cookie.
func (h *Handler) seal(a *attempt) string {
	text, _ := json.Marshal(a) // texts and a time never fail
	return base64.RawURLEncoding.EncodeToString(h.box.Seal(text, []byte(attemptCookie)))
}

func (h *Handler) unseal(value string) (*attempt, error) {
	sealed, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil {
		return nil, err
	}
	text, err := h.box.Open(sealed, []byte(attemptCookie))
	if err != nil {
		return nil, err
	}
	a := new(attempt)
	return a, json.Unmarshal(text, a)
}

// signInFailed shows that a sign-in at a provider has failed. The log has the reason.
func (h *Handler) signInFailed(w http.ResponseWriter, r *http.Request, err error) {
	code, text := http.StatusInternalServerError, "The log of the hub has the reason."
	switch {
	case errors.Is(err, openid.ErrMismatch):
		code, text = http.StatusBadRequest, "This browser did not start this sign-in, or started it more than ten minutes ago."
	case errors.Is(err, openid.ErrRefused):
		code, text = http.StatusForbidden, "The provider or the hub rejected it. The log of the hub has the reason."
	case errors.Is(err, openid.ErrUnavailable):
		code, text = http.StatusBadGateway, "The provider cannot be used now. The log of the hub has the reason."
	}
	if h.Logger != nil {
		h.Logger.Warn("sign-in to the console failed", "provider", r.PathValue("name"), "error", err)
	}
	p := &page{hub: h, w: w, r: r, session: new(session)} // without a session: the browser may have one that it has not sent
	p.say(code, "You are not signed in", text)
}

// onward shows a page that leads to another one. The request for that one comes from a page of the
// console, so that it has the cookie of the session. After a redirection from another site it has not.
// The page is gone at once, so it shows no account.
func (h *Handler) onward(w http.ResponseWriter, r *http.Request, next string) {
	w.Header().Set("Refresh", "0; url="+h.prefix+next)
	p := &page{hub: h, w: w, r: r, session: new(session)}
	p.show(http.StatusOK, "onward", h.prefix+next)
}

// bounced answers a link on another site: the browser has not sent the cookie of its session,
// and repeats the request with it from a page of the console.
func (h *Handler) bounced(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet || r.Header.Get("Sec-Fetch-Site") != "cross-site" || r.Header.Get("Sec-Fetch-Mode") != "navigate" ||
		strings.HasPrefix(r.URL.Path, signInPath) {
		return false
	}
	if _, err := r.Cookie(cookieName); err == nil {
		return false
	}
	if _, err := r.Cookie(bounceCookie); err == nil {
		return false // this browser does not send the cookie from the page either
	}
	h.setCookie(w, r, &http.Cookie{Name: bounceCookie, Value: "1", Path: Root, MaxAge: 2, SameSite: http.SameSiteLaxMode})
	h.onward(w, r, h.within(r.URL.RequestURI()))
	return true
}

// bounceCookie is the cookie of a browser that repeats a request.
const bounceCookie = "parley_again"

// changed reports whether the session of a page has ended, or the hub grants its caller other
// rights than before.
func (p *page) changed() bool {
	if p.session.key != "" && !p.hub.sessions.lives(p.session.cookie) {
		return true
	}
	var now adminjson.Caller
	if err := p.get("/api/v1/caller", &now); err != nil {
		refused := refusedBy(err)
		return refused != nil && refused.Code == http.StatusUnauthorized
	}
	return now.ID != p.caller.ID || now.Owner != p.caller.Owner || now.Admin != p.caller.Admin || !slices.Equal(now.Roles, p.caller.Roles)
}
