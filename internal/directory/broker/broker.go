package broker

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/directory/dirstore"
	"github.com/parley-a2a/parley/task"
)

const (
	// window is the number of outcomes kept for each agent and skill.
	window = 200
	// maxPairs limits the number of pairs of agent and skill.
	maxPairs = 10_000
	// leastWeight is the minimum weight of an agent, so that one that has failed gets work
	// again eventually.
	leastWeight = 0.01
	// saveEvery is the interval between stores of changed outcomes.
	saveEvery = 30 * time.Second
	// noteName is the name of the note with the outcomes.
	noteName = "broker"
	// sure is the confidence from which a failure is logged as a warning.
	sure = 0.8
)

// Health reports which agents answer.
type Health interface {
	// Healthy reports whether the agent is not known to be down.
	Healthy(name task.Agent) bool
}

// Rule configures a skill.
type Rule struct {
	// Skill is the id of the skill, compared without case.
	Skill string
	// Cooldown is the time after a request during which the skill is unavailable. Zero means
	// none.
	Cooldown time.Duration
	// Among are the agents among which a message for the skill is drawn; everyone stands for
	// all. If empty, the first agent gets it.
	Among []task.Agent
	// Key is the metadata member whose values cool down separately, such as "repository". If
	// empty, the skill cools down as a whole.
	Key string
}

// Config configures a Broker. With the zero Config every agent is healthy and nothing is
// stored.
type Config struct {
	// Health reports which agents answer. If nil, all do.
	Health Health
	// Rules are the rules of skills; a skill without a rule has no cooldown.
	Rules []Rule
	// Notes persist the outcomes. If nil, they are kept in memory only.
	Notes dirstore.Notes
	// Logger receives messages for the operator. If nil, nothing is logged.
	Logger *slog.Logger
	// Random returns a number in [0, 1). If nil, math/rand is used.
	Random func() float64
}

// Broker chooses among agents.
type Broker struct {
	cfg   Config
	rules map[string]*Rule

	mu sync.Mutex // guards the fields below
	// learned holds the outcomes of each agent and skill.
	learned map[pair]*record
	// cooling holds the end of each running cooldown.
	cooling map[pair]*time.Time
	dirty   bool
}

// pair is an agent and a skill, or a skill and the value of a key.
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

// everyone stands for all agents in Rule.Among.
const everyone = "*"

// Choose returns the first of several agents that have a skill. If the rule of the skill says
// among which to draw, it draws one of them by their weights instead.
func (b *Broker) Choose(skill string, among []task.Agent) task.Agent {
	var draw []task.Agent
	if r := b.rules[strings.ToLower(skill)]; r != nil {
		draw = r.Among
	}
	first := among[0]
	if !slices.Contains(draw, everyone) {
		among = slices.DeleteFunc(among, func(name task.Agent) bool { return !slices.Contains(draw, name) })
	}
	if len(among) == 0 {
		return first
	}
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

// Cooldown is the error of a request for a skill during its cooldown.
type Cooldown struct {
	Skill, Key, Value string
	// After is the remaining cooldown.
	After time.Duration
}

// Error implements error. It names the skill and the remaining time.
func (c *Cooldown) Error() string {
	what := fmt.Sprintf("the skill %q", c.Skill)
	if c.Key != "" {
		what += fmt.Sprintf(" for %s %q", c.Key, c.Value)
	}
	return fmt.Sprintf("%s was requested recently; retry in %v", what, max(c.After.Round(time.Second), time.Second))
}

// Admit admits a message for a skill, or returns a *Cooling. Call undo if the message started
// no task; it cancels the cooldown. value returns the value of a key in the message's metadata.
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
		b.cfg.Logger.Info("skill is cooling down; message rejected", "skill", r.Skill, "key", r.Key, "value", of.b, "for", until.Sub(now))
		return nil, &Cooldown{Skill: skill, Key: r.Key, Value: of.b, After: until.Sub(now)}
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

// Outcome is the end of a task.
type Outcome struct {
	Agent task.Agent
	// Skill is the requested skill; it may be empty.
	Skill string
	State task.State
	// ByHub is set if not the agent has ended the task but the hub or a person.
	ByHub bool
	// Took is the duration of the task.
	Took time.Duration
	// Bodies are the messages and artifacts of the task, as JSON, for which Wants returned
	// true.
	Bodies [][]byte
}

// Ended records the outcome of a task.
func (b *Broker) Ended(o *Outcome) {
	s, ok := sampleOf(o)
	if !ok {
		return
	}
	if !s.Success && s.Confidence >= sure {
		b.cfg.Logger.Warn("agent failed although it was certain", "agent", o.Agent, "skill", o.Skill, "confidence", s.Confidence)
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

// Forget deletes the outcomes of an agent.
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

// Run stores changed outcomes periodically, and when ctx ends.
func (b *Broker) Run(ctx context.Context) error {
	t := time.NewTicker(saveEvery)
	defer t.Stop()
	saving := context.WithoutCancel(ctx) // the last save runs after ctx has ended
	for {
		select {
		case <-t.C:
			if err := b.save(saving); err != nil {
				b.cfg.Logger.Error("broker", "error", err)
			}
		case <-ctx.Done():
			if err := b.save(saving); err != nil {
				b.cfg.Logger.Warn("the last outcomes of tasks were not stored; the statistics of agents lack them", "error", err)
			}
			return nil
		}
	}
}
