package config

import (
	"strconv"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/internal/outbound/safedial"
	"github.com/parley-a2a/parley/push"
)

// Push configures notifications to webhooks. Zero fields mean the defaults.
type Push struct {
	// Off switches push notifications off.
	Off bool `yaml:"off"`
	// Allow names the targets, besides public addresses, that webhooks may have.
	Allow []string `yaml:"allow"`
	// RequireHTTPS refuses webhooks without TLS.
	RequireHTTPS bool `yaml:"require_https"`
	// SigningSecrets sign each notification according to Standard Webhooks.
	SigningSecrets []string `yaml:"signing_secrets"`
	// Timeout aborts an attempt. The default is 15s.
	Timeout Duration `yaml:"timeout"`
	// MaxAge drops a notification that is older and was attempted. The default is 24h.
	MaxAge Duration `yaml:"max_age"`
	// Concurrency is the largest number of concurrent attempts. The default is 256.
	Concurrency int `yaml:"concurrency"`
	// PerEndpoint is the largest number of concurrent attempts at one scheme, host and port.
	// The default is 8.
	PerEndpoint int `yaml:"per_endpoint"`
}

// checkAllow reports the problems of the rules for internal addresses at a key.
func checkAllow(d *yamlfile.Decoder, at string, rules []string) {
	for i, rule := range rules {
		if _, err := safedial.ParsePolicy([]string{rule}); err != nil {
			d.Problem(nil, at+"["+strconv.Itoa(i)+"]", "%s", err.Error())
		}
	}
}

// checkPush reports the problems of p without repeating secrets.
func checkPush(d *yamlfile.Decoder, p *Push) {
	checkAllow(d, "push.allow", p.Allow)
	for i, secret := range p.SigningSecrets {
		if _, err := push.ParseSecret(secret); err != nil {
			d.Problem(nil, "push.signing_secrets["+strconv.Itoa(i)+"]", "%s", err.Error())
		}
	}
}
