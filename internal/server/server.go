package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"syscall"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/auth/token"
	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/agents/command"
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/backup"
	"github.com/parley-a2a/parley/internal/check/testagent"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/directory/announce"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/operator"
	"github.com/parley-a2a/parley/internal/file/datadir"
	"github.com/parley-a2a/parley/internal/file/watch"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/hub"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/registry"
	"github.com/parley-a2a/parley/internal/secret/seal"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/telemetry/export"
)

// Hub is the hub that "parley serve" runs. Open creates one.
type Hub struct {
	given
	kept
	network
	accessParts
	running
	modelParts

	releases  []func() error // see opened
	files     watch.Watcher  // follows the files of the configuration
	telemetry *export.Telemetry
	memory    memories
	busParts  busParts
	exchange  Exchange // that of a part; nil if the hub uses none
	checker   checker  // checks other agents for administrators
}

// Options are the options of Open. Config and Logger are required.
type Options struct {
	Config *config.Config
	Logger *slog.Logger
	// Load reads the file of Config again, with the same flags, when it has changed. If nil, it is that
	// of package config.
	Load func() (*config.Config, error)
	// AcceptLoss starts the hub also if its data folder is known to have had more data. The loss
	// is recorded in the log and the audit log.
	AcceptLoss bool
	// Level is the level of Logger, which a changed log.level of the configuration file sets. If
	// nil, the level cannot be changed.
	Level *slog.LevelVar
	// Commit names the source revision of the program, for metrics.
	Commit string
}

// open is Open for one attempt.
func open(ctx context.Context, o Options) (*Hub, error) {
	cfg, logger := o.Config, o.Logger
	h := &Hub{
		given: given{cfg: cfg, load: o.Load, logger: logger, commit: o.Commit, acceptLoss: o.AcceptLoss, level: o.Level},
		files: watch.Watcher{Logger: logger},
	}
	if n := len(cfg.ExtendedCard.Token); n > 0 && n < config.MinCardToken {
		logger.Warn("extended_card.token is short and can be guessed", "characters", n, "safe", config.MinCardToken)
	}
	if err := h.open(ctx); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

func (h *Hub) open(ctx context.Context) (err error) {
	// The folder comes first: a second hub with the same folder is more likely than one with
	// the same address, and its error message is better.
	if h.dir, err = datadir.Open(h.cfg.Data); err != nil {
		return err
	}
	h.opened(h.dir.Close)
	if backup.Unfinished(h.dir.Path()) {
		return fmt.Errorf("a backup was not restored completely into %s: run parley restore again", h.dir.Path())
	}
	if h.dir.Anonymous() {
		h.logger.Warn("the data folder is in a volume without a name, so the next container starts without these tasks: "+
			"mount a volume, as in docker run -v parley:"+h.dir.Path(), "folder", h.dir.Path())
	}
	if err := h.openSpool(); err != nil {
		return err
	}
	if err := h.startTelemetry(ctx); err != nil {
		return err
	}
	if err := h.openTLS(); err != nil {
		return err
	}
	if err := h.openAudit(); err != nil {
		return err
	}
	if err := h.openStore(ctx); err != nil {
		return err
	}
	if h.listener, err = h.listen(ctx, h.cfg.Listen, "--listen"); err != nil {
		return err
	}
	if h.cfg.GRPCListen != "" {
		if h.grpcListener, err = h.listen(ctx, h.cfg.GRPCListen, "--grpc-listen"); err != nil {
			return err
		}
	}
	if err := h.openSealer(ctx); err != nil {
		return err
	}
	if err := h.reap(); err != nil {
		return err
	}
	if err := h.compose(ctx); err != nil {
		return err
	}
	h.auditStart()
	return nil
}

// StoreName is the file of the store in the data folder.
const StoreName = "parley.db"

// ErrProfileKeys is returned if the data folder has keys and the profile of the conformance
// kits is configured: kits have no credentials.
var ErrProfileKeys = errors.New("the data folder has API keys, and conformance kits have none")

// openStore opens the store and loads its keys. It refuses addresses that other machines can
// reach if callers are not authenticated.
func (h *Hub) openStore(ctx context.Context) (err error) {
	if OnDatabase(h.cfg.Store.Home) {
		err = h.openDatabase(ctx)
	} else if h.cfg.HubID != "" {
		err = configf("%w", ErrHubID)
	} else if h.cfg.StoreDirect != "" {
		err = configf("%w", ErrStoreDirect)
	} else {
		err = h.openFile(ctx)
	}
	if err != nil {
		return err
	}
	h.keys = &auth.Keyring{
		Configured: h.cfg.Auth.Keys(), Store: h.stores.keys, AllowAnonymous: h.cfg.AllowAnonymous, Logger: h.logger,
		Refused: h.audit.refused(), KnownRoles: func() []string { return h.cfg.KnownRoles(h.rules) },
	}
	if err := errors.Join(h.takeTokens(), h.takeCertificates()); err != nil {
		return err
	}
	if err := h.keys.Load(ctx); err != nil {
		return err
	}
	switch {
	case h.keys.On() && h.cfg.Conformance:
		return configf("%w", ErrProfileKeys)
	case h.keys.On():
		return nil
	}
	return CheckAnonymous(h.cfg)
}

// takeTokens accepts tokens of the configured issuers.
func (h *Hub) takeTokens() error {
	if len(h.cfg.Auth.Tokens) == 0 {
		return nil
	}
	issuers, err := h.cfg.Auth.Issuers()
	if err != nil {
		return fmt.Errorf("%s: %w", h.cfg.File, err)
	}
	verifier := &token.Verifier{Issuers: issuers, Logger: h.logger}
	h.keys.Tokens = verifier
	if h.providers, err = h.cfg.Auth.SignIns(verifier); err != nil {
		return fmt.Errorf("%s: %w", h.cfg.File, err)
	}
	h.opened(func() error {
		for _, p := range h.providers {
			p.Client.CloseIdleConnections()
		}
		return nil
	})
	return nil
}

// listen is Listen for an address of the hub.
func (h *Hub) listen(ctx context.Context, addr, flag string) (net.Listener, error) {
	l, err := Listen(ctx, addr, flag)
	if err == nil {
		h.opened(func() error {
			l.Close() // a served listener is closed already and returns an error
			return nil
		})
	}
	return l, err
}

// Listen listens on a TCP address. flag is the flag for another address, for the error message.
func Listen(ctx context.Context, addr, flag string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("address %s is in use by another program; choose another one with %s", addr, flag)
	}
	return l, err
}

// runs returns the folder with the records of running programs.
func (h *Hub) runs() string { return h.dir.Join("runs") }

// reap ends the programs of a killed hub.
func (h *Hub) reap() error {
	n, err := command.Reap(h.runs())
	if n > 0 {
		h.logger.Warn("ended programs that an earlier hub left running", "count", n)
	}
	return err
}

// openSealer opens the master key, or creates it. It warns if webhooks exist but their key was
// missing, for example because only the data was moved: their secrets cannot be opened without
// it.
func (h *Hub) openSealer(ctx context.Context) error {
	path := h.dir.Join(seal.FileName)
	_, missing := os.Lstat(path)
	var err error
	if h.box, err = h.loadMaster(ctx); err != nil {
		return err
	}
	if h.db == nil {
		return h.checkMaster(ctx)
	}
	if missing == nil || h.cfg.MasterKey != "" {
		return nil
	}
	hooks, err := h.stores.tasks.FindHooks(ctx, &task.HookQuery{Limit: 1})
	if err == nil && len(hooks) > 0 {
		h.logger.Warn("the key that sealed the secrets of webhooks was missing, and a new one was made; "+
			"webhooks with secrets are not notified until the old key is restored", "file", path)
	}
	return err
}

// compose creates and connects the parts.
func (h *Hub) compose(ctx context.Context) error {
	var err error
	if h.rules, err = h.openPolicy(); err != nil {
		return err
	}
	if err := h.openBroker(ctx); err != nil {
		return err
	}
	h.openMemory()
	if err := h.openTrust(ctx); err != nil {
		return err
	}
	if err := h.openExchange(); err != nil {
		return err
	}
	if err := h.openBus(ctx); err != nil {
		return err
	}
	if h.exchange != nil && h.busParts.announced == nil {
		if err := h.openAnnounced(&announce.Source{}); err != nil {
			return err
		}
	}
	if err := errors.Join(h.openSigning(), h.openIdentity()); err != nil {
		return err
	}
	if err := h.openParts(); err != nil {
		return err
	}
	parts := h.coreParts(h.rules)
	if h.keeper != nil {
		parts.Peers, parts.Holder = h.keeper, h.keeper.Holder
		parts.Hubs = func() int { all, _ := h.keeper.Members(); return len(all) }
	}
	if parts.Directory, err = h.listing(); err != nil {
		return err
	}
	if h.core, err = hub.New(parts, h.settings()); err != nil {
		return err
	}
	h.opened(h.core.Close)
	if h.busParts.dead != nil {
		h.busParts.dead.Stored = h.core.DeadLetter
	}
	h.calls = h.core.Calls()
	h.opened(func() error { h.inside.Close(); h.calls.Close(); return nil })
	h.engine = h.core.Engine()
	h.servers = h.mcpServers()
	if err := h.register(); err != nil {
		return err
	}
	h.control = &operator.Operator{Engine: h.engine, Tasks: h.stores.tasks, Notes: h.stores.agents, Logger: h.logger}
	if d := h.busParts.dispatcher; d != nil {
		h.control.Changed = d.Forget
	}
	if err := h.control.Open(ctx); err != nil {
		return err
	}
	if err := h.core.OpenDirectory(ctx); err != nil {
		return err
	}
	h.missGated()
	if h.exchange != nil {
		if err := h.exchange.Check(h.engine); err != nil {
			return err
		}
	}
	if len(h.engine.Agents()) == 0 && h.busParts.bus == nil {
		return configf("no agents to serve: the built-in ones are off, and %s names none; nor does another file", source(h.cfg))
	}
	c := h.front()
	if c.Metadata, err = h.issues(); err != nil {
		return err
	}
	c.Console = h.console()
	h.core.Mount(c)
	h.inside.Handler = h.core.Inside()
	for _, n := range h.cfg.Notices() {
		h.logger.Warn(n, "file", h.cfg.File)
	}
	h.conns = h.connections()
	h.grpc = grpcbind.New(h.binding())
	h.server = h.core.NewServer()
	h.server.Handler = h.strict(h.grpc.Beside(h.server.Handler))
	h.server.ConnState = h.conns.State
	h.server.ErrorLog = slog.NewLogLogger(h.logger.Handler(), slog.LevelDebug)
	return nil
}

// coreParts returns the parts for the engine and its services.
func (h *Hub) coreParts(rules *policy.Policy) hub.Parts {
	observer, interest := h.observer()
	var letters queue.LetterCounter
	if h.busParts.bus != nil {
		letters, _ = h.stores.letters.(queue.LetterCounter)
	}
	return hub.Parts{
		Store: h.stores.tasks, Auth: h.keys, Box: h.box, Recorder: h.memory.recorder, Turns: h.memory.turns, Notes: h.memory.notes,
		Policy: rules, Blobs: h.parts, Questions: h.responder(), Asserter: h.identity.assertFor(), Audit: h.audit.log, Inbox: h.trust.inbox,
		Trust: h.trust.registry, Bus: h.busParts.dispatcher, Letters: letters, Chooser: h.broker, Gate: brokerGate{h.broker}, Observer: observer, Interest: interest,
		Transports: overGRPC, MCP: h.mcp(), Checks: h.checks, SignCard: h.signing.signer(), Logger: h.logger,
	}
}

func (h *Hub) front() hub.Front {
	c := h.cfg
	return hub.Front{
		Loopback:       h.guarded(),
		TrustForwarded: c.TrustForwarded,
		GRPCAddr:       h.grpcAddr(),
		GRPCHere:       h.namesGRPC(),
		AllSkills:      c.AllSkills(),
		KeySet:         h.keySet(),
		NoStreaming:    c.NoStreaming,
		LenientVersion: c.LenientVersion,
		SpecStatuses:   c.SpecStatuses,
		Interfaces:     c.Interfaces(),
		Choices:        h.choices(),
		PlainCard:      c.UnionCard != nil && !*c.UnionCard,
		Profiles:       h.profiles(),
		Metrics:        h.telemetry.Page(),
		MetricsReaders: metricsReaders(c.Telemetry.Metrics),
		API:            h.api(),
		LogRequests:    h.logsRequests(),
	}
}

func (h *Hub) api() *adminapi.Handler {
	a := h.core.API()
	a.Reach = h.core.Reach(cmp.Or(h.cfg.PublicURL, h.URL()), h.grpcAddr())
	a.Keys, a.Broker = keyDropper{h.keys, h.busParts.drop, h.logger}, h.broker
	a.Active, a.Control, a.MCPServers = h.trust.activity.Touch, h.control, h.serverStatus
	a.Checker, a.TraceURL = &h.checker, h.cfg.Telemetry.TraceURL
	a.Bus, a.Dead, a.Store = h.busParts.status(), h.busParts.dead, h.stores.kind
	return a
}

// choices returns the answers of HTTP+JSON that the configured profile has chosen.
func (h *Hub) choices() httpfront.Choices {
	for _, p := range registry.Added[httpfront.Profile]() {
		if p.Name == string(h.cfg.Profile) {
			return p.Choices
		}
	}
	return httpfront.Choices{}
}

// profiles returns the dialects of the configuration.
func (h *Hub) profiles() httpfront.Profiles {
	p := httpfront.Profiles{Callers: h.cfg.Auth.Dialects(), Agents: make(map[task.Agent]string)}
	for i := range h.cfg.Agents {
		if a := &h.cfg.Agents[i]; a.Dialect != "" {
			p.Agents[task.Agent(a.Name)] = string(a.Dialect)
		}
	}
	return p
}

// guarded reports whether callers must name this machine as the host. If only this machine can
// call, a web page could still make a browser call.
func (h *Hub) guarded() bool {
	addr, ok := h.listener.Addr().(*net.TCPAddr)
	return ok && addr.IP.IsLoopback() && !h.cfg.AllowAnonymous
}

// logsRequests reports whether a line is logged for each request. By default it is while only
// this machine can call, without credentials, as in development.
func (h *Hub) logsRequests() bool {
	if on := h.cfg.Log.Requests; on != nil {
		return *on
	}
	return h.guarded() && !h.keys.On()
}

// register adds the agents, the default one first. A configured agent replaces a built-in one
// of the same name.
func (h *Hub) register() error {
	if h.cfg.Conformance {
		return h.core.Register(engine.Agent{Name: testagent.Name, Card: testagent.Card(), Executor: testagent.Executor()})
	}
	card := &a2a.AgentCard{Name: string(engine.ObserverName), Description: "Notifies the owner of requests for unknown skills.", Version: "1.0.0"}
	if err := h.engine.Register(engine.Agent{Name: engine.ObserverName, Card: card, Executor: h.trust.gate.Observer(), ListedSkills: true, Hidden: true}); err != nil {
		return err
	}
	all, err := h.configured()
	if err != nil {
		return err
	}
	if h.cfg.Builtin() {
		for _, a := range builtin.Agents() {
			if !slices.ContainsFunc(all, func(b engine.Agent) bool { return b.Name == a.Name }) {
				all = append(all, engine.Agent{Name: a.Name, Card: a.Card, Executor: a.Executor})
			}
		}
	}
	desk, err := h.assistantAgents()
	if err != nil {
		return err
	}
	for _, a := range desk {
		if !slices.ContainsFunc(all, func(b engine.Agent) bool { return b.Name == a.Name }) {
			all = append(all, a)
		}
	}
	clerk, err := h.questionAgents()
	if err != nil {
		return err
	}
	all = append(all, clerk...)
	if len(all) == 0 && h.cfg.DefaultAgent == "" {
		return nil // the directory may have some
	}
	first, err := defaultAgent(all, task.Agent(h.cfg.DefaultAgent))
	if err != nil {
		return err
	}
	chosen := all[first]
	all = slices.Insert(slices.Delete(all, first, first+1), 0, chosen)
	for _, a := range all {
		h.guardNamed(&a)
		if err := h.core.Register(a); err != nil {
			return err
		}
	}
	return nil
}

// defaultAgent returns the index of the agent with the given name; the first if the name is
// empty.
func defaultAgent(all []engine.Agent, name task.Agent) (int, error) {
	if name == "" {
		return 0, nil
	}
	for i, a := range all {
		if a.Name == name {
			return i, nil
		}
	}
	return 0, configf("the default agent %q is not served", name)
}

func source(cfg *config.Config) string {
	if cfg.File == "" {
		return "no configuration file"
	}
	return cfg.File
}

// Run serves until ctx ends and everything has drained.
func (h *Hub) Run(ctx context.Context) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	if h.keeper != nil {
		h.keeper.Drain = func() {
			h.logger.Info("an operator has asked this hub to leave", "hub", h.cfg.HubID)
			leave()
		}
	}
	h.engine.CheckStore(ctx) // a full disk must show before the first message
	return h.core.Run(ctx, hub.Work{
		Services: h.services(), Server: h.server, Serve: h.serveHTTP, Connections: h.conns, Ready: func() { h.logger.Info("ready", "url", h.URL()) },
	})
}

// services returns the services of the hub beside its tasks. Late services receive the results
// of tasks until the last task has ended.
func (h *Hub) services() []hub.Service {
	all := []hub.Service{
		{Name: "files", Run: h.followFiles},
		{Name: "MCP servers", Run: h.runMCPServers, Late: true},
		{Name: "broker", Run: h.broker.Run, Late: true},
		{Name: "policy", Run: h.runPolicy},
		{Name: "configuration", Run: h.reloadConfig},
	}
	if h.keeper != nil {
		all = append(all, hub.Service{Name: "membership", Run: h.keepMember, Late: true})
	}
	all = append(all, h.trustServices()...)
	all = append(all, h.busServices()...)
	if h.exchange != nil {
		all = append(all, h.exchange.Services(h.engine)...)
	}
	if h.db != nil {
		all = append(all, hub.Service{Name: "pages of the store", Run: h.recovered(h.checkPages)})
	}
	if h.grpcListener != nil {
		all = append(all, hub.Service{Name: "gRPC", Run: func(ctx context.Context) error { return h.grpc.Serve(ctx, h.conns.Listen(h.grpcListener)) }})
	}
	return all
}

// opened adds a resource that Close releases, before those that were opened earlier.
func (h *Hub) opened(release func() error) { h.releases = append(h.releases, release) }

// Close releases the resources that Open has opened, the last one first.
func (h *Hub) Close() error {
	var errs []error
	for _, release := range slices.Backward(h.releases) {
		errs = append(errs, release())
	}
	return errors.Join(errs...)
}
