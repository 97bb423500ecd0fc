package exchange

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
	"github.com/parley-a2a/parley/internal/bus/amqpbus"
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

// Exchange is the connection of a hub to RockBot's exchange. Bus and Name are required; fields
// must not change once it is in use.
type Exchange struct {
	// Bus holds the connections to the broker.
	Bus *amqpbus.Bus
	// Name is the hub's name for RockBot's agents. It must stay the same after a restart.
	Name string
	// Interval is the time between two announcements of an agent. Zero means AnnounceEvery.
	Interval time.Duration
	// Announced is called with each announcement of an agent; it returns an error to reject it. It
	// must not block. If nil, announcements are not received.
	Announced func(*Announcement) error
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger

	once sync.Once
	x    *amqpbus.Exchange

	mu        sync.Mutex // guards the fields below
	made      bool       // the queues for responses exist
	slots     map[string]*slot
	unmatched map[string][]*unmatched
	marks     marks
	// served holds the names that the hub serves.
	served map[string]bool
}

// slot receives the messages for the job of a run.
type slot struct {
	mu       sync.Mutex // guards the field below
	messages []message
	wake     wake.Signal
}

// messages is a message of an agent. arrival is nil for a status.
type message struct {
	body    []byte
	arrival *amqpbus.Arrival
}

// unmatched is a response that arrived before its run started.
type unmatched struct {
	message
	timer *time.Timer
}

func (x *Exchange) begin() {
	x.once.Do(func() {
		x.x = &amqpbus.Exchange{Bus: x.Bus, Name: ExchangeName, DeadLetters: DeadLettersName}
		x.slots, x.unmatched = map[string]*slot{}, map[string][]*unmatched{}
		x.marks = marks{wake: wake.New(), passed: make(chan string, 1)}
	})
}

func (x *Exchange) log() *slog.Logger {
	if x.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return x.Logger
}

// Run receives messages of agents until ctx ends. It returns nil in that case.
func (x *Exchange) Run(ctx context.Context) error {
	x.begin()
	defer x.forget()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ears := []func(context.Context) error{x.receiveResponses, x.receiveStatuses, x.passResponses}
	if x.Announced != nil {
		ears = append(ears, x.receiveCards)
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
func (x *Exchange) responses() amqpbus.Queue {
	q := queueOf(x.Name, responseTopic+x.Name)
	q.More = []string{q.Topic + ".*"}
	return q
}

// source returns the name of a hub's caller for RockBot's agents, which store trust by that
// name. It begins with the hub's own name, so that no caller can have the name of another
// agent. Without a known caller it is the hub's name.
func (x *Exchange) source(p *auth.Principal) string {
	if p.Anonymous() {
		return x.Name
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
	return x.Name + "." + safe
}

// maxCaller is the largest number of characters of a caller's id in topics.
const maxCaller = 64

func (x *Exchange) statuses() amqpbus.Queue { return queueOf(x.Name, statusTopic) }

// prepare creates the queues for responses, once.
func (x *Exchange) prepare(ctx context.Context) error {
	x.mu.Lock()
	made := x.made
	x.mu.Unlock()
	if made {
		return nil
	}
	if err := x.x.Make(ctx, x.responses(), x.statuses()); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.made = true
	return nil
}

func (x *Exchange) receiveResponses(ctx context.Context) error {
	return x.receive(ctx, x.responses(), openResponses, func(a *amqpbus.Arrival) {
		id := jobOf(a.Body)
		if id == "" || (a.Type != typeResult && a.Type != typeError) {
			x.refuse(a, "is not a result")
			return
		}
		x.marks.mu.Lock()
		x.marks.held = append(x.marks.held, heldResponse{id, message{a.Body, a}})
		x.marks.mu.Unlock()
		x.marks.wake.Send()
	})
}

func (x *Exchange) receiveStatuses(ctx context.Context) error {
	return x.receive(ctx, x.statuses(), prefetch, func(a *amqpbus.Arrival) {
		if a.Type == typeMark {
			x.marks.pass(a.ID)
			x.settle(a.Ack())
			return
		}
		x.mu.Lock()
		s := x.slots[jobOf(a.Body)]
		x.mu.Unlock()
		if s != nil && a.Type == typeStatus {
			s.put(message{body: a.Body})
		}
		x.settle(a.Ack())
	})
}

func (x *Exchange) receive(ctx context.Context, q amqpbus.Queue, open int, f func(*amqpbus.Arrival)) error {
	for a, err := range x.x.Receive(ctx, q, open) {
		if err != nil {
			return fmt.Errorf("receive from RockBot: %w", err)
		}
		f(a)
	}
	return nil
}

// refuse moves an invalid message to the dead letters.
func (x *Exchange) refuse(a *amqpbus.Arrival, why string) {
	x.log().Warn("message of RockBot rejected", "topic", a.Topic, "id", a.ID, "type", a.Type, "reason", why)
	x.settle(a.Refuse())
}

// settle logs the error of a settlement. The broker redelivers the message then.
func (x *Exchange) settle(err error) {
	if err != nil {
		x.log().Info("message of RockBot is not settled", "error", err)
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
func (x *Exchange) respond(id string, n message) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if s := x.slots[id]; s != nil {
		s.put(n)
		return
	}
	e := &unmatched{message: n}
	e.timer = time.AfterFunc(unclaimed, func() { x.expire(id, e) })
	x.unmatched[id] = append(x.unmatched[id], e)
}

// expire refuses a response that no run has claimed.
func (x *Exchange) expire(id string, e *unmatched) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, one := range x.unmatched[id] {
		if one == e {
			x.unmatched[id] = append(x.unmatched[id][:i:i], x.unmatched[id][i+1:]...)
			if len(x.unmatched[id]) == 0 {
				delete(x.unmatched, id)
			}
			x.refuse(e.arrival, "no run waits for it")
			return
		}
	}
}

// forget stops the timers of Run. The broker keeps unclaimed responses in their queue.
func (x *Exchange) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, all := range x.unmatched {
		for _, e := range all {
			e.timer.Stop()
		}
	}
	clear(x.unmatched)
}

// enter creates the slot of a run, with the responses that have already arrived.
func (x *Exchange) enter(id string) *slot {
	x.begin()
	s := &slot{wake: wake.New()}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.slots[id] = s
	for _, e := range x.unmatched[id] {
		e.timer.Stop()
		s.put(e.message)
	}
	delete(x.unmatched, id)
	return s
}

// leave removes the slot of a run. Unread responses wait for the next one.
func (x *Exchange) leave(id string, s *slot) {
	x.mu.Lock()
	if x.slots[id] == s {
		delete(x.slots, id)
	}
	x.mu.Unlock()
	for n, ok := s.next(); ok; n, ok = s.next() {
		if n.arrival != nil {
			x.respond(id, n)
		}
	}
}

func (s *slot) put(n message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = append(s.messages, n)
	s.wake.Send()
}

// next removes and returns the oldest message.
func (s *slot) next() (message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.messages) == 0 {
		return message{}, false
	}
	n := s.messages[0]
	s.messages = s.messages[1:]
	return n, true
}
