package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/heap"
	"github.com/parley-a2a/parley/internal/hub"
	"github.com/parley-a2a/parley/internal/outbound/safedial"
	"github.com/parley-a2a/parley/internal/server"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
	"github.com/parley-a2a/parley/internal/version"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

const (
	defaultListen = "127.0.0.1:4100"
	defaultData   = "parley-data"
)

// serveCmd runs a hub. Flags take precedence over the configuration file.
type serveCmd struct {
	Listen         string   `help:"The address for HTTP (127.0.0.1:4100)." placeholder:"ADDR"`
	GRPCListen     string   `name:"grpc-listen" help:"A separate address for gRPC, which cards then name; gRPC is also served at the HTTP address." placeholder:"ADDR"`
	Data           string   `help:"The data folder (./parley-data; $$PARLEY_DATA)." from:"PARLEY_DATA" placeholder:"DIR"`
	Store          string   `help:"The store: sqlite, for a file in the data folder, or the address of a PostgreSQL database (sqlite; $$PARLEY_STORE)." from:"PARLEY_STORE" placeholder:"sqlite|URL"`
	Config         string   `help:"The configuration file (parley.yaml here, in ./workspace or in the data folder; $$PARLEY_CONFIG)." from:"PARLEY_CONFIG" placeholder:"FILE"`
	Agents         string   `help:"The agents to serve in addition to the configured ones: builtin or none; or conformance, for conformance kits on this machine, which excludes all others." enum:"builtin,conformance,none," default:"" placeholder:"WHICH"`
	PushAllow      []string `name:"push-allow" help:"A target that webhooks may have in addition to public addresses, such as loopback, 10.1.0.0/16 or host:port; adds to push.allow. May be repeated." placeholder:"TARGET"`
	Bus            string   `help:"The bus for agents that need not be running: off, or the address of a broker: nats://, tls://, amqp:// or amqps://. Without it, the hub runs a broker for programs on this machine." placeholder:"off|URL"`
	BusListen      string   `name:"bus-listen" help:"The address of the hub's own broker (a free port of 127.0.0.1). An address that other machines reach requires --bus-cert." placeholder:"ADDR"`
	BusCert        string   `name:"bus-cert" help:"The broker's certificate, as PEM." placeholder:"FILE"`
	BusCertKey     string   `name:"bus-cert-key" help:"The private key of the certificate, as PEM." placeholder:"FILE"`
	TLSCert        string   `name:"tls-cert" help:"The TLS certificate for HTTP and gRPC, as PEM; reloaded when it changes." placeholder:"FILE"`
	TLSKey         string   `name:"tls-key" help:"The private key of this certificate, as PEM." placeholder:"FILE"`
	ClientCA       string   `name:"client-ca" help:"The authorities of the certificates of callers, as PEM; auth.certificates maps certificates to callers." placeholder:"FILE"`
	kong.Plugins            // the flags of parts, pointers to config.Flags
	AgentsAllow    []string `name:"agents-allow" help:"An address that registered agents may have in addition to public ones, such as loopback or 10.1.0.0/16; adds to directory.allow. May be repeated." placeholder:"TARGET"`
	NoStreaming    bool     `help:"Disable streaming."`
	NoPush         bool     `help:"Disable push notifications."`
	AllowAnonymous bool     `help:"Also serve callers without credentials on other machines."`
	PublicURL      string   `name:"public-url" help:"The address that agent cards name." placeholder:"URL"`
	GRPCURL        string   `name:"grpc-url" help:"The URL of gRPC that agent cards name; with --public-url, they name gRPC only if it is given." placeholder:"URL"`
	AcceptLoss     bool     `name:"accept-loss" help:"Start even though data is known to be missing, and record the loss in the log and the audit log."`
	LogLevel       string   `help:"The minimum log level: debug, info, warn or error." enum:"debug,info,warn,error," default:"" placeholder:"LEVEL"`
	LogFormat      string   `help:"How to log: text or json." enum:"text,json," default:"" placeholder:"FORMAT"`
}

// Run serves until a signal arrives.
func (c *serveCmd) Run(ctx context.Context, o *OS) error {
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	level := new(slog.LevelVar)
	logger := newLogger(o.Stderr, cfg.Log, level)
	heap.Floor(heap.Size)
	adjustable := level
	if c.LogLevel != "" {
		adjustable = nil // the flag takes precedence over the file
	}
	return o.interruptible(ctx, func(in interrupts) error {
		h, err := server.Open(in.soft, server.Options{
			Config: cfg, Logger: logger, Level: adjustable, Commit: build().commit, AcceptLoss: c.AcceptLoss,
			Load: func() (*config.Config, error) {
				changed, err := config.Load(cfg.File)
				if err != nil {
					return nil, err
				}
				return changed, c.override(changed)
			},
		})
		if err != nil {
			return advise(err, cfg)
		}
		if a := h.About(); cfg.Log.Format == "json" { // a reader of JSON reads nothing else
			slog.New(slog.NewJSONHandler(o.Stdout, nil)).Info("hub", "version", version.Version, "address", a.URL, "console", a.Console, "grpc", a.GRPC, "data", a.Data,
				"config", cfg.File, "bus", a.Bus, "agents", a.Agents, "access", a.Access)
		} else if err := announce(o.Stdout, a, cfg); err != nil {
			logger.Warn("the summary of the hub was not printed", "error", err) // the disk of its output may be full
		}
		return serveHub(in, h, logger)
	})
}

// settings returns the configuration: the flags, the configuration file and the defaults, in
// this order of precedence.
func (c *serveCmd) settings() (*config.Config, error) {
	cfg, err := c.configuration()
	if err != nil {
		return nil, err
	}
	return cfg, c.override(cfg)
}

// override applies the flags and the defaults to the configuration, and checks the result.
func (c *serveCmd) override(cfg *config.Config) error {
	cfg.Listen = cmp.Or(c.Listen, cfg.Listen, defaultListen)
	cfg.GRPCListen = cmp.Or(c.GRPCListen, cfg.GRPCListen)
	cfg.Data = cmp.Or(c.Data, cfg.Data, defaultData)
	if c.Store != "" {
		cfg.Store = config.Store{Home: c.Store}
	}
	if wrong := config.CheckStore(cfg.Store.Home); wrong != "" {
		return usagef("--store: it %s", wrong)
	}
	cfg.MasterKey = cmp.Or(os.Getenv("PARLEY_MASTER_KEY"), cfg.MasterKey)
	cfg.PublicURL = cmp.Or(c.PublicURL, cfg.PublicURL)
	if _, err := safedial.ParsePolicy(c.PushAllow); err != nil {
		return usagef("--push-allow: %w", err)
	}
	cfg.Push.Allow = append(cfg.Push.Allow, c.PushAllow...)
	cfg.Push.Off = cfg.Push.Off || c.NoPush
	if _, err := safedial.ParsePolicy(c.AgentsAllow); err != nil {
		return usagef("--agents-allow: %w", err)
	}
	cfg.Directory.Allow = append(cfg.Directory.Allow, c.AgentsAllow...)
	for _, p := range c.Plugins {
		p.(config.Flags).Settings(cfg)
	}
	if err := c.busFlags(&cfg.Bus); err != nil {
		return err
	}
	cfg.TLS.Cert, cfg.TLS.Key, cfg.TLS.ClientCA = cmp.Or(c.TLSCert, cfg.TLS.Cert), cmp.Or(c.TLSKey, cfg.TLS.Key), cmp.Or(c.ClientCA, cfg.TLS.ClientCA)
	switch {
	case (cfg.TLS.Cert == "") != (cfg.TLS.Key == ""):
		return usagef("TLS needs --tls-cert and --tls-key")
	case cfg.TLS.Cert == "" && cfg.TLS.ClientCA != "":
		return usagef("--client-ca needs --tls-cert: callers can present certificates only over TLS")
	}
	cfg.NoStreaming = cfg.NoStreaming || c.NoStreaming
	cfg.Cards.GRPCURL = cmp.Or(c.GRPCURL, cfg.Cards.GRPCURL)
	cfg.AllowAnonymous = cfg.AllowAnonymous || c.AllowAnonymous
	cfg.Log.Level = cmp.Or(c.LogLevel, cfg.Log.Level, "info")
	cfg.Log.Format = cmp.Or(c.LogFormat, cfg.Log.Format, "text")
	if c.Agents != "" {
		builtin := c.Agents == "builtin"
		cfg.AgentsBuiltin = &builtin
	}
	return checkSettings(cfg)
}

// configuration returns the configuration without the flags.
func (c *serveCmd) configuration() (*config.Config, error) {
	if c.Agents == profileName {
		return c.profile()
	}
	path, err := config.Find(c.Config, cmp.Or(c.Data, defaultData))
	if err != nil || path == "" {
		return &config.Config{}, err
	}
	return config.Load(path)
}

// checkSettings checks the flags. The configuration file was checked when it was read.
func checkSettings(cfg *config.Config) error {
	for _, addr := range []string{cfg.Listen, cfg.GRPCListen} {
		if addr == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return usagef("listen: %w", err)
		}
	}
	if err := checkProfile(cfg); err != nil {
		return err
	}
	if err := cfg.CheckCertificates(); err != nil {
		return usagef("%w", err)
	}
	// If no store exists, there are no keys in it. The store need not be created to check this.
	_, err := os.Stat(filepath.Join(cfg.Data, server.StoreName))
	if errors.Is(err, fs.ErrNotExist) && !server.OnDatabase(cfg.Store.Home) && !cfg.Auth.Asks() {
		if err := server.CheckAnonymous(cfg); err != nil {
			return advise(err, cfg)
		}
	}
	if u, err := url.Parse(cfg.PublicURL); cfg.PublicURL != "" && (err != nil || u.Host == "" || !strings.HasPrefix(u.Scheme, "http")) {
		return usagef("--public-url %q is not an http or https URL", cfg.PublicURL)
	}
	return nil
}

// announce prints the address of the hub and example commands.
func announce(w io.Writer, h server.About, cfg *config.Config) error {
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-8s %s\n", name, value)
		}
	}
	fmt.Fprintf(&b, "Parley %s\n", version.Version)
	row("Address", h.URL)
	row("Console", h.Console)
	row("gRPC", h.GRPC)
	row("Data", h.Data)
	row("Config", cfg.File)
	row("Bus", h.Bus)
	row("Agents", h.Agents)
	row("Access", h.Access)
	row("Profile", profileText(cfg))
	send := "parley send"
	if h.URL != defaultURL {
		send += " --url " + quote(h.URL)
	}
	fmt.Fprintf(&b, "Try: %s hello\n", send)
	_, err := io.WriteString(w, b.String())
	return err
}

// serveHub serves until the first signal, then drains and closes the hub. After a second signal
// it returns at once, and the process ends: the next hub recovers as after a kill.
func serveHub(in interrupts, h *server.Hub, logger *slog.Logger) error {
	done := make(chan error, 1)
	go func() { // ends when everything has drained, or with the process
		err := h.Run(in.soft)
		done <- errors.Join(err, h.Close())
	}()
	select {
	case err := <-done:
		return err
	case <-in.soft.Done():
		logger.Info("draining; interrupt again to stop immediately")
	}
	select {
	case err := <-done:
		return err
	case <-in.hard.Done():
		return &exit{exitFailed, errors.New("stopped immediately; running tasks are recovered at the next start")}
	}
}

// advise adds the correct usage to an error of the configuration.
func advise(err error, cfg *config.Config) error {
	switch {
	case errors.Is(err, hub.ErrAnonymous):
		wrong := new(server.ConfigError)
		errors.As(err, &wrong)
		return usagef("%w; give callers keys with \"parley keys add --data %s\", or set --allow-anonymous if every caller may call", wrong.Err, quote(cfg.Data))
	case errors.Is(err, server.ErrProfileKeys):
		return usagef("the data folder %s has API keys, and conformance kits have none; choose another one with --data", quote(cfg.Data))
	}
	return adviseLoss(err, cfg.Data)
}

func adviseLoss(err error, data string) error {
	if errors.Is(err, sqlitestore.ErrLost) {
		return fmt.Errorf("%w; restore a backup of the whole folder, salvage it with parley repair, or continue without this data: parley serve --data %s --accept-loss", err, quote(data))
	}
	if errors.Is(err, sqlitestore.ErrDamaged) {
		return fmt.Errorf("%w; or salvage the folder: parley repair --data %s --out NEW", err, quote(data))
	}
	return err
}

// newLogger returns a logger with the format of l. It sets level to that of l; later changes of level
// take effect.
func newLogger(w io.Writer, l config.Log, level *slog.LevelVar) *slog.Logger {
	if err := level.UnmarshalText([]byte(l.Level)); err != nil {
		level.Set(slog.LevelInfo)
	}
	options := &slog.HandlerOptions{Level: level}
	if l.Format == "json" {
		return slog.New(trace.LogHandler(slog.NewJSONHandler(w, options)))
	}
	return slog.New(trace.LogHandler(slog.NewTextHandler(w, options)))
}
