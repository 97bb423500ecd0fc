package config

import (
	"strconv"
	"time"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/internal/memory"
)

// Memory configures the storage of notes, results and conversations. Zero fields mean the
// defaults.
type Memory struct {
	// Off disables recording results and outcomes. Notes can still be set.
	Off bool `yaml:"off"`
	// PrimarySession is the hub's own session. The default is primary.
	PrimarySession string `yaml:"primary_session"`
	// Owner is the owner of the memory for outcomes. The default is local.
	Owner string `yaml:"owner"`
	// Outcomes are the agents whose outcomes are recorded; * means all. If empty, none are.
	Outcomes []string `yaml:"outcomes"`
	// TTL is the lifetime of a note whose author sets none. The default is 5m.
	TTL Duration `yaml:"ttl"`
	// MaxTTL is the longest lifetime of a note. The default is 30d.
	MaxTTL Duration `yaml:"max_ttl"`
	// ResultTTL is the lifetime of a result. The default is 60m.
	ResultTTL Duration `yaml:"result_ttl"`
	// OutcomeTTL is the lifetime of an outcome, at least 8h. The default is 8h.
	OutcomeTTL Duration `yaml:"outcome_ttl"`
	// SessionTTL is the time after its last message when a session counts as ended. The default
	// is 24h.
	SessionTTL Duration `yaml:"session_ttl"`
	// Entries is the largest number of notes in a namespace. The default is 50.
	Entries int `yaml:"entries"`
	// OwnerEntries is the largest number of notes of a caller. The default is 10000.
	OwnerEntries int `yaml:"owner_entries"`
	// Value is the length of the longest note. The default is 64KiB.
	Value Size `yaml:"value"`
	// Retention is the retention time of conversation turns. The default is 30d.
	Retention Duration `yaml:"retention"`
}

// minOutcome is the shortest lifetime of an outcome: a working day.
const minOutcome = 8 * time.Hour

// minValue is the smallest allowed Value: room for an outcome or the beginning of a result.
const minValue = 1 << 10

func checkMemory(d *yamlfile.Decoder, m *Memory) {
	if m.OutcomeTTL > 0 && time.Duration(m.OutcomeTTL) < minOutcome {
		d.Problem(nil, "memory.outcome_ttl", "must be at least 8h")
	}
	if m.Value > 0 && m.Value < minValue {
		d.Problem(nil, "memory.value", "must be at least 1KiB")
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
				d.Problem(nil, "memory."+f.key, "must not exceed memory.max_ttl")
			}
		}
	}
	if m.PrimarySession != "" && memory.Segment(m.PrimarySession) != m.PrimarySession {
		d.Problem(nil, "memory.primary_session", "is not one segment of a key, such as primary")
	}
	for i, name := range m.Outcomes {
		if name != "*" && !agentName.MatchString(name) {
			d.Problem(nil, "memory.outcomes["+strconv.Itoa(i)+"]", "%q must be the name of an agent, or *", yamlfile.Clip(name))
		}
	}
}
