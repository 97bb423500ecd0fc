package broker

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/directory/dirstore"
	"github.com/parley-a2a/parley/task"
)

const (
	// window is how many outcomes of an agent and a skill count.
	window = 200
	// maxPairs is how many pairs of agent and skill are remembered.
	maxPairs = 10_000
	// leastWeight is what an agent weighs at least, so that one that has failed gets
	// work again at some time.
	leastWeight = 0.01
	// saveEvery is how often what was learned is stored, if there is something new.
	saveEvery = 30 * time.Second
	// noteName is the name of the note with what was learned.
	noteName = "broker"
	// sure is the confidence from which on a failure is worth a warning.
	sure = 0.8
)

// Health says whether agents answer.
type Health interface {
	// Healthy reports whether there is no reason to think that an agent does not answer.
	Healthy(name task.Agent) bool
}

// Rule says how a skill is to be dealt with.
type Rule struct {
	// Skill is the id of the skill. Its case does not count.
	Skill string
	// Cooldown is how long the skill is not to be had after it was asked for. Zero means
	// that it always is.
	Cooldown time.Duration
	// Key is the member of the metadata whose values cool down on their own, such as
	// "repository". If empty, the skill cools down as a whole.
	Key string
}

// Config says how a Broker works. The zero Config takes every agent for healthy and keeps
// nothing.
type Config struct {
	// Health says which agents answer. If nil, all do.
	Health Health
	// Rules are those of the skills that have any.
	Rules []Rule
	// Notes keep what was learned. If nil, it ends with the process.
	Notes dirstore.Notes
	// Logger receives what an operator should know. If nil, nothing is logged.
	Logger *slog.Logger
	// Random returns a number from 0 to 1, without 1. If nil, it is truly random.
	Random func() float64
}

// Broker chooses among agents.
type Broker struct {
	cfg   Config
	rules map[string]*Rule

	mu sync.Mutex // guards the fields below
	// learned is what is known of each agent and skill.
	learned map[pair]*record
	// cooling says until when what is not to be had.
	cooling map[pair]*time.Time
	dirty   bool
}

// pair is an agent and a skill; or a skill and the value of a key.
type pair struct{ a, b string }

// New returns a Broker.
func New(cfg Config) *Broker {
	if cfg.Random == nil {
		cfg.Random = rand.Float64
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	b := &Broker{
		cfg: cfg, rules: make(map[string]*Rule), learned: make(map[pair]*record), cooling: make(map[pair]*time.Time),
	}
	for i := range cfg.Rules {
		b.rules[strings.ToLower(cfg.Rules[i].Skill)] = &cfg.Rules[i]
	}
	return b
}

// Choose returns one of several agents that have a skill, drawn by their weights.
func (b *Broker) Choose(skill string, among []task.Agent) task.Agent {
	healthy := make([]task.Agent, 0, len(among))
	for _, name := range among {
		if b.cfg.Health == nil || b.cfg.Health.Healthy(name) {
			healthy = append(healthy, name)
		}
	}
	if len(healthy) == 0 {
		healthy = among
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	weights, sum := make([]float64, len(healthy)), 0.0
	for i, name := range healthy {
		weights[i] = b.learned[pairOf(name, skill)].weight()
		sum += weights[i]
	}
	at := b.cfg.Random() * sum
	for i, w := range weights {
		if at -= w; at < 0 {
			return healthy[i]
		}
	}
	return healthy[len(healthy)-1]
}

func pairOf(name task.Agent, skill string) pair { return pair{string(name), strings.ToLower(skill)} }

// Cooling is why a skill is not to be had.
type Cooling struct {
	Skill, Key, Value string
	// After is how long it takes until it is.
	After time.Duration
}

// Error says what is cooling down, and how long.
func (c *Cooling) Error() string {
	what := fmt.Sprintf("the skill %q", c.Skill)
	if c.Key != "" {
		what += fmt.Sprintf(" for %s %q", c.Key, c.Value)
	}
	return fmt.Sprintf("%s was asked for a moment ago; it can be asked for again in %v", what, max(c.After.Round(time.Second), time.Second))
}

// Admit lets a message for a skill pass, or returns a *Cooling. What it returns takes the
// passing back, if no task came of it. value returns the value of a key in the metadata of
// the message.
func (b *Broker) Admit(skill string, value func(key string) string) (undo func(), err error) {
	r := b.rules[strings.ToLower(skill)]
	if skill == "" || r == nil || r.Cooldown <= 0 {
		return func() {}, nil
	}
	now := time.Now()
	of := pair{strings.ToLower(r.Skill), ""}
	if r.Key != "" {
		of.b = value(r.Key)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if until := b.cooling[of]; until != nil && until.After(now) {
		b.cfg.Logger.Info("skill is cooling down; a message was refused", "skill", r.Skill, "key", r.Key, "value", of.b, "for", until.Sub(now))
		return nil, &Cooling{Skill: skill, Key: r.Key, Value: of.b, After: until.Sub(now)}
	}
	for at, until := range b.cooling {
		if !until.After(now) {
			delete(b.cooling, at)
		}
	}
	until := now.Add(r.Cooldown)
	b.cooling[of] = &until
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.cooling[of] == &until {
			delete(b.cooling, of)
		}
	}, nil
}

// Outcome is how a task has ended.
type Outcome struct {
	Agent task.Agent
	// Skill is what the task was asked for; it may be empty.
	Skill string
	State task.State
	// Took is the time from the beginning of the task to its end.
	Took time.Duration
	// Bodies are messages and artifacts of the task, as JSON, that Wants has reported.
	Bodies [][]byte
}

// Ended learns from the end of a task.
func (b *Broker) Ended(o *Outcome) {
	s, ok := sampleOf(o)
	if !ok {
		return
	}
	if !s.Success && s.Confidence >= sure {
		b.cfg.Logger.Warn("agent has failed where it was sure", "agent", o.Agent, "skill", o.Skill, "confidence", s.Confidence)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	at := pairOf(o.Agent, o.Skill)
	r := b.learned[at]
	if r == nil {
		if len(b.learned) >= maxPairs {
			return
		}
		r = new(record)
		b.learned[at] = r
	}
	r.add(s)
	b.dirty = true
}

// Forget drops what was learned of an agent.
func (b *Broker) Forget(name task.Agent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for at := range b.learned {
		if at.a == string(name) {
			delete(b.learned, at)
			b.dirty = true
		}
	}
}

// Run stores what was learned from time to time, and when ctx ends.
func (b *Broker) Run(ctx context.Context) error {
	t := time.NewTicker(saveEvery)
	defer t.Stop()
	saving := context.WithoutCancel(ctx) // an end in between is no reason to store nothing
	for {
		select {
		case <-t.C:
			if err := b.save(saving); err != nil {
				b.cfg.Logger.Error("broker", "error", err)
			}
		case <-ctx.Done():
			return b.save(saving)
		}
	}
}
