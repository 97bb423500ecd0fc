package console

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/auth"
)

// keyView is a key on a page.
type keyView struct {
	ID, Hint, AgentID, DisplayName, Owner, State string
	Owners, Roles                                []string
	Configured                                   bool
	CreatedAt, ExpiresAt, RevokedAt, LastUsedAt  *time.Time
}

// Tasks returns the owner of the tasks that a caller with the key makes.
func (k *keyView) Tasks() string {
	return string((&auth.Principal{ID: k.AgentID, Org: k.Owner}).Owner())
}

// Ended reports whether the key is not valid any more.
func (k *keyView) Ended() bool { return k.State != "active" }

// matches reports whether a text of the key has a word, in any case.
func (k *keyView) matches(word string) bool {
	texts := slices.Concat([]string{k.ID, k.AgentID, k.DisplayName, k.Owner}, k.Owners, k.Roles)
	return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(word)) })
}

// keysView is the page of callers and their keys.
type keysView struct {
	Keys []*keyView
	// Find is the filter, and All is set for a list with the keys that have ended.
	Find string
	All  bool
	// Total is the number of matching keys, and Next the number of those on this page and before it.
	Total, Next int
	Lives       []life
	// Made is a key that was created now, with its text.
	Made *madeKey
	// Draft has the fields of the form for a new key, and Again is set if it was refused.
	Draft filter
	Again bool
	Error string
}

// madeKey is a new key with its text, which the hub shows once.
type madeKey struct {
	keyView
	Key   string
	First bool
}

// life is a choice for how long a new key is valid.
type life struct{ Value, Label string }

// lives are the choices. An empty one has no end.
var lives = []life{{"2160h", "90 days"}, {"24h", "a day"}, {"168h", "a week"}, {"720h", "30 days"}, {"8760h", "a year"}, {"", "until it is revoked"}}

// keysOnPage is the maximum number of keys that a page lists.
const keysOnPage = 100

// showKeys answers with the page of callers and keys.
func showKeys(p *page) error { return p.showKeys(http.StatusOK, new(keysView)) }

func (p *page) showKeys(code int, v *keysView) error {
	v.Find, v.All, v.Lives = strings.TrimSpace(p.r.FormValue("find")), p.r.FormValue("all") != "", lives
	if v.Draft = make(filter); v.Again {
		v.Draft = p.filterOf(keyFields)
	}
	var answer struct{ Keys []*keyView }
	if err := p.get("/api/v1/keys", &answer); err != nil {
		if v.Made != nil && v.Made.First { // this browser has no key yet
			p.show(code, "keys", v)
			return nil
		}
		return err
	}
	all := slices.DeleteFunc(answer.Keys, func(k *keyView) bool { return k.Ended() && !v.All || v.Find != "" && !k.matches(v.Find) })
	slices.Reverse(all) // the newest first
	from := int(min(max(number(p.r.FormValue("page")), 0), int64(len(all))))
	to := min(from+keysOnPage, len(all))
	v.Keys, v.Total = all[from:to], len(all)
	if to < len(all) {
		v.Next = to
	}
	p.show(code, "keys", v)
	return nil
}

// keyFields are the fields of the form for a new key.
var keyFields = []string{"agent", "name", "owner", "roles", "worker", "life"}

// changeKeys creates or revokes a key.
func changeKeys(p *page) error {
	v := new(keysView)
	var err error
	switch p.r.PostFormValue("verb") {
	case "add":
		v.Made = new(madeKey)
		err = p.do(http.MethodPost, "/api/v1/keys", newKey(p.filterOf(keyFields)), v.Made)
	case "revoke":
		err = p.do(http.MethodDelete, "/api/v1/keys/"+segment(p.r.PostFormValue("id")), nil, nil)
		if err == nil {
			p.hub.see(p.w, p.r, Root+"keys?"+query("find", p.r.PostFormValue("find"), "all", p.r.PostFormValue("all")))
			return nil
		}
	default:
		return p.showKeys(http.StatusBadRequest, &keysView{Error: "Choose to create or to revoke a key."})
	}
	if refused := mistake(err); refused != nil {
		return p.showKeys(refused.Code, &keysView{Error: refused.Message, Again: v.Made != nil})
	}
	if err != nil {
		return err
	}
	return p.showKeys(http.StatusOK, v)
}

// newKey returns the body of a request for a key. Owners and roles are separated by commas.
func newKey(f filter) map[string]any {
	body := make(map[string]any)
	for name, value := range map[string]string{"agentId": f["agent"], "displayName": f["name"], "busAgent": f["worker"], "expiresIn": f["life"]} {
		if value != "" {
			body[name] = value
		}
	}
	for name, value := range map[string]string{"roles": f["roles"], "owners": f["owner"]} {
		if list := listed(value); len(list) > 0 {
			body[name] = list
		}
	}
	return body
}

// listed returns the words of a list with commas.
func listed(s string) (words []string) {
	for word := range strings.SplitSeq(s, ",") {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}

// keyActions returns the actions of an administrator on a key.
func keyActions(k *keyView, v *keysView) []action {
	if k.Ended() || k.Configured {
		return nil
	}
	all := ""
	if v.All {
		all = "1"
	}
	return []action{{
		Path: "keys", Verb: "revoke", Label: "Revoke", Confirm: "Revoke the key", Title: "Revoke this key?", Danger: true,
		Subject: fmt.Sprintf("Key %s of %s", k.ID, words(k.AgentID)), Fields: []field{{"id", k.ID}, {"find", v.Find}, {"all", all}},
		Text: "The hub rejects it from now on, and ends its requests, streams and sign-ins immediately. Tasks and webhooks of the caller stay. This cannot be undone.",
	}}
}
