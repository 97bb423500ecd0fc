package console

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/sse"
)

// attentionView is the tasks that need a person, on the overview.
type attentionView struct {
	Needs []needView
	// Partial is set if there may be more.
	Partial bool
	// Items are the newest open items of the inbox, and More is set if there are others.
	Items []inbox.Item
	More  bool
}

// needView is a reason for which tasks of an agent need a person.
type needView struct {
	adminjson.Attention
	// Word names the reason, and Tone is its colour.
	Word, Tone string
	// To is the query of the list with the tasks.
	To string
	// Page is another page that helps, and Label the text of the link to it; both may be empty.
	Page, Label string
	Actions     []action
}

// needWords are the words, colours and pages for the reasons.
var needWords = map[string]needView{
	adminjson.WaitsForStore:      {Word: "store fails", Tone: "bad"},
	adminjson.WaitsForBroker:     {Word: "no broker", Tone: "bad", Page: "queues", Label: "Queues"},
	adminjson.WaitsForAgent:      {Word: "no agent", Tone: "bad"},
	adminjson.WaitsForWorker:     {Word: "no worker", Tone: "bad", Page: "queues", Label: "Queues"},
	adminjson.WaitsForRemote:     {Word: "unreachable", Tone: "bad", Page: "agents", Label: "Agents"},
	adminjson.WaitsForResume:     {Word: "paused", Tone: "ask"},
	adminjson.WaitsForPermission: {Word: "approval", Tone: "ask", Page: "inbox", Label: "Inbox"},
	adminjson.WaitsForAnswer:     {Word: "question", Tone: "ask"},
	adminjson.Quiet:              {Word: "silent", Tone: "ask"},
	adminjson.Failed:             {Word: "failed", Tone: "bad"},
}

// attention reads the tasks that need a person among the tasks of a scope, and the items of the inbox.
func (p *page) attention(scope string) (v attentionView, err error) {
	var list adminjson.AttentionList
	if err := p.get("/api/v1/attention?"+filter{"scope": scope}.ask(), &list); err != nil && !isMissing(err) {
		return v, err
	}
	return p.attentionOf(scope, &list)
}

// attentionOf returns the view of a list.
func (p *page) attentionOf(scope string, list *adminjson.AttentionList) (v attentionView, err error) {
	for i := range list.Items {
		v.Needs = append(v.Needs, p.need(scope, &list.Items[i]))
	}
	v.Partial = list.Partial
	var items adminjson.InboxList
	if err := p.get("/api/v1/inbox?pageSize=5", &items); err != nil && !isMissing(err) {
		return v, err
	}
	v.Items, v.More = items.Items, items.NextPageToken != ""
	return v, nil
}

// need returns the row of an item.
func (p *page) need(scope string, a *adminjson.Attention) needView {
	n := needWords[a.Code]
	n.Attention, n.Word, n.Tone = *a, cmp.Or(n.Word, a.Code), cmp.Or(n.Tone, "ask")
	since := ""
	if a.Code == adminjson.Failed {
		since = "1h"
	}
	n.To = query("agent", a.Agent, "state", a.State, "scope", scope, "since", since)
	if !p.caller.Admin {
		return n
	}
	switch a.Code {
	case adminjson.WaitsForResume:
		n.Actions = agentActions(adminjson.Agent{Name: a.Agent, Paused: true})
	case adminjson.WaitsForRemote:
		n.Actions = []action{{
			Path: "agents", Verb: "probe", Label: "Probe", Confirm: "Probe " + a.Agent, Title: "Probe " + a.Agent + "?", Fields: []field{{"agent", a.Agent}},
			Text: "The hub asks the agent for its card. If it answers, the tasks that wait for it continue.",
		}}
	}
	return n
}

// followAttention sends the tasks that need a person whenever it changes, until the stream ends.
func (p *page) followAttention(ctx context.Context, s *stream, scope string) {
	_ = p.follow(ctx, "/api/v1/attention/events?"+filter{"scope": scope}.ask(), func(e sse.Event) bool { // after an error the page stays
		p, drop := p.scoped()
		defer drop()
		var list adminjson.AttentionList
		if json.Unmarshal(e.Data, &list) != nil {
			return false
		}
		v, err := p.attentionOf(scope, &list)
		return err == nil && p.send(s, "attention", 0, v) == nil
	})
}
