package config

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/goccy/go-yaml"
)

// Fingerprint returns a short hash of the part of a configuration that hubs on one database should
// have in common.
func (c *Config) Fingerprint() string {
	own := *c
	own.Listen, own.GRPCListen, own.Data, own.HubID, own.File = "", "", "", "", ""
	own.Store, own.MasterKey = "", "" // hubs with others do not start
	text, err := yaml.Marshal(own)
	if err != nil {
		panic("fingerprint: " + err.Error()) // it was read from YAML
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}
