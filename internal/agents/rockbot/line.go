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
	"github.com/parley-a2a/parley/internal/wake"
)

// RockBot's names of its exchanges.
const (
	ExchangeName    = "rockbot"
	DeadLettersName = "rockbot.dlx"
)

// RockBot's topics. Those that end in a dot are prefixes of a name.
const (
	taskTopic     = "agent.task."
	cancelTopic   = "agent.task.cancel."
	responseTopic = "agent.response."
	statusTopic   = "agent.task.status"
	announceTopic = "discovery.announce"
)

// Types of messages, which are names of classes.
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
	// openResponses is the largest number of unacknowledged responses. prefetch is RockBot's
	// own limit.
	openResponses = 1000
	prefetch      = 10
	// unclaimed is the time that a response waits for its run.
	unclaimed = 2 * time.Minute
)

// queueOf returns the queue that RockBot creates for an agent that subscribes to a topic.
func queueOf(agent, topic string) amqpbus.Queue {
	return amqpbus.Queue{Name: "rockbot." + agent + "." + strings.ReplaceAll(topic, ".", "-"), Topic: topic}
}

// Line is the connection of a hub to RockBot's exchange. Bus and Name are required; fields must
// not change once it is in use.
type Line struct {
	// Bus holds the connections to the broker.
	Bus *amqpbus.Bus
	// Name is the hub's name for RockBot's agents. It must stay the same after a restart.
	Name string
	// Heard is called with each announcement of an agent; it returns an error to reject it. It
	// must not block. If nil, announcements are not received.
	Heard func(*Announcement) error
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger

	once sync.Once
	x    *amqpbus.Exchange

	mu    sync.Mutex // guards the fields below
	made  bool       // the queues for responses exist
	slots map[string]*slot
	early map[string][]*early
	// served holds the names that the hub serves.
	served map[string]bool
}

// slot receives the messages for the job of a run.
type slot struct {
	mu   sync.Mutex // guards the field below
	news []news
	wake wake.Signal
}

// news is a message of an agent. arrival is nil for a status.
type news struct {
	kind    string
	body    []byte
	arrival *amqpbus.Arrival
}

// early is a response that arrived before its run started.
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

// Run receives messages of agents until ctx ends. It returns nil in that case.
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

// responses returns the queue for responses to the hub and to each of its callers.
func (l *Line) responses() amqpbus.Queue {
	q := queueOf(l.Name, responseTopic+l.Name)
	q.More = []string{q.Topic + ".*"}
	return q
}

// source returns the name of a hub's caller for RockBot's agents, which store trust by that
// name. It begins with the hub's own name, so that no caller can have the name of another
// agent. Without a known caller it is the hub's name.
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

// maxCaller is the largest number of characters of a caller's id in topics.
const maxCaller = 64

func (l *Line) statuses() amqpbus.Queue { return queueOf(l.Name, statusTopic) }

// prepare creates the queues for responses, once.
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

// refuse moves an invalid message to the dead letters.
func (l *Line) refuse(a *amqpbus.Arrival, why string) {
	l.log().Warn("message of RockBot is refused", "topic", a.Topic, "id", a.ID, "type", a.Type, "reason", why)
	l.settle(a.Refuse())
}

// settle logs the error of a settlement. The broker redelivers the message then.
func (l *Line) settle(err error) {
	if err != nil {
		l.log().Info("message of RockBot is not settled", "error", err)
	}
}

// jobOf returns the task id in a body; empty if there is none. RockBot ignores the case of
// names.
func jobOf(body []byte) string {
	for name, v := range rawjson.Fields(body) {
		if strings.EqualFold(name, "taskId") {
			id, _ := rawjson.String(v)
			return id
		}
	}
	return ""
}

// respond passes a response to its run, or stores it until the run starts.
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

// expire refuses a response that no run has claimed.
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

// forget stops the timers of Run. The broker keeps unclaimed responses in their queue.
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

// enter creates the slot of a run, with the responses that have already arrived.
func (l *Line) enter(id string) *slot {
	l.begin()
	s := &slot{wake: wake.New()}
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

// leave removes the slot of a run. Unread responses wait for the next one.
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
	s.wake.Send()
}

// next removes and returns the oldest message.
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
