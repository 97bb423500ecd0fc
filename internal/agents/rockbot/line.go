package rockbot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// The names that RockBot has for its exchanges.
const (
	ExchangeName    = "rockbot"
	DeadLettersName = "rockbot.dlx"
)

// The topics of RockBot. Those that end in a dot are completed by a name.
const (
	taskTopic     = "agent.task."
	cancelTopic   = "agent.task.cancel."
	responseTopic = "agent.response."
	statusTopic   = "agent.task.status"
	announceTopic = "discovery.announce"
)

// The types of messages, which are names of classes.
const (
	typeNamespace = "RockBot.A2A."
	typeRequest   = typeNamespace + "AgentTaskRequest"
	typeCancel    = typeNamespace + "AgentTaskCancelRequest"
	typeResult    = typeNamespace + "AgentTaskResult"
	typeError     = typeNamespace + "AgentTaskError"
	typeStatus    = typeNamespace + "AgentTaskStatusUpdate"
	typeCard      = typeNamespace + "AgentCard"
)

const (
	// openResponses is how many responses may be open, prefetch what RockBot takes itself.
	openResponses = 1000
	prefetch      = 10
	// unclaimed is how long a response waits for a run.
	unclaimed = 2 * time.Minute
)

// queueOf returns the queue that RockBot makes for an agent that subscribes to a topic.
func queueOf(agent, topic string) amqpbus.Queue {
	return amqpbus.Queue{Name: "rockbot." + agent + "." + strings.ReplaceAll(topic, ".", "-"), Topic: topic}
}

// Line is a hub's place on RockBot's exchange. Bus and Name are required; fields must not
// change once it is in use.
type Line struct {
	// Bus has the connections to the broker.
	Bus *amqpbus.Bus
	// Name is what RockBot's agents call the hub. It is the same after each start.
	Name string
	// Heard is called with each announcement of an agent; an error says why it is not
	// taken. It must not block. If nil, announcements are not received.
	Heard func(*Announcement) error
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger

	once sync.Once
	x    *amqpbus.Exchange

	mu    sync.Mutex // guards the fields below
	made  bool       // there are queues for what is answered
	slots map[string]*slot
	early map[string][]*early
	// served are the names at which the hub answers.
	served map[string]bool
}

// slot is where a run hears what is said about its job.
type slot struct {
	mu   sync.Mutex // guards the field below
	news []news
	wake chan struct{} // has room for one
}

// news is something that an agent has said. arrival is nil for a status.
type news struct {
	kind    string
	body    []byte
	arrival *amqpbus.Arrival
}

// early is a response that came before its run.
type early struct {
	news
	timer *time.Timer
}

func (l *Line) begin() {
	l.once.Do(func() {
		l.x = &amqpbus.Exchange{Bus: l.Bus, Name: ExchangeName, DeadLetters: DeadLettersName}
		l.slots, l.early = map[string]*slot{}, map[string][]*early{}
	})
}

func (l *Line) log() *slog.Logger {
	if l.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l.Logger
}

// Run hears what agents say, until ctx ends, which is no error.
func (l *Line) Run(ctx context.Context) error {
	l.begin()
	defer l.forget()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ears := []func(context.Context) error{l.hearResponses, l.hearStatuses}
	if l.Heard != nil {
		ears = append(ears, l.hearCards)
	}
	errs := make([]error, len(ears))
	var owned sync.WaitGroup
	for i, ear := range ears {
		owned.Go(func() {
			errs[i] = ear(ctx)
			cancel()
		})
	}
	owned.Wait()
	return errors.Join(errs...)
}

// responses is the queue for what is answered to the hub and to each of its callers.
func (l *Line) responses() amqpbus.Queue {
	q := queueOf(l.Name, responseTopic+l.Name)
	q.More = []string{q.Topic + ".*"}
	return q
}

// source returns what RockBot's agents call a caller of the hub: their trust is kept under
// that name. It begins with the hub's own, so that no caller can take the name of another
// agent. The hub speaks for itself where no caller is known.
func (l *Line) source(p *auth.Principal) string {
	if p.Anonymous() {
		return l.Name
	}
	safe := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, p.ID)
	if safe != p.ID || len(safe) > maxCaller {
		sum := sha256.Sum256([]byte("rockbot caller " + p.ID))
		safe = safe[:min(len(safe), maxCaller)] + "-" + hex.EncodeToString(sum[:6])
	}
	return l.Name + "." + safe
}

// maxCaller is how much of a caller's id stands in topics.
const maxCaller = 64

func (l *Line) statuses() amqpbus.Queue { return queueOf(l.Name, statusTopic) }

// prepare makes the queues for what will be answered, once.
func (l *Line) prepare(ctx context.Context) error {
	l.mu.Lock()
	made := l.made
	l.mu.Unlock()
	if made {
		return nil
	}
	if err := l.x.Make(ctx, l.responses(), l.statuses()); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made = true
	return nil
}

func (l *Line) hearResponses(ctx context.Context) error {
	return l.hear(ctx, l.responses(), openResponses, func(a *amqpbus.Arrival) {
		id := jobOf(a.Body)
		if id == "" || (a.Type != typeResult && a.Type != typeError) {
			l.refuse(a, "is no result")
			return
		}
		l.respond(id, news{a.Type, a.Body, a})
	})
}

func (l *Line) hearStatuses(ctx context.Context) error {
	return l.hear(ctx, l.statuses(), prefetch, func(a *amqpbus.Arrival) {
		l.mu.Lock()
		s := l.slots[jobOf(a.Body)]
		l.mu.Unlock()
		if s != nil && a.Type == typeStatus {
			s.put(news{kind: a.Type, body: a.Body})
		}
		l.settle(a.Ack())
	})
}

func (l *Line) hear(ctx context.Context, q amqpbus.Queue, open int, f func(*amqpbus.Arrival)) error {
	for a, err := range l.x.Receive(ctx, q, open) {
		if err != nil {
			return fmt.Errorf("hear RockBot: %w", err)
		}
		f(a)
	}
	return nil
}

// refuse moves what nobody understands to the dead letters.
func (l *Line) refuse(a *amqpbus.Arrival, why string) {
	l.log().Warn("message of RockBot is refused", "topic", a.Topic, "id", a.ID, "type", a.Type, "reason", why)
	l.settle(a.Refuse())
}

// settle logs that a message comes again.
func (l *Line) settle(err error) {
	if err != nil {
		l.log().Info("message of RockBot is not settled", "error", err)
	}
}

// jobOf returns the id of the task that a body is about, or nothing. RockBot ignores the
// case of names.
func jobOf(body []byte) string {
	for name, v := range rawjson.Fields(body) {
		if strings.EqualFold(name, "taskId") {
			id, _ := rawjson.String(v)
			return id
		}
	}
	return ""
}

// respond gives a response to its run, or keeps it until that is there.
func (l *Line) respond(id string, n news) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.slots[id]; s != nil {
		s.put(n)
		return
	}
	e := &early{news: n}
	e.timer = time.AfterFunc(unclaimed, func() { l.expire(id, e) })
	l.early[id] = append(l.early[id], e)
}

// expire gives up a response that no run has claimed.
func (l *Line) expire(id string, e *early) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, one := range l.early[id] {
		if one == e {
			l.early[id] = append(l.early[id][:i:i], l.early[id][i+1:]...)
			if len(l.early[id]) == 0 {
				delete(l.early, id)
			}
			l.refuse(e.arrival, "nobody waits for it")
			return
		}
	}
}

// forget stops what Run has begun. Responses that nobody has claimed are in their queue.
func (l *Line) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, all := range l.early {
		for _, e := range all {
			e.timer.Stop()
		}
	}
	clear(l.early)
}

// enter makes the place of a run, with what has come for it already.
func (l *Line) enter(id string) *slot {
	l.begin()
	s := &slot{wake: make(chan struct{}, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slots[id] = s
	for _, e := range l.early[id] {
		e.timer.Stop()
		s.put(e.news)
	}
	delete(l.early, id)
	return s
}

// leave gives up the place of a run. What it has not read waits for the next one.
func (l *Line) leave(id string, s *slot) {
	l.mu.Lock()
	if l.slots[id] == s {
		delete(l.slots, id)
	}
	l.mu.Unlock()
	for n, ok := s.next(); ok; n, ok = s.next() {
		if n.arrival != nil {
			l.respond(id, n)
		}
	}
}

func (s *slot) put(n news) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.news = append(s.news, n)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// next returns the oldest news.
func (s *slot) next() (news, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.news) == 0 {
		return news{}, false
	}
	n := s.news[0]
	s.news = s.news[1:]
	return n, true
}
