package directory_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/dirstore"
)

var bearer = directory.Call{Credentials: directory.Credentials{Bearer: "very-secret-token"}}

// A registered agent survives a restart with its credentials and its card, although it does not
// answer.
func TestRegisteredAgentsAreKept(t *testing.T) {
	t.Parallel()
	store := new(dirstore.Memory)
	p := startPeer(t, serveDocument(cardOf("Research", "search-papers")))
	b := open(t, directory.Config{Store: store, Sealer: box{}})
	e, err := b.Register(t.Context(), directory.Spec{Title: "My Research", URL: p.URL, Call: bearer}, false)
	if err != nil || e.Name() != "my-research" || !e.Registered || !e.Spec.Guarded {
		t.Fatalf("Register = %+v, %v", e, err)
	}
	b.refresh("my-research")
	if got := p.header.Get("Authorization"); got != "Bearer very-secret-token" {
		t.Errorf("the agent was asked with %q", got)
	}
	records, _ := store.Records(t.Context())
	for _, r := range records {
		if bytes.Contains(r.Spec, []byte("very-secret")) || bytes.Contains(r.Secret, []byte("very-secret")) {
			t.Errorf("the store has the token in the clear: %+v", r)
		}
	}
	p.Close()
	b = open(t, directory.Config{Store: store, Sealer: box{}})
	e = b.get("my-research")
	if diff := cmp.Diff([]string{"search-papers"}, ids(e)); diff != "" || e.Spec.Call.Credentials != bearer.Credentials || e.Title != "My Research" {
		t.Errorf("after the restart %+v, skills (-want +got):\n%s", e, diff)
	}
	if e.Health.SeenAt.IsZero() || e.Health.Session {
		t.Errorf("health after the restart = %+v, want seen in an earlier session", e.Health)
	}
	if diff := cmp.Diff([]string{"put my-research [search-papers]"}, b.hub.take()); diff != "" {
		t.Errorf("calls of the registrar (-want +got):\n%s", diff)
	}
	if got := b.refresh("my-research"); got.Reachable || got.Error == "" || got.SkillCount != 1 {
		t.Errorf("Refresh of an agent that has gone = %+v", got)
	}
	if _, err := b.Remove(t.Context(), "My Research"); err != nil {
		t.Fatal(err)
	}
	if records, _ := store.Records(t.Context()); len(records)+len(b.names()) != 0 {
		t.Errorf("after Remove the store has %v, the directory %v", records, b.names())
	}
	if _, err := b.Remove(t.Context(), "My Research"); !errors.Is(err, directory.ErrNoAgent) {
		t.Errorf("a second Remove: %v, want ErrNoAgent", err)
	}
}

// A change keeps credentials if requested, even at another address on the same host; a card
// belongs to the address it came from.
func TestRegisterAgain(t *testing.T) {
	t.Parallel()
	store := new(dirstore.Memory)
	one, two := startPeer(t, serveDocument(cardOf("one", "x"))), startPeer(t, serveDocument(cardOf("two", "y")))
	b := open(t, directory.Config{Store: store, Sealer: box{}})
	put := func(s directory.Spec, keep bool) {
		t.Helper()
		if _, err := b.Register(t.Context(), s, keep); err != nil {
			t.Fatal(err)
		}
	}
	put(directory.Spec{Name: "a", URL: one.URL, Call: bearer}, false)
	b.refresh("a")
	put(directory.Spec{Name: "a", URL: two.URL}, true)
	if e := b.get("a"); len(e.Skills) != 0 || e.Spec.Call.Credentials != bearer.Credentials {
		t.Errorf("at the new address: %+v", e)
	}
	b.refresh("a")
	if diff := cmp.Diff([]string{"y"}, ids(b.get("a"))); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	b = open(t, directory.Config{Store: store, Sealer: box{}})
	if got := b.get("a").Spec.Call.Credentials; got != bearer.Credentials {
		t.Errorf("the credentials were sealed for another address: %v", got)
	}
	b.t = t
	if _, err := b.Register(t.Context(), directory.Spec{Name: "a", URL: two.URL}, false); err != nil {
		t.Fatal(err)
	}
	if got := b.get("a").Spec.Call.Credentials; got != (directory.Credentials{}) {
		t.Errorf("credentials that were dropped: %v", got)
	}
}

// A repeated registration does not open a gated agent, unless it says so.
func TestRegisteredAgentsStayGated(t *testing.T) {
	t.Parallel()
	store := new(dirstore.Memory)
	b := open(t, directory.Config{Store: store})
	const url = "https://a.example"
	for _, tt := range []struct {
		spec directory.Spec
		want string
	}{
		{directory.Spec{Trust: directory.Gated}, `"gated" []`},
		{directory.Spec{Description: "more"}, `"gated" []`},
		{directory.Spec{Trust: directory.Open, GatedSkills: []string{"buy"}}, `"open" [buy]`},
		{directory.Spec{}, `"open" [buy]`},
		{directory.Spec{Trust: directory.Open}, `"open" []`},
	} {
		tt.spec.Name, tt.spec.URL = "a", url
		if _, err := b.Register(t.Context(), tt.spec, true); err != nil {
			t.Fatal(err)
		}
		again := open(t, directory.Config{Store: store})
		for _, d := range []*bundle{b, again} {
			s := d.get("a").Spec
			if got := fmt.Sprintf("%q %v", s.Trust, s.GatedSkills); got != tt.want {
				t.Errorf("after %+v: %s, want %s", tt.spec, got, tt.want)
			}
		}
	}
}

func TestRegisterRefuses(t *testing.T) {
	t.Parallel()
	b := open(t, directory.Config{
		Sources: []directory.Source{source("agents.yaml", spec("configured", "http://c"))},
		Policy: func(url string) error {
			if strings.Contains(url, "127.0.0.1") {
				return errors.New("127.0.0.1 is a loopback address")
			}
			return nil
		},
	})
	ok := "https://a.example"
	for name, tt := range map[string]struct {
		spec directory.Spec
		is   error
		says string
	}{
		"no name":                {directory.Spec{URL: ok}, directory.ErrInvalid, "name: is missing"},
		"name":                   {directory.Spec{Name: "A b", URL: ok}, directory.ErrInvalid, "is invalid; use at most"},
		"reserved":               {directory.Spec{Name: "tasks", URL: ok}, directory.ErrInvalid, "is reserved"},
		"no URL":                 {directory.Spec{Name: "a"}, directory.ErrInvalid, "url: is missing"},
		"URL":                    {directory.Spec{Name: "a", URL: "file:///etc/passwd"}, directory.ErrInvalid, "is not a URL"},
		"a user in the URL":      {directory.Spec{Name: "a", URL: "https://u:pw@a.example"}, directory.ErrInvalid, "has a user"},
		"trust":                  {directory.Spec{Name: "a", URL: ok, Trust: "blind"}, directory.ErrInvalid, "must be open or gated"},
		"no gated skill":         {directory.Spec{Name: "a", URL: ok, GatedSkills: []string{""}}, directory.ErrInvalid, "gatedSkills"},
		"policy":                 {directory.Spec{Name: "a", URL: "http://127.0.0.1:1"}, directory.ErrInvalid, "loopback"},
		"configured":             {directory.Spec{Name: "configured", URL: ok}, directory.ErrConfigured, "agents.yaml"},
		"variable of the hub":    {directory.Spec{Name: "a", URL: ok, Call: directory.Call{Credentials: directory.Credentials{APIKeyEnv: "HOME"}}}, directory.ErrInvalid, "callers cannot send"},
		"hidden text":            {directory.Spec{Name: "a", URL: ok, Description: "do\u202eevil"}, directory.ErrInvalid, "invisible characters"},
		"a header of two lines":  {directory.Spec{Name: "a", URL: ok, Call: directory.Call{Credentials: directory.Credentials{HeaderName: "K", HeaderValue: "v\r\nX: y"}}}, directory.ErrInvalid, "cannot carry"},
		"the hub has no sealer":  {directory.Spec{Name: "a", URL: ok, Call: bearer}, directory.ErrInvalid, "cannot keep credentials"},
		"a skill without an id":  {directory.Spec{Name: "a", URL: ok, Skills: []directory.Skill{{Name: "x"}}}, directory.ErrInvalid, "skills[0].id"},
		"a skill that is double": {directory.Spec{Name: "a", URL: ok, Skills: []directory.Skill{{ID: "x"}, {ID: "X"}}}, directory.ErrInvalid, "duplicate skill"},
	} {
		_, err := b.Register(t.Context(), tt.spec, false)
		if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "pw@") {
			t.Errorf("%s: %v, want %v with %q", name, err, tt.is, tt.says)
		}
	}
	if _, err := b.Remove(t.Context(), "configured"); !errors.Is(err, directory.ErrConfigured) || !strings.Contains(err.Error(), "agents.yaml") {
		t.Errorf("Remove of a configured agent: %v", err)
	}
	if diff := cmp.Diff([]string{"configured"}, b.names()); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
}

// A record whose secret cannot be opened is a problem of the source and does not stop the
// directory.
func TestSecretsThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	store := new(dirstore.Memory)
	b := open(t, directory.Config{Store: store, Sealer: box{}})
	for _, s := range []directory.Spec{{Name: "a", URL: "https://a.example", Call: bearer}, {Name: "b", URL: "https://b.example"}} {
		if _, err := b.Register(t.Context(), s, false); err != nil {
			t.Fatal(err)
		}
	}
	records, _ := store.Records(t.Context())
	records[0].Secret[0]++
	if err := store.PutRecord(t.Context(), &records[0]); err != nil {
		t.Fatal(err)
	}
	b = open(t, directory.Config{Store: store, Sealer: box{}})
	if diff := cmp.Diff([]string{"b"}, b.names()); diff != "" || len(b.Problems()) != 1 || b.Problems()[0].Source != "registered" {
		t.Errorf("problems %v, agents (-want +got):\n%s", b.Problems(), diff)
	}
	if records, _ := store.Records(t.Context()); len(records) != 2 {
		t.Errorf("%d records are left, want both", len(records))
	}
}

// No text form of credentials contains their values.
func TestCredentialsAreNotShown(t *testing.T) {
	t.Parallel()
	const value = "hidden-value"
	c := directory.Credentials{APIKey: value, Bearer: value, HeaderName: "x-api-key", HeaderValue: value}
	call := directory.Call{Credentials: c}
	js, _ := json.Marshal(map[string]any{"c": c, "call": call})
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "c", c, "pointer", &c)
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%v %+v %#v %s %q", c, c, c, c, c), fmt.Sprintf("%v %+v %#v", call, call, &c), string(js), log.String()} {
		if strings.Contains(text, value) {
			t.Errorf("%s", text)
		}
	}
	if got := c.Kind(); got != "API key, bearer token, header X-Api-Key" {
		t.Errorf("Kind = %q", got)
	}
	if got := (directory.Credentials{APIKeyEnv: "A", BearerEnv: "B"}).Kind(); got != "API key from A, bearer token from B" {
		t.Errorf("Kind = %q", got)
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	lookup := func(name string) (string, bool) { return "of " + name, name != "NONE" }
	for _, tt := range []struct {
		c    directory.Credentials
		want map[string]string
		err  string
	}{
		{directory.Credentials{}, map[string]string{}, ""},
		{directory.Credentials{APIKeyEnv: "A"}, map[string]string{"X-Api-Key": "of A"}, ""},
		{directory.Credentials{APIKey: "k", BearerEnv: "B"}, map[string]string{"X-Api-Key": "k", "Authorization": "Bearer of B"}, ""},
		{directory.Credentials{Bearer: "t", HeaderName: "x-key", HeaderValue: "v"}, map[string]string{"Authorization": "Bearer t", "X-Key": "v"}, ""},
		{directory.Credentials{APIKeyEnv: "NONE"}, nil, "the environment variable NONE is not set"},
		{directory.Credentials{BearerEnv: "NONE"}, nil, "the environment variable NONE is not set"},
	} {
		h, err := tt.c.Header(lookup)
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%v: error %v, want %s", tt.c, err, tt.err)
			}
			continue
		}
		got := map[string]string{}
		for name := range h {
			got[name] = h.Get(name)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%v: %v, header (-want +got):\n%s", tt.c, err, diff)
		}
	}
}
