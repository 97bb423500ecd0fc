package pgstore

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
	"github.com/parley-a2a/parley/internal/trust"
)

// Contacts of several hubs add up, and leave levels and skills as another hub has set them.
func TestContacts(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t)
	a, b := openTest(t, url, asMember("a")).Trust(), openTest(t, url, asMember("b")).Trust()
	at := time.UnixMilli(1_790_000_000_000).UTC()
	seen := trust.Entry{Subject: "ann", Level: trust.Observe, Skills: []string{}, FirstSeen: at, LastSeen: at, Contacts: 2}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(a.AddContacts(t.Context(), []trust.Entry{seen}))
	set := seen
	set.Level, set.Skills = trust.Act, []string{"buy"}
	must(b.PutEntries(t.Context(), []trust.Entry{set}))
	seen.FirstSeen, seen.LastSeen = at.Add(time.Hour), at.Add(time.Hour)
	must(a.AddContacts(t.Context(), []trust.Entry{seen}))
	want := set
	want.LastSeen, want.Contacts = at.Add(time.Hour), 4
	got, err := b.Entries(t.Context())
	must(err)
	if diff := cmp.Diff([]trust.Entry{want}, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

// The card that a hub has read does not undo a change by another hub, nor bring back an agent that it
// has removed.
func TestLateCard(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t)
	a, b := openTest(t, url, asMember("a")).AgentStore(), openTest(t, url, asMember("b")).AgentStore()
	at := time.UnixMilli(1_790_000_000_000).UTC()
	old := card.Record{Name: "x", Spec: []byte("old"), CreatedAt: at, UpdatedAt: at}
	changed := old
	changed.Spec, changed.UpdatedAt = []byte("new"), at.Add(time.Second)
	late := old
	late.Card, late.CardURL, late.ETag, late.SeenAt = []byte("{}"), "u", "e", at
	put := func(f func() error) {
		t.Helper()
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want ...card.Record) {
		t.Helper()
		got, err := a.Records(t.Context())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("records, %v (-want +got):\n%s", err, diff)
		}
	}
	put(func() error { return a.PutRecord(t.Context(), &old) })
	put(func() error { return b.PutCard(t.Context(), &late) })
	check(late)
	put(func() error { return a.PutRecord(t.Context(), &changed) })
	put(func() error { return b.PutCard(t.Context(), &late) })
	check(changed)
	put(func() error { return a.DropRecord(t.Context(), "x") })
	put(func() error { return b.PutCard(t.Context(), &changed) })
	check()
	known := card.Record{Name: "y", Card: []byte("{}"), CardURL: "u", CreatedAt: at, UpdatedAt: at, SeenAt: at}
	put(func() error { return b.PutCard(t.Context(), &known) })
	check(known)
}

// Each change of shared data is counted under its topic, also if no other hub was notified.
func TestTopics(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t)
	a, b := openTest(t, url, asMember("a")), openTest(t, url, asMember("b"))
	before, err := b.Topics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []func() error{
		func() error {
			return a.AgentStore().PutRecord(t.Context(), &card.Record{Name: "x", Spec: []byte("{}")})
		},
		func() error { return a.AgentStore().PutRecord(t.Context(), &card.Record{Name: "y"}) }, // only a card
		func() error { return a.AgentStore().DropRecord(t.Context(), "x") },
		func() error {
			return a.Trust().PutEntries(t.Context(), []trust.Entry{{Subject: "ann", Level: trust.Act}})
		},
	} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	got, err := b.Topics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(got, func(topic string, n int64) bool { return n == before[topic] })
	want := map[string]int64{cluster.TopicAgents: before[cluster.TopicAgents] + 2, cluster.TopicTrust: before[cluster.TopicTrust] + 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("topics (-want +got):\n%s", diff)
	}
}
