package announce_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/announce"
	"github.com/parley-a2a/parley/internal/directory/dirstore"
	"github.com/parley-a2a/parley/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is a directory with a Book as its only source, and the agents that it has made callable.
type desk struct {
	*directory.Directory
	book *announce.Source
	stop func()

	mu       sync.Mutex // guards the field below
	callable map[task.Agent]*directory.Entry
}

// Put implements directory.Registrar.
func (d *desk) Put(e *directory.Entry) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.callable[e.Name()] = e
	return nil
}

// Drop implements directory.Registrar.
func (d *desk) Drop(name task.Agent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.callable, name)
}

func (d *desk) get(name task.Agent) *directory.Entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.callable[name]
}

// open opens a directory with a Book behind other sources.
func open(t *testing.T, b *announce.Source, others ...directory.Source) *desk {
	t.Helper()
	d := &desk{book: b, callable: make(map[task.Agent]*directory.Entry)}
	d.Directory = directory.New(directory.Config{Sources: append(others, b), Registrar: d})
	b.Presence = d.SetPresence
	if err := d.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = d.Run(ctx) })
	d.stop = func() {
		cancel()
		wg.Wait()
	}
	t.Cleanup(d.stop)
	synctest.Wait()
	return d
}

// publishBody publishes an envelope at Discovery.
func publishBody(t *testing.T, b bus.Bus, kind bus.Type, agent task.Agent, body any) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	e := &bus.Envelope{ID: fmt.Sprint(time.Now()), Type: kind, Source: "agent/" + string(agent), Body: raw}
	if err := b.Publish(t.Context(), protocol.Discovery, e); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

const paperCard = `{"name":"Paper Finder","description":"Finds papers.","version":"2","skills":[{"id":"papers","name":"Papers","description":"Finds papers.","tags":["research"]}],
	"capabilities":{"extensions":[{"uri":"https://example.com/x"}]},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],
	"supportedInterfaces":[{"url":"http://localhost","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`

func sendAnnounce(t *testing.T, b bus.Bus, agent task.Agent, worker, card string) {
	t.Helper()
	publishBody(t, b, protocol.TypeAnnounce, agent, &protocol.Announce{Agent: agent, Card: json.RawMessage(card), Worker: worker, Serial: true})
}

func TestAnnouncements(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, notes := new(bus.Memory), new(dirstore.Memory)
		d := open(t, &announce.Source{Bus: b, Notes: notes})
		sendAnnounce(t, b, "PaperFinder", "w1", paperCard)
		sendAnnounce(t, b, "PaperFinder", "w2", paperCard)
		e := d.get("paperfinder")
		if e == nil || e.Spec.Queue != "PaperFinder" || !e.Spec.Serial || e.Transport() != directory.Queue {
			t.Fatalf("the agent that announced itself is callable as %+v", e)
		}
		card := e.Card()
		if card.Name != "Paper Finder" || len(card.Skills) != 1 || card.Skills[0].Tags[0] != "research" || len(card.Capabilities.Extensions) != 1 || !card.Capabilities.Streaming {
			t.Errorf("card = %+v", card)
		}
		seen := func(workers int, state directory.State) {
			t.Helper()
			e, err := d.Get("PaperFinder")
			if err != nil || e.Workers != workers || e.Health.State != state || !e.Health.Session {
				t.Errorf("%d workers, %v, %v; want %d, %v", e.Workers, e.Health.State, err, workers, state)
			}
		}
		seen(2, directory.Up)
		publishBody(t, b, protocol.TypeGoodbye, "PaperFinder", &protocol.Goodbye{Agent: "PaperFinder", Worker: "w1"})
		seen(1, directory.Up)
		d.book.Lost("PaperFinder", "w2") // its lease has expired
		synctest.Wait()
		seen(0, directory.Unknown)
		sendAnnounce(t, b, "PaperFinder", "w2", paperCard) // it was still running
		seen(1, directory.Up)
		publishBody(t, b, protocol.TypeGoodbye, "PaperFinder", &protocol.Goodbye{Agent: "PaperFinder", Worker: "unknown"})
		seen(1, directory.Up)
		publishBody(t, b, protocol.TypeGoodbye, "PaperFinder", &protocol.Goodbye{Agent: "PaperFinder", Worker: "w2"})
		seen(0, directory.Gone)
		if hits := d.Search("finds papers", 5); len(hits) != 0 || !d.get("paperfinder").Spec.Left {
			t.Errorf("the agent that has left is found: %+v", hits)
		}
		d.stop() // a restarted hub knows that it has left
		d = open(t, &announce.Source{Bus: b, Notes: notes})
		if e := d.get("paperfinder"); e == nil || e.Health.State != directory.Gone {
			t.Errorf("after a restart the agent that has left is %+v", e)
		}
		sendAnnounce(t, b, "PaperFinder", "w3", paperCard)
		seen(1, directory.Up)
		if hits := d.Search("finds papers", 5); len(hits) != 1 || d.get("paperfinder").Spec.Left {
			t.Errorf("the agent that is back is not found: %+v", hits)
		}
		time.Sleep(10 * time.Minute) // the worker dies without a leave message
		synctest.Wait()
		seen(0, directory.Unknown)
		// A restarted hub knows the agent without a new announcement.
		d.stop()
		time.Sleep(10 * time.Hour)
		synctest.Wait()
		d = open(t, &announce.Source{Bus: b, Notes: notes})
		if e := d.get("paperfinder"); e == nil || e.Card().Name != "Paper Finder" {
			t.Fatalf("after a restart the agent is %+v", e)
		}
		if e, err := d.Get("paperfinder"); err != nil || e.Health.Session || e.LastSeen() == "never" {
			t.Errorf("last seen %s, in this session %v, %v", e.LastSeen(), e.Health.Session, err)
		}
		time.Sleep(14 * time.Hour)
		synctest.Wait()
		if e := d.get("paperfinder"); e != nil {
			t.Error("an agent is listed that was not announced for a day")
		}
	})
}

func TestRefusedAnnouncements(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := new(bus.Memory)
		d := open(t, &announce.Source{Bus: b, Notes: new(dirstore.Memory)})
		publishBody(t, b, protocol.TypeAnnounce, "a", &protocol.Announce{Agent: "other", Card: json.RawMessage(paperCard)})
		sendAnnounce(t, b, "no card", "w", `{}`)
		sendAnnounce(t, b, "not.a-queue!", "w", paperCard)
		sendAnnounce(t, b, "---", "w", paperCard)
		sendAnnounce(t, b, task.Agent(strings.Repeat("x", 65)), "w", paperCard)
		publishBody(t, b, protocol.TypeAnnounce, "a", []int{1})
		publishBody(t, b, protocol.TypeGoodbye, "a", []int{1})
		publishBody(t, b, protocol.TypeGoodbye, "a", &protocol.Goodbye{Agent: "nobody"})
		if all := d.List(); len(all) != 0 {
			t.Errorf("%d agents are there, of which the first is %s", len(all), all[0].Name())
		}
		sendAnnounce(t, b, "fine", "w", paperCard)
		if d.get("fine") == nil {
			t.Error("after a refused announcement none is accepted")
		}
		publishBody(t, b, protocol.TypeGoodbye, "other", &protocol.Goodbye{Agent: "fine", Worker: "w"})
		if d.get("fine").Spec.Left {
			t.Error("an agent has said goodbye for another")
		}
	})
}

// A starting hub asks workers to announce themselves, and sends them its identity.
func TestInquiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := new(bus.Memory)
		var mu sync.Mutex
		var received []string
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, at := range []bus.Address{protocol.Inquiry, protocol.Discovery} {
			wg.Go(func() {
				for d := range b.Receive(ctx, bus.Subscription{At: at}) {
					if d.Type == protocol.TypeHub {
						mu.Lock()
						received = append(received, d.At.Name+" "+d.Source)
						mu.Unlock()
					}
				}
			})
		}
		synctest.Wait()
		s, err := bus.NewSigner("h1", nil)
		if err != nil {
			t.Fatal(err)
		}
		d := open(t, &announce.Source{Bus: b, Notes: new(dirstore.Memory), Hub: protocol.Hub{HubKey: s.HubKey()}})
		sendAnnounce(t, b, "a", "w1", paperCard)
		sendAnnounce(t, b, "a", "w1", paperCard)
		mu.Lock()
		want := []string{"discovery.announce hub/h1", "discovery.inquire hub/h1", "discovery.announce hub/h1"}
		if diff := cmp.Diff(want, received, cmp.Transformer("sorted", sorted)); diff != "" {
			t.Errorf("received (-want +got):\n%s", diff)
		}
		mu.Unlock()
		d.stop()
		cancel()
		wg.Wait()
	})
}

func sorted(all []string) map[string]int {
	n := make(map[string]int)
	for _, s := range all {
		n[s]++
	}
	return n
}

// fixed is a source that never changes.
type fixed []directory.Spec

// Name implements directory.Source.
func (fixed) Name() string { return "file" }

// Load implements directory.Source.
func (f fixed) Load(context.Context) directory.Update { return directory.Update{Specs: f} }

// Follow implements directory.Source.
func (fixed) Follow(ctx context.Context, _ func(directory.Update)) error {
	<-ctx.Done()
	return nil
}

// An agent with a URL gets a queue when a worker is seen.
func TestBothTransports(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := new(bus.Memory)
		d := open(t, &announce.Source{Bus: b, Notes: new(dirstore.Memory)}, fixed{
			{Name: "a", URL: "https://a.example", WellKnown: true},
			{Name: "b", URL: "https://b.example", Transport: directory.HTTP},
			{Name: "c", Queue: "C", WellKnown: true},
			{Name: "d", Local: true},
		})
		transports := func() string {
			var all []string
			for _, name := range []string{"a", "b", "c"} {
				e, err := d.Get(name)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, e.Transport())
			}
			return strings.Join(all, " ")
		}
		if got := transports(); got != "http http queue" {
			t.Errorf("before any worker was seen: %s", got)
		}
		if e, _ := d.Get("c"); e.LastSeen() != "well-known (not yet seen this session)" || e.Health.State != directory.Unknown {
			t.Errorf("c is %s, last seen %s", e.Health.State, e.LastSeen())
		}
		for _, name := range []task.Agent{"a", "b", "C", "d"} {
			sendAnnounce(t, b, name, "w", paperCard)
		}
		if got := transports(); got != "queue http queue" {
			t.Errorf("after workers were seen: %s", got)
		}
		for _, name := range []string{"a", "b", "c"} {
			if e, _ := d.Get(name); e.Workers != 1 || len(e.Problems) > 0 || strings.HasPrefix(e.LastSeen(), "well-known") {
				t.Errorf("%s has %d workers, last seen %s, problems %v", name, e.Workers, e.LastSeen(), e.Problems)
			}
		}
		if e := d.get("c"); len(e.Skills) != 1 || e.Description != "Finds papers." {
			t.Errorf("a configured queue lacks the description of its workers: %+v", e)
		}
		if e, _ := d.Get("d"); !e.Spec.Local || e.Spec.Queue != "" || len(e.Problems) != 1 {
			t.Errorf("an announcement has changed an agent of the hub: %+v", e)
		}
		// Well-known agents remain, and so does the queue of an agent that was seen.
		publishBody(t, b, protocol.TypeGoodbye, "C", &protocol.Goodbye{Agent: "C", Worker: "w"})
		if e, _ := d.Get("c"); e.Health.State != directory.Unknown || e.Spec.Left || len(d.get("c").Skills) != 1 {
			t.Errorf("an agent of a file whose worker has left is %s: %+v", e.Health.State, e)
		}
		time.Sleep(25 * time.Hour)
		synctest.Wait()
		if got := transports(); got != "http http queue" {
			t.Errorf("a day later: %s", got)
		}
	})
}

// The file is replaced as a whole, and its agents are known at the start.
func TestKnownAgentsFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b, path := new(bus.Memory), filepath.Join(dir, "known-agents.json")
		old := directory.Known{Spec: directory.Spec{Name: "old", Queue: "Old"}, SeenAt: time.Now().Add(-time.Hour)}
		gone := directory.Known{Spec: directory.Spec{Name: "gone", Queue: "Gone"}, SeenAt: time.Now().Add(-25 * time.Hour)}
		d := open(t, &announce.Source{Bus: b, Notes: new(dirstore.Memory), File: path, First: []directory.Known{old, gone}})
		if d.get("old") == nil || d.get("gone") != nil {
			t.Errorf("of the file old is %v, and gone %v", d.get("old"), d.get("gone"))
		}
		sendAnnounce(t, b, "PaperFinder", "w1", paperCard)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"agentName": "PaperFinder"`, `"agentName": "Old"`, `"id": "papers"`, `"lastSeen": "2000-01-01T00:00:00Z"`} {
			if !strings.Contains(string(text), want) {
				t.Errorf("the file has no %s:\n%s", want, text)
			}
		}
		if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
			t.Errorf("the folder has %v, %v; want the file alone", all, err)
		}
	})
}

// versioned is a bus at which an announcement of version 1 has arrived.
type versioned struct{ bus.Bus }

// Receive implements bus.Bus.
func (b versioned) Receive(ctx context.Context, s bus.Subscription) iter.Seq2[*bus.Delivery, error] {
	body := []byte(`{"agent":"poet","worker":"poet.1","card":{},"started":1}`)
	s.Unreadable(&bus.Envelope{Version: 1, ID: "1", Type: protocol.TypeAnnounce, Source: "agent/poet", Body: body})
	return b.Bus.Receive(ctx, s)
}

// TestWorkerOfAnotherVersion: a worker whose announcement cannot be read gets a message of the right version,
// which it logs.
func TestWorkerOfAnotherVersion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := new(bus.Memory)
		s, err := bus.NewSigner("h1", nil)
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan *bus.Delivery, 1)
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			for d := range b.Receive(ctx, bus.Subscription{At: protocol.WorkerAt("poet.1")}) {
				got <- d
			}
		})
		synctest.Wait()
		d := open(t, &announce.Source{Bus: versioned{b}, Notes: new(dirstore.Memory), Signer: s})
		if e := <-got; e.Version != bus.Version || e.Type != protocol.TypeDeny || !strings.Contains(string(e.Body), "version 2") {
			t.Errorf("the worker gets %+v", e.Envelope)
		}
		d.stop()
		stop()
		wg.Wait()
	})
}
