package trust_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/trust"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLevels(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]trust.Level{
		"observe": trust.Observe, "1": trust.Observe, "Learn": trust.Learn, " PROPOSE ": trust.Propose, "4": trust.Act, "act": trust.Act,
		"": 0, "0": 0, "5": 0, "-1": 0, "01": 0, "actor": 0, "observe act": 0, "４": 0,
	} {
		got, err := trust.ParseLevel(text)
		if got != want || (err == nil) != want.Valid() {
			t.Errorf("ParseLevel(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	if got := fmt.Sprint(trust.Act, trust.Level(0), trust.Level(7)); got != "act level 0 level 7" {
		t.Errorf("levels = %q", got)
	}
}

func TestAllows(t *testing.T) {
	t.Parallel()
	for want, list := range map[bool][]trust.Entry{
		true:  {{Level: trust.Act, Skills: []string{"x", "Sell"}}, {Level: trust.Act, Skills: []string{"SELL"}}},
		false: {{Level: trust.Propose, Skills: []string{"sell"}}, {Level: trust.Act}, {Level: trust.Act, Skills: []string{"sel", "*", ""}}, {Level: 5, Skills: []string{"sell"}}},
	} {
		for _, e := range list {
			if e.Allows("sell") != want {
				t.Errorf("%+v allows: %v, want %v", e, !want, want)
			}
		}
	}
	if e := (trust.Entry{Level: trust.Act, Skills: []string{""}}); e.Allows("") {
		t.Error("no skill at all is allowed")
	}
}

// memory is a trust.Store that counts its writes and can return an error.
type memory struct {
	mu     sync.Mutex
	rows   map[trust.Subject]trust.Entry
	writes int
	err    error
}

func (m *memory) Entries(context.Context) ([]trust.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []trust.Entry
	for _, e := range m.rows {
		all = append(all, e)
	}
	return all, m.err
}

func (m *memory) PutEntries(_ context.Context, entries []trust.Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	if m.rows == nil {
		m.rows = make(map[trust.Subject]trust.Entry)
	}
	for _, e := range entries {
		m.rows[e.Subject] = e
	}
	m.writes++
	return nil
}

func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

func TestSet(t *testing.T) {
	t.Parallel()
	store, ctx := new(memory), t.Context()
	b := &trust.Registry{Store: store}
	if e := b.Level(ctx, "ann"); e.Level != trust.Observe || len(e.Skills) != 0 {
		t.Errorf("an unknown subject = %+v, want observe", e)
	}
	for _, step := range []struct {
		change trust.Change
		level  trust.Level
		skills string
	}{
		{trust.Change{}, trust.Observe, ""},
		{trust.Change{Level: trust.Act, Approve: []string{"b", " a ", "B"}}, trust.Act, "a b"},
		{trust.Change{Revoke: []string{"A"}}, trust.Act, "b"},
		{trust.Change{Level: trust.Propose, Approve: []string{"c"}, RevokeAll: true}, trust.Propose, "c"},
	} {
		e, err := b.Set(ctx, "ann", &step.change)
		if err != nil || e.Level != step.level || strings.Join(e.Skills, " ") != step.skills {
			t.Errorf("Set(%+v) = %v %q, %v; want %v %q", step.change, e.Level, e.Skills, err, step.level, step.skills)
		}
	}
	for subject, c := range map[trust.Subject]trust.Change{"": {Level: trust.Act}, "ann": {Level: 9}, "bob": {Approve: []string{strings.Repeat("x", 300)}}} {
		if _, err := b.Set(ctx, subject, &c); !errors.Is(err, trust.ErrInvalid) {
			t.Errorf("Set(%q, %+v): %v, want ErrInvalid", subject, c, err)
		}
	}
	again := &trust.Registry{Store: store}
	if err := again.Load(ctx); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.List(), again.List()); diff != "" {
		t.Errorf("after a restart (-before +after):\n%s", diff)
	}
	disk := errors.New("disk")
	store.fail(disk)
	if _, err := b.Set(ctx, "ann", &trust.Change{Level: trust.Act}); !errors.Is(err, disk) {
		t.Errorf("Set on a broken disk: %v", err)
	}
	if e := b.Level(ctx, "ann"); e.Level != trust.Propose {
		t.Errorf("a change that was not stored counts: %v", e.Level)
	}
}

// A thousand contacts cause one write, some seconds later.
func TestContactsCostNoWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := new(memory)
		b := &trust.Registry{Store: store}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = b.Run(ctx) })
		first := time.Now()
		for i := range 1000 {
			b.RecordContact(trust.Subject(fmt.Sprint("caller-", i%3)), time.Now())
		}
		synctest.Wait()
		if store.writes != 0 {
			t.Errorf("%d writes at once", store.writes)
		}
		store.fail(errors.New("disk"))
		time.Sleep(11 * time.Second)
		synctest.Wait()
		store.fail(nil)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := store.rows["caller-0"]; store.writes != 1 || got.Contacts != 334 || !got.FirstSeen.Equal(first) || got.Level != trust.Observe {
			t.Errorf("after %d writes: %+v", store.writes, got)
		}
		b.RecordContact("caller-0", time.Now())
		cancel()
		all.Wait()
		if got := store.rows["caller-0"]; store.writes != 2 || got.Contacts != 335 {
			t.Errorf("the last contact is not stored: %+v after %d writes", got, store.writes)
		}
	})
}

func TestTheFileDecides(t *testing.T) {
	t.Parallel()
	b, ctx := new(trust.Registry), t.Context()
	if _, err := b.Set(ctx, "ann", &trust.Change{Level: trust.Propose}); err != nil {
		t.Fatal(err)
	}
	b.RecordContact("ann", time.Now())
	b.Follow([]trust.Entry{{Subject: "ann", Level: trust.Act, Skills: []string{"a"}, Contacts: 9}, {Subject: "bob", Level: trust.Learn}})
	if e := b.Level(ctx, "ann"); !e.Allows("A") || e.Contacts != 9 {
		t.Errorf("ann = %+v, want the entry of the file", e)
	}
	if _, err := b.Set(ctx, "ann", &trust.Change{Level: trust.Observe}); !errors.Is(err, trust.ErrInFile) {
		t.Errorf("Set of an entry of the file: %v, want ErrInFile", err)
	}
	if n := len(b.List()); n != 2 {
		t.Errorf("%d entries, want two", n)
	}
	b.Follow(nil)
	if e := b.Level(ctx, "ann"); e.Level != trust.Propose {
		t.Errorf("without the file ann is at %v", e.Level)
	}
	var written []trust.Entry
	w := &trust.Registry{Write: func(all []trust.Entry) error { written = all; return nil }}
	w.Follow([]trust.Entry{{Subject: "ann", Level: trust.Act}})
	if _, err := w.Set(ctx, "ann", &trust.Change{Level: trust.Learn}); err != nil || len(written) != 1 || written[0].Level != trust.Learn {
		t.Errorf("Set with Write: %v, written %+v", err, written)
	}
	if e := w.Level(ctx, "ann"); e.Level != trust.Learn {
		t.Errorf("ann is at %v after the change", e.Level)
	}
}

func TestParseFile(t *testing.T) {
	t.Parallel()
	const src = "\xef\xbb\xbf" + `[
  {"agentId": "ann", "level": "Act", "approvedSkills": ["b", "A", "a"], "firstSeen": "2026-01-02T03:04:05Z", "lastInteraction": "2026-01-02T03:04:06.5", "interactionCount": 7},
  {"AgentId": "bob", "Level": 3},
  {"agentId": "low"},
  {"agentId": "boss", "level": "root", "approvedSkills": ["x"]},
  {"agentId": "nought", "level": 0}, {"agentId": "half", "level": 2.5}, {"agentId": "list", "level": [4]}, {"agentId": "yes", "level": true},
  {"level": "act"}, 17, null,
  {"agentId": "odd", "level": "act", "approvedSkills": "all"},
  {"agentId": "twice", "level": "act", "approvedSkills": ["x"]}, {"agentId": "twice", "level": "learn"}, {"agentId": "twice", "level": "act"}
]`
	entries, problems, err := trust.ParseFile([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, fmt.Sprint(e.Subject, " ", e.Level, " ", e.Skills, " ", e.Contacts))
	}
	want := []string{
		"ann act [A b] 7", "bob propose [] 0", "low observe [] 0", "boss observe [] 0", "nought observe [] 0", "half observe [] 0",
		"list observe [] 0", "yes observe [] 0", "odd observe [] 0", "twice learn [] 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if at := entries[0].FirstSeen; !at.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) || entries[0].LastSeen.Sub(at) != 1500*time.Millisecond {
		t.Errorf("times = %v, %v", at, entries[0].LastSeen)
	}
	const boss = `entry 4: agentId "boss": level "root" is not one of observe (1), learn (2), propose (3) and act (4); kept at observe`
	if len(problems) != 11 || problems[0].Error() != boss {
		t.Errorf("%d problems: %v", len(problems), errors.Join(problems...))
	}
	for _, src := range []string{"", "{}", "[", `"x"`, "[1] 2"} {
		if _, _, err := trust.ParseFile([]byte(src)); err == nil {
			t.Errorf("ParseFile(%q) gives no error", src)
		}
	}
	text, err := trust.FormatFile(entries)
	if err != nil {
		t.Fatal(err)
	}
	again, problems, err := trust.ParseFile(text)
	if diff := cmp.Diff(entries, again); diff != "" || err != nil || len(problems) > 0 {
		t.Errorf("written and read again: %v, %v (-want +got):\n%s", err, problems, diff)
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add([]byte(`[{"agentId":"a","level":"act","approvedSkills":["x"]}]`))
	f.Add([]byte(`[{"agentId":"a","level":1e300},{"agentid":5},null]`))
	f.Add([]byte(`[{"agentId":"` + strings.Repeat("a", 600) + `","level":1e300}]`))
	f.Fuzz(func(t *testing.T, src []byte) {
		entries, _, err := trust.ParseFile(src)
		seen := map[trust.Subject]bool{}
		for _, e := range entries {
			if e.Check() != nil || seen[e.Subject] || err != nil {
				t.Errorf("entry %+v, %v: %v", e, err, e.Check())
			}
			seen[e.Subject] = true
		}
	})
}

// shared is a trust.ContactStore of several hubs.
type shared struct{ memory }

func (s *shared) AddContacts(_ context.Context, entries []trust.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	for _, e := range entries {
		kept, ok := s.rows[e.Subject]
		if !ok {
			kept = trust.Entry{Subject: e.Subject, Level: e.Level, Skills: e.Skills, FirstSeen: e.FirstSeen}
		}
		kept.LastSeen = e.LastSeen
		kept.Contacts += e.Contacts
		if s.rows == nil {
			s.rows = make(map[trust.Subject]trust.Entry)
		}
		s.rows[e.Subject] = kept
	}
	return nil
}

// Two hubs on one store count all contacts, and the contacts of one hub do not undo a level that the
// other one has set.
func TestTwoHubs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := new(shared)
		a, b := &trust.Registry{Store: store}, &trust.Registry{Store: store}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		contacts := func(n int) {
			for range n {
				a.RecordContact("ann", time.Now())
				b.RecordContact("ann", time.Now())
			}
		}
		contacts(3)
		for _, r := range []*trust.Registry{a, b} {
			all.Go(func() { _ = r.Run(ctx) })
		}
		store.fail(errors.New("disk"))
		time.Sleep(11 * time.Second)
		synctest.Wait()
		store.fail(nil)
		if _, err := a.Set(ctx, "ann", &trust.Change{Level: trust.Act}); err != nil {
			t.Fatal(err)
		}
		contacts(1)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		contacts(1)
		if err := b.Load(ctx); err != nil {
			t.Fatal(err)
		}
		if e := b.Level(ctx, "ann"); e.Level != trust.Act || e.Contacts != 9 { // one of a is not stored yet
			t.Errorf("the other hub has %+v, want act after 9 contacts", e)
		}
		cancel()
		all.Wait()
		if e := store.rows["ann"]; e.Level != trust.Act || e.Contacts != 10 {
			t.Errorf("stored = %+v, want act after 10 contacts", e)
		}
	})
}
