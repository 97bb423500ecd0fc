package config

import (
	"strconv"
	"time"

	"github.com/parley-a2a/parley/agent/memory"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// Memory says what the hub remembers beside its tasks. Zero means the default that is
// named.
type Memory struct {
	// Off writes down no results and outcomes. Notes can be set nevertheless.
	Off bool `yaml:"off"`
	// PrimarySession is the session of the hub itself: primary.
	PrimarySession string `yaml:"primary_session"`
	// Owner is in whose memory outcomes are written: local.
	Owner string `yaml:"owner"`
	// Outcomes are the agents of which outcomes are remembered; * stands for all. If
	// empty, none are.
	Outcomes []string `yaml:"outcomes"`
	// TTL is how long a note is kept whose maker does not say: 5m.
	TTL Duration `yaml:"ttl"`
	// MaxTTL is the longest that one may say: 30d.
	MaxTTL Duration `yaml:"max_ttl"`
	// ResultTTL is how long a result is kept: 60m.
	ResultTTL Duration `yaml:"result_ttl"`
	// OutcomeTTL is how long an outcome is kept, at least 8h: 8h.
	OutcomeTTL Duration `yaml:"outcome_ttl"`
	// SessionTTL is how long after its last message a session is taken for gone: 24h.
	SessionTTL Duration `yaml:"session_ttl"`
	// Entries is how many notes a namespace has room for: 50.
	Entries int `yaml:"entries"`
	// OwnerEntries is how many notes a caller has room for: 10000.
	OwnerEntries int `yaml:"owner_entries"`
	// Value is the length of the longest note: 64KiB.
	Value Size `yaml:"value"`
	// Retention is how long turns of conversations are kept: 30d.
	Retention Duration `yaml:"retention"`
}

// minOutcome is how long an outcome is kept at least: a working day.
const minOutcome = 8 * time.Hour

// minValue is the least that a note must have room for: an outcome or the beginning of a
// result.
const minValue = 1 << 10

// checkMemory notes what is wrong with m.
func checkMemory(d *yamlfile.Decoder, m *Memory) {
	if m.OutcomeTTL > 0 && time.Duration(m.OutcomeTTL) < minOutcome {
		d.Problem(nil, "memory.outcome_ttl", "is less than 8h")
	}
	if m.Value > 0 && m.Value < minValue {
		d.Problem(nil, "memory.value", "is less than 1KiB")
	}
	if most := time.Duration(m.MaxTTL); most > 0 {
		for _, f := range []struct {
			key string
			ttl Duration
			def time.Duration
		}{
			{"ttl", m.TTL, 5 * time.Minute},
			{"result_ttl", m.ResultTTL, time.Hour},
			{"outcome_ttl", m.OutcomeTTL, minOutcome},
			{"session_ttl", m.SessionTTL, 24 * time.Hour},
		} {
			if max(time.Duration(f.ttl), 0) > most || f.ttl == 0 && f.def > most {
				d.Problem(nil, "memory."+f.key, "is more than memory.max_ttl")
			}
		}
	}
	if m.PrimarySession != "" && memory.Segment(m.PrimarySession) != m.PrimarySession {
		d.Problem(nil, "memory.primary_session", "is not one segment of a key, such as primary")
	}
	for i, name := range m.Outcomes {
		if name != "*" && !agentName.MatchString(name) {
			d.Problem(nil, "memory.outcomes["+strconv.Itoa(i)+"]", "%q is neither the name of an agent nor *", yamlfile.Clip(name))
		}
	}
}
