package exchange

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// AnnounceEvery is the time between two announcements of an agent, the same as in RockBot.
const AnnounceEvery = 2 * time.Minute

const (
	// announceKept is the time that an announcement waits for a hub that is down; the next
	// announcement is equal.
	announceKept = 5 * AnnounceEvery
	// farewellTime is the timeout of a stopping hub for deregistering an agent.
	farewellTime = 2 * time.Second
)

// Announcement describes an agent on RockBot's exchange.
type Announcement struct {
	// Card has the name, description, version and skills.
	Card *a2a.AgentCard
	// URL is the address of an agent that is reachable over HTTP, or empty.
	URL string
	// Leaves is set if the agent stops.
	Leaves bool
}

// agentCard has the used members of RockBot's AgentCard. Credentials in a received card are
// ignored.
type agentCard struct {
	AgentName       string       `json:"agentName"`
	Description     string       `json:"description,omitempty"`
	Version         string       `json:"version,omitempty"`
	Skills          []agentSkill `json:"skills"`
	URL             string       `json:"url,omitempty"`
	IsDeregistering bool         `json:"isDeregistering"`
}

// agentSkill is RockBot's AgentSkill.
type agentSkill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Examples    []string `json:"examples,omitempty"`
}

// readAnnouncement reads a card published by source. An agent may announce only itself.
func readAnnouncement(source string, body []byte) (*Announcement, error) {
	var c agentCard
	if err := rawjson.Unmarshal(body, &c); err != nil {
		return nil, fmt.Errorf("is not an AgentCard: %w", rawjson.Readable(err))
	}
	switch {
	case c.AgentName == "":
		return nil, errors.New("is not an AgentCard: agentName is missing")
	case c.AgentName != source:
		return nil, fmt.Errorf("announced as %q, but its source is %q", clip(c.AgentName), clip(source))
	}
	n := &Announcement{URL: c.URL, Leaves: c.IsDeregistering, Card: &a2a.AgentCard{
		Name: c.AgentName, Description: c.Description, Version: c.Version,
	}}
	for i := range c.Skills {
		k := &c.Skills[i]
		n.Card.Skills = append(n.Card.Skills, a2a.AgentSkill{
			ID: k.ID, Name: k.Name, Description: k.Description, Tags: k.Tags, Examples: k.Examples,
		})
	}
	return n, nil
}

// clip limits the size of foreign text in the log.
func clip(s string) string { return s[:min(len(s), 100)] }

// discovery returns the queue for the cards of agents.
func (x *Exchange) discovery() amqpbus.Queue {
	return amqpbus.Queue{Name: "rockbot." + x.Name + ".discovery", Topic: announceTopic, Keep: announceKept}
}

// receiveCards reports the agents that announce themselves, except the hub's own.
func (x *Exchange) receiveCards(ctx context.Context) error {
	return x.receive(ctx, x.discovery(), prefetch, func(a *amqpbus.Arrival) {
		if a.Type != typeCard {
			x.refuse(a, "is not an AgentCard")
			return
		}
		n, err := readAnnouncement(a.Headers[sourceHeader], a.Body)
		if err == nil && !x.serves(n.Card.Name) {
			err = x.Announced(n)
		}
		if err != nil {
			x.refuse(a, err.Error())
			return
		}
		x.settle(a.Ack())
	})
}

// serves reports whether the hub serves a name.
func (x *Exchange) serves(name string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.served[name]
}

// serve records that the hub serves a name.
func (x *Exchange) serve(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.served == nil {
		x.served = make(map[string]bool)
	}
	x.served[name] = true
}

// announce publishes the card of an agent of the hub, and again at each interval. The queues of the
// agent exist before, and the one for cards, because an agent may answer with its own card at once.
// At the end it deregisters the agent.
func (h *host) announce(ctx context.Context) {
	name := string(h.name)
	h.line.serve(name)
	queues := []amqpbus.Queue{queueOf(name, taskTopic+name), queueOf(name, cancelTopic+name)}
	if h.line.Announced != nil {
		queues = append(queues, h.line.discovery())
	}
	tick := time.NewTicker(cmp.Or(h.line.Interval, AnnounceEvery))
	defer tick.Stop()
	for {
		err := h.line.x.Make(ctx, queues...)
		if err == nil {
			err = h.publishCard(ctx, false)
		}
		if err != nil && ctx.Err() == nil {
			h.line.log().Warn("agent is not announced at RockBot's exchange", "agent", h.name, "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewellTime)
			defer cancel()
			if err := h.publishCard(ctx, true); err != nil {
				h.line.log().Info("agent is not deregistered at RockBot's exchange", "agent", h.name, "error", err)
			}
			return
		}
	}
}

// publishCard publishes RockBot's card of the agent.
func (h *host) publishCard(ctx context.Context, leaves bool) error {
	c := agentCard{AgentName: string(h.name), Skills: []agentSkill{}, IsDeregistering: leaves}
	if from := h.server.Card(h.name); from != nil {
		c.Description, c.Version = from.Description, from.Version
		for i := range from.Skills {
			k := &from.Skills[i]
			c.Skills = append(c.Skills, agentSkill{k.ID, k.Name, k.Description, k.Tags, k.Examples})
		}
	}
	body, err := json.Marshal(&c)
	if err != nil {
		return err
	}
	return h.line.x.Publish(ctx, h.line.signed(ctx, string(h.name), &amqpbus.Message{Topic: announceTopic, Type: typeCard, Body: body}), nil)
}
