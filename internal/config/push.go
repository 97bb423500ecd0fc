package config

import (
	"strconv"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/internal/outbound/safedial"
	"github.com/parley-a2a/parley/push"
)

// Push says how webhooks are told. Zero means the default that is named.
type Push struct {
	// Off switches push notifications off.
	Off bool `yaml:"off"`
	// Allow names the targets beside public addresses that webhooks may have.
	Allow []string `yaml:"allow"`
	// RequireHTTPS refuses webhooks without TLS.
	RequireHTTPS bool `yaml:"require_https"`
	// SigningSecrets sign each notification by Standard Webhooks.
	SigningSecrets []string `yaml:"signing_secrets"`
	// Timeout ends a try: 15s.
	Timeout Duration `yaml:"timeout"`
	// MaxAge gives up a notification that is older and was tried: 24h.
	MaxAge Duration `yaml:"max_age"`
	// Concurrency is how many tries are under way at one time: 256.
	Concurrency int `yaml:"concurrency"`
	// PerEndpoint is how many of them at one scheme, host and port: 8.
	PerEndpoint int `yaml:"per_endpoint"`
}

// checkPush notes what is wrong with p. No problem repeats a secret.
func checkPush(d *yamlfile.Decoder, p *Push) {
	for i, rule := range p.Allow {
		if _, err := safedial.ParsePolicy([]string{rule}); err != nil {
			d.Problem(nil, "push.allow["+strconv.Itoa(i)+"]", "%s", err.Error())
		}
	}
	for i, secret := range p.SigningSecrets {
		if _, err := push.ParseSecret(secret); err != nil {
			d.Problem(nil, "push.signing_secrets["+strconv.Itoa(i)+"]", "%s", err.Error())
		}
	}
}
