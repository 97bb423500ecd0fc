package openid_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/auth/token"
	"github.com/parley-a2a/parley/internal/secret/openid"
	"github.com/parley-a2a/parley/internal/testing/tokentest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const redirect = "http://127.0.0.1:1/console/sign-in/openid/corp"

type object = map[string]any

// server is a provider that checks each request to its token endpoint.
type server struct {
	t   *testing.T
	url string
	key tokentest.Issuer
	// document and answer change the documents that it sends; claims changes the ID token.
	document, answer, claims object
	// challenge and nonce are those of the last address of Begin.
	challenge, nonce string
	// secret is that of the client.
	secret string
	// status replaces the status of the token endpoint.
	status int
	// inForm is set if the client must authenticate in the form.
	inForm bool
	// asForm makes the token endpoint answer with a form.
	asForm bool
	// exchanged counts the codes that were exchanged.
	exchanged int
}

func newServer(t *testing.T) (*server, *openid.Provider) {
	t.Helper()
	s := &server{t: t, secret: "s3cret+/:"}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	s.url = web.URL
	s.key = tokentest.Issuer{URL: s.url, Audience: "console", KID: "k1", Key: tokentest.NewKey(t)}
	issuer := &token.Issuer{Name: "corp", URL: s.url, Audiences: []string{"https://hub.example"}}
	if err := issuer.Check(); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return s, &openid.Provider{
		Name: "corp", URL: s.url, ClientID: "console", ClientSecret: "s3cret+/:", Client: client,
		Verifier: &token.Verifier{Issuers: []*token.Issuer{issuer}, Client: client},
	}
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var doc, changes object
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		doc = object{
			"issuer": s.url, "authorization_endpoint": s.url + "/authorize?x=1", "token_endpoint": s.url + "/token", "jwks_uri": s.url + "/keys",
			"end_session_endpoint": s.url + "/end", "authorization_response_iss_parameter_supported": true,
		}
		changes = s.document
	case "/keys":
		_, _ = w.Write(s.key.KeySet(s.t))
		return
	case "/token":
		if s.status != 0 {
			w.WriteHeader(s.status)
			return
		}
		doc, changes = s.exchange(r), s.answer
	default:
		http.NotFound(w, r)
		return
	}
	for k, v := range changes {
		doc[k] = v
	}
	if s.asForm && r.URL.Path == "/token" {
		form := make(url.Values)
		for k, v := range doc {
			form.Set(k, v.(string))
		}
		w.Header().Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
		_, _ = io.WriteString(w, form.Encode())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if doc["error"] != nil {
		w.WriteHeader(http.StatusBadRequest)
	}
	_ = json.NewEncoder(w).Encode(doc)
}

// exchange checks a request for tokens (RFC 6749 §4.1.3, RFC 7636 §4.5).
func (s *server) exchange(r *http.Request) object {
	s.exchanged++
	id, secret, basic := r.BasicAuth()
	id, _ = url.QueryUnescape(id)
	secret, _ = url.QueryUnescape(secret)
	if s.inForm {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if basic == s.inForm || !s.inForm && r.PostForm.Has("client_id") {
		s.t.Errorf("the client authenticates in the header: %v, and sends %v", basic, r.PostForm)
	}
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	switch {
	case r.Method != http.MethodPost || id != "console" || secret != s.secret:
		return object{"error": "invalid_client"}
	case r.PostFormValue("code") != "c0de" || r.PostFormValue("redirect_uri") != redirect || r.PostFormValue("grant_type") != "authorization_code":
		return object{"error": "invalid_grant"}
	case base64.RawURLEncoding.EncodeToString(sum[:]) != s.challenge:
		return object{"error": "invalid_grant", "error_description": "PKCE"}
	}
	claims := object{"iss": s.url, "aud": "console", "sub": "ada", "nonce": s.nonce, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	for k, v := range s.claims {
		claims[k] = v
	}
	return object{"access_token": "opaque", "token_type": "Bearer", "id_token": s.key.Token(s.t, claims)}
}

// begin begins a sign-in, and returns the answer that a provider gives the browser.
func (s *server) begin(p *openid.Provider) (*openid.Attempt, url.Values) {
	s.t.Helper()
	address, a, err := p.Begin(s.t.Context(), redirect)
	if err != nil {
		s.t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		s.t.Fatal(err)
	}
	q := u.Query()
	s.challenge, s.nonce = q.Get("code_challenge"), q.Get("nonce")
	for name, want := range map[string]string{
		"x": "1", "response_type": "code", "client_id": "console", "redirect_uri": redirect, "scope": "openid profile", "code_challenge_method": "S256", "state": a.State,
	} {
		if got := q.Get(name); got != want {
			s.t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if !strings.HasPrefix(address, s.url+"/authorize?") || len(s.nonce) < 20 || len(a.State) < 20 || strings.Contains(address, a.Verifier) {
		s.t.Errorf("address %s", address)
	}
	return a, url.Values{"code": {"c0de"}, "state": {a.State}, "iss": {s.url}}
}

// TestSignIn signs a person in.
func TestSignIn(t *testing.T) {
	t.Parallel()
	s, p := newServer(t)
	a, answer := s.begin(p)
	got, err := p.Finish(t.Context(), a, answer)
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(got.Expiry); left < 55*time.Minute || left > time.Hour {
		t.Errorf("the session lasts %v", left)
	}
	caller, err := p.Verifier.Token(got.Context(t.Context()), got.Token)
	if err != nil || caller.ID != "corp:ada" || caller.Claims["scope"] != "openid profile" {
		t.Errorf("caller %v, %v", caller, err)
	}
	if want := s.url + "/end?client_id=console"; p.SignOut() != want {
		t.Errorf("SignOut = %s, want %s", p.SignOut(), want)
	}
	if again, _ := s.begin(p); again.State == a.State || again.Nonce == a.Nonce || again.Verifier == a.Verifier {
		t.Error("two attempts have the same state, nonce or secret")
	}
}

// TestAnswers changes one thing in the answer to the browser or in that of the token endpoint.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer         func(q url.Values)
		tokens, claims object
		status         int
		attempt        func(a *openid.Attempt)
		want           error
		exchanged      int
	}{
		"another state":        {answer: func(q url.Values) { q.Set("state", strings.Repeat("A", 26)) }, want: openid.ErrMismatch},
		"no state":             {answer: func(q url.Values) { q.Del("state") }, want: openid.ErrMismatch},
		"an empty attempt":     {answer: func(q url.Values) { q.Set("state", "") }, attempt: func(a *openid.Attempt) { a.State = "" }, want: openid.ErrMismatch},
		"two states":           {answer: func(q url.Values) { q.Add("state", q.Get("state")) }, want: openid.ErrMismatch},
		"another issuer":       {answer: func(q url.Values) { q.Set("iss", "https://other.example") }, want: openid.ErrMismatch},
		"no issuer":            {answer: func(q url.Values) { q.Del("iss") }, want: openid.ErrMismatch},
		"no code":              {answer: func(q url.Values) { q.Del("code") }, want: openid.ErrMismatch},
		"refused":              {answer: func(q url.Values) { q.Set("error", "access_denied") }, want: openid.ErrRefused},
		"another code":         {answer: func(q url.Values) { q.Set("code", "x") }, want: openid.ErrRefused, exchanged: 1},
		"another secret":       {attempt: func(a *openid.Attempt) { a.Verifier = strings.Repeat("v", 43) }, want: openid.ErrRefused, exchanged: 1},
		"another redirect":     {attempt: func(a *openid.Attempt) { a.Redirect += "x" }, want: openid.ErrRefused, exchanged: 1},
		"another nonce":        {attempt: func(a *openid.Attempt) { a.Nonce = "n" }, want: openid.ErrRefused, exchanged: 1},
		"no ID token":          {tokens: object{"id_token": nil}, want: openid.ErrUnavailable, exchanged: 1},
		"an ID token no token": {tokens: object{"id_token": "x.y.z"}, want: openid.ErrRefused, exchanged: 1},
		"an ID token no text":  {tokens: object{"id_token": 5}, want: openid.ErrUnavailable, exchanged: 1},
		"another client":       {claims: object{"aud": "other"}, want: openid.ErrRefused, exchanged: 1},
		"expired":              {claims: object{"exp": time.Now().Add(-time.Hour).Unix()}, want: openid.ErrRefused, exchanged: 1},
		"an error of theirs":   {status: 500, want: openid.ErrUnavailable},
		"no scope":             {tokens: object{"scope": ""}, exchanged: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := newServer(t)
			s.answer, s.claims, s.status = tc.tokens, tc.claims, tc.status
			a, answer := s.begin(p)
			if tc.answer != nil {
				tc.answer(answer)
			}
			if tc.attempt != nil {
				tc.attempt(a)
			}
			_, err := p.Finish(t.Context(), a, answer)
			if !errors.Is(err, tc.want) || s.exchanged != tc.exchanged {
				t.Errorf("%v after %d exchanges, want %v after %d", err, s.exchanged, tc.want, tc.exchanged)
			}
			if err != nil && (strings.Contains(err.Error(), "c0de") || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("the error has a secret in it: %v", err)
			}
		})
	}
}

// TestDocuments refuses discovery documents.
func TestDocuments(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string]object{
		"another issuer": {"issuer": "https://other.example"}, "no issuer": {"issuer": nil}, "no endpoint": {"authorization_endpoint": nil},
		"a script": {"authorization_endpoint": "javascript:alert(1)"}, "no encryption": {"token_endpoint": "http://token.example/"}, "a user": {"token_endpoint": "https://a:b@token.example/"},
		"no S256": {"code_challenge_methods_supported": []string{"plain"}}, "no text": {"token_endpoint": 7}, "a fragment": {"authorization_endpoint": "https://id.example/#a"},
	} {
		s, p := newServer(t)
		s.document = doc
		if _, _, err := p.Begin(t.Context(), redirect); !errors.Is(err, openid.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, p := newServer(t)
	s.document = object{"end_session_endpoint": "javascript:alert(1)"}
	s.begin(p)
	if got := p.SignOut(); got != "" {
		t.Errorf("SignOut = %s", got)
	}
}

// TestClients: a client authenticates as its provider wants, and reads its answer as JSON or a form.
func TestClients(t *testing.T) {
	t.Parallel()
	const methods = "token_endpoint_auth_methods_supported"
	for name, tc := range map[string]struct {
		methods        []string
		secret         string
		inForm, asForm bool
	}{
		"in the header":       {methods: []string{"client_secret_post", "client_secret_basic"}, secret: "s3cret+/:"},
		"in the form":         {methods: []string{"client_secret_post"}, secret: "s3cret+/:", inForm: true},
		"a public client":     {methods: []string{"client_secret_basic"}, inForm: true},
		"an unknown method":   {methods: []string{"private_key_jwt"}, secret: "s3cret+/:"},
		"a form as an answer": {methods: []string{"client_secret_basic"}, secret: "s3cret+/:", asForm: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := newServer(t)
			s.document, s.inForm, s.asForm, s.secret, p.ClientSecret = object{methods: tc.methods}, tc.inForm, tc.asForm, tc.secret, tc.secret
			a, answer := s.begin(p)
			if _, err := p.Finish(t.Context(), a, answer); err != nil || s.exchanged != 1 {
				t.Errorf("%v after %d exchanges", err, s.exchanged)
			}
		})
	}
}
