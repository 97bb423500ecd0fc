package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/cluster/keeper"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/hub"
	"github.com/parley-a2a/parley/internal/secret/hubkey"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/version"
)

// ErrHubID is returned for a hub_id without a database.
var ErrHubID = errors.New("hub_id is for hubs that share a PostgreSQL database: set store, or leave out hub_id")

var _ hub.Peers = (*keeper.Keeper)(nil)

// ErrStoreDirect is returned for a store_direct without a database.
var ErrStoreDirect = errors.New("store_direct is for a PostgreSQL database behind a pooler: set store, or leave out store_direct")

// member returns the description of the hub for the others on its database; nil if the hub uses
// the database alone.
func (h *Hub) member() *cluster.Hub {
	if h.cfg.HubID == "" {
		return nil
	}
	return &cluster.Hub{
		ID: h.cfg.HubID, Holder: cluster.NewHolder(), Version: version.Version,
		Config: h.cfg.Fingerprint(), Address: h.cfg.Listen,
	}
}

// joinOthers begins to keep the hub a member.
func (h *Hub) joinOthers(ctx context.Context, db database, m *cluster.Hub) error {
	if m == nil {
		return nil
	}
	h.topics = make(map[string]int64)
	listen := db.Listen
	if h.polls = db.Polls(); h.polls {
		h.logger.Warn("a pooler in front of the database passes no notifications: changes at other hubs show within a second; set store_direct", "store", db.Name())
		listen = nil
	}
	h.keeper = &keeper.Keeper{
		Table: db, ID: m.ID, Holder: m.Holder, Config: m.Config, Listen: listen, Follow: h.followOthers, Logger: h.logger,
		Yield: func(ctx context.Context) error { return h.core.Yield(ctx) },
		Runs:  func() int { return h.engine.Stats().Runs },
	}
	return h.keeper.Join(ctx)
}

// keepMember keeps the hub a member until it has drained.
func (h *Hub) keepMember(ctx context.Context) error {
	return h.keeper.Run(ctx, runner{h.engine, h.core})
}

// runner is the engine and what is suspended with it.
type runner struct {
	*engine.Engine

	core *hub.Hub
}

var _ keeper.Runner = runner{}

func (r runner) Suspend() { r.core.Suspend() }

// followOthers acts on a hint of another hub.
func (h *Hub) followOthers(ctx context.Context, hint cluster.Hint) {
	all := hint.All || hint.Regular
	if all {
		if err := h.engine.FollowAll(ctx); err != nil {
			h.logger.Debug("follow other hubs", "error", err)
		}
	}
	h.engine.Follow(ctx, hint.Keys)
	if err := h.engine.Attend(ctx, hint.Cancels); err != nil {
		h.logger.Debug("follow other hubs", "error", err) // found by a look at all open tasks
	}
	h.core.Refresh(ctx, hint.All, hint.Keys)
	if all || hint.Data {
		h.followTopics(ctx)
	}
}

// followTopics reads the data again that other hubs have changed since the last call. A topic that
// cannot be read is tried again with the next hint.
func (h *Hub) followTopics(ctx context.Context) {
	now, err := h.stores.topics(ctx)
	if err != nil {
		h.logger.Debug("follow other hubs", "error", err)
		return
	}
	for topic, n := range now {
		if h.topics[topic] == n {
			continue
		}
		if err := h.reread(ctx, topic); err != nil {
			h.logger.Warn("data that another hub has changed", "topic", topic, "error", err)
			continue
		}
		h.topics[topic] = n
	}
}

// reread reads the data of a topic again.
func (h *Hub) reread(ctx context.Context, topic string) error {
	switch topic {
	case cluster.TopicKeys:
		return h.keys.Load(ctx)
	case cluster.TopicTrust:
		return h.trust.registry.Load(ctx)
	case cluster.TopicAgents:
		if d := h.core.Directory(); d != nil {
			return d.Reread(ctx)
		}
	case cluster.TopicInbox:
		if h.trust.inbox != nil {
			h.trust.inbox.Reread()
		}
	}
	return nil
}

// shareHubKey stores the key of this hub for the others on its database, sealed with their master key:
// a hub that takes over a task reports to its worker under the name of this one.
func (h *Hub) shareHubKey(ctx context.Context, hub string) error {
	if h.keeper == nil {
		return nil
	}
	h.busParts.dispatcher.Peers = otherHubs{h}
	secret, err := hubkey.Secret(h.dir.Join(hubkey.FileName))
	if err != nil {
		return err
	}
	name := hubKeyName(hub)
	if err := h.stores.agents.PutNote(ctx, name, h.box.Seal(secret, []byte(name))); err != nil {
		return fmt.Errorf("key of the hub: %w", err)
	}
	return nil
}

func hubKeyName(hub string) string { return "hub.key." + hub }

// otherHubs are the other hubs on the database, to the dispatcher of work.
type otherHubs struct{ *Hub }

var _ queue.Peers = otherHubs{}

func (x otherHubs) Elsewhere(ctx context.Context, h *task.Head) (checkpoint []byte, elsewhere bool) {
	return x.engine.Elsewhere(ctx, h)
}

func (x otherHubs) Signer(ctx context.Context, hub string) (queue.Signer, error) {
	name := hubKeyName(hub)
	note, err := x.stores.agents.Note(ctx, name)
	if err != nil {
		return nil, err
	}
	if note == nil {
		return nil, fmt.Errorf("hub %s has not stored its key", hub)
	}
	secret, err := x.box.Open(note, []byte(name))
	if err != nil {
		return nil, err
	}
	return hubkey.Parse(secret)
}

// memberChecks returns the checks of the membership.
func (h *Hub) memberChecks() []engine.Check {
	if h.keeper == nil {
		return nil
	}
	c := engine.Check{Name: "lease", OK: !h.keeper.Suspended()}
	all, others := h.keeper.Members()
	switch {
	case !c.OK:
		c.Detail = "the lease of this hub has ended; it joins the others again when the database answers"
	case others != "":
		c.Detail = "a different configuration from this hub's:" + others
	default:
		ids := make([]string, len(all))
		for i := range all {
			ids[i] = all[i].ID
		}
		c.Detail = "hubs: " + strings.Join(ids, ", ")
	}
	checks := []engine.Check{c}
	if h.polls {
		checks = append(checks, engine.Check{Name: "hints", OK: true, Detail: "a pooler passes no notifications, so changes at other hubs show within a second"})
	}
	return checks
}
