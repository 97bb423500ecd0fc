package cli

import (
	"fmt"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/hub"
)

// profileName is the value of --agents that serves the agent of the conformance kits.
const profileName = "conformance"

// profileData is the data folder of that hub. It is not the usual folder, because tasks of
// other agents would fail there, and webhooks on this machine would be notified.
const profileData = "parley-conformance"

// profile is the configuration of a hub for conformance kits. The public kits need a server
// that follows the recommendations of the specification, accepts any media type and context,
// and notifies a webhook on this machine. Such a hub listens on loopback addresses only. No
// configuration file changes these settings.
func (c *serveCmd) profile() (*config.Config, error) {
	if c.Config != "" {
		return nil, usagef("--agents %s does not use a configuration file; omit --config and $PARLEY_CONFIG", profileName)
	}
	if c.AllowAnonymous {
		return nil, usagef("--agents %s only serves this machine and cannot be combined with --allow-anonymous", profileName)
	}
	return &config.Config{
		Conformance:  true,
		Data:         profileData,
		NoClientIDs:  true,
		SpecStatuses: true,
		Push:         config.Push{Allow: []string{"loopback"}},
	}, nil
}

// checkProfile refuses addresses that other machines can reach.
func checkProfile(cfg *config.Config) error {
	if !cfg.Conformance {
		return nil
	}
	for _, addr := range []string{cfg.Listen, cfg.GRPCListen} {
		if addr != "" && hub.CheckAddr(addr) != nil {
			return usagef("listen on %s: --agents %s serves loopback addresses only", addr, profileName)
		}
	}
	return nil
}

// profileText returns the start message about a hub for conformance kits.
func profileText(cfg *config.Config) string {
	if !cfg.Conformance {
		return ""
	}
	hooks := "webhooks may be on this machine"
	if cfg.Push.Off {
		hooks = "no webhooks"
	}
	streams := ""
	if cfg.NoStreaming {
		streams = ", no streaming"
	}
	return fmt.Sprintf("%s, on loopback only: any media type, no task ids of callers, statuses of the specification, %s%s", profileName, hooks, streams)
}
