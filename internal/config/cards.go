package config

import (
	"net/url"
	"strconv"

	"github.com/parley-a2a/parley/internal/yamlfile"
)

// Cards says which agent cards are signed, and which signatures are trusted.
type Cards struct {
	// SigningKeys are files with private keys in PEM (ECDSA P-256, Ed25519, or RSA of 2048
	// bits or more). Each of them signs the cards of the hub, so that an old one stays
	// good while a new one becomes known.
	SigningKeys []string `yaml:"signing_keys"`
	// TrustedKeys are files with public keys that sign the cards of agents elsewhere: key
	// sets (JWKS), or PEM.
	TrustedKeys []string `yaml:"trusted_keys"`
	// TrustedKeySets are https addresses of key sets that such cards may name (jku).
	TrustedKeySets []string `yaml:"trusted_key_sets"`
	// RequireSignatures takes no card of an agent elsewhere without a signature that is
	// trusted.
	RequireSignatures bool `yaml:"require_signatures"`
	// AllSkills lists the skills of all agents in the card of the hub; nil means yes if
	// there are callers with the dialect of RockBot, whose gateway has them in its card.
	AllSkills *bool `yaml:"all_skills"`
}

// AllSkills reports whether the card of the hub lists the skills of all agents.
func (c *Config) AllSkills() bool {
	if c.Cards.AllSkills != nil {
		return *c.Cards.AllSkills
	}
	for _, d := range c.Auth.Dialects() {
		if d == DialectRockBot {
			return true
		}
	}
	return false
}

// Verify reports whether signatures of cards are looked at.
func (c *Cards) Verify() bool {
	return len(c.TrustedKeys)+len(c.TrustedKeySets) > 0
}

// files are the paths of keys.
func (c *Cards) files() []*string {
	var all []*string
	for _, list := range [][]string{c.SigningKeys, c.TrustedKeys} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

// checkCards notes what is wrong with cards.
func checkCards(d *yamlfile.Decoder, c *Cards) {
	for i, address := range c.TrustedKeySets {
		if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "https" {
			d.Problem(nil, "cards.trusted_key_sets["+strconv.Itoa(i)+"]", "is not an address that begins with https://")
		}
	}
	if c.RequireSignatures && !c.Verify() {
		d.Problem(nil, "cards.require_signatures", "needs trusted_keys or trusted_key_sets: no signature could be trusted")
	}
}
