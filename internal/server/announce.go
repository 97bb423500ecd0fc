package server

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/front/console"
	"github.com/parley-a2a/parley/internal/hub"
	"github.com/parley-a2a/parley/internal/version"
)

// About describes an open hub for people.
type About struct {
	// URL is the address at which this machine reaches the hub.
	URL string
	// GRPC is the address of the gRPC listener; empty without one.
	GRPC string
	// Console is the address of the console; empty if it is switched off.
	Console string
	// Data is the data folder.
	Data string
	// Bus is the address of the bus, without credentials; empty without a bus.
	Bus string
	// Agents are the names of the agents, separated by commas.
	Agents string
	// Access describes the callers that the hub accepts.
	Access string
}

// About describes the hub.
func (h *Hub) About() About {
	a := About{URL: h.URL(), Data: h.dir.Path(), Bus: h.busParts.where, Agents: h.agentNames(), Access: h.access()}
	if !h.cfg.NoConsole {
		a.Console = h.URL() + console.Root
	}
	if h.grpcListener != nil {
		a.GRPC = h.grpcListener.Addr().String()
	}
	return a
}

// console returns the handler of the console; nil if it is switched off.
func (h *Hub) console() http.Handler {
	if h.cfg.NoConsole {
		return nil
	}
	c := &console.Handler{
		Hub:     http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.core.Handler().ServeHTTP(w, r) }),
		Version: version.Version, Logger: h.logger, PublicURL: h.cfg.PublicURL, AllowedHosts: h.cfg.AllowedHosts, Providers: h.providers,
	}
	h.opened(func() error { c.Close(); return nil })
	return c
}

// URL returns the address at which this machine reaches the hub.
func (h *Hub) URL() string {
	return h.scheme() + "://" + Reachable(h.listener.Addr().(*net.TCPAddr))
}

func (h *Hub) agentNames() string {
	var names []string
	first, _ := h.engine.Agent("")
	for _, a := range h.engine.Agents() {
		name := string(a.Name)
		if a.Name == first.Name {
			name += " (default)"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func (h *Hub) access() string {
	switch {
	case h.keys.On() && !h.cfg.AllowAnonymous:
		return "callers with " + h.credentials()
	case h.keys.On():
		return "every caller that reaches the address; callers with " + h.credentials() + " have tasks of their own"
	case h.cfg.AllowAnonymous:
		return "every caller that reaches the address, without credentials"
	}
	return "callers on this machine only, without credentials"
}

// credentials names the kinds of credentials that the hub accepts.
func (h *Hub) credentials() string {
	all := "an API key"
	if h.keys.Tokens != nil {
		all += " or a token"
	}
	if h.keys.Certificates != nil {
		all += " or a certificate"
	}
	return all
}

// duration converts d to the type of the hub's packages.
func duration(d config.Duration) time.Duration { return time.Duration(d) }

// CheckAnonymous returns a *ConfigError with hub.ErrAnonymous for an address that other
// machines can reach, unless the configuration allows anonymous callers.
func CheckAnonymous(cfg *config.Config) error {
	if cfg.AllowAnonymous {
		return nil
	}
	for _, addr := range []string{cfg.Listen, cfg.GRPCListen} {
		if addr == "" {
			continue
		}
		if err := hub.CheckAddr(addr); err != nil {
			return configf("%w", err)
		}
	}
	return nil
}

// Reachable returns the address by which this machine reaches a listener at addr.
func Reachable(addr *net.TCPAddr) string {
	host := addr.IP.String()
	if addr.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, fmt.Sprint(addr.Port))
}

// Handler returns the handler that the HTTP listener serves.
func (h *Hub) Handler() http.Handler { return h.server.Handler }

// Recovered is closed when the tasks of an earlier process have been recovered.
func (h *Hub) Recovered() <-chan struct{} { return h.engine.Recovered() }
