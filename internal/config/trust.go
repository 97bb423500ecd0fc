package config

import (
	"net/url"
	"slices"
	"strconv"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// gated marks agents and skills that require approval unless the caller is trusted.
const gated = "gated"

// Trust configures agents and skills marked "trust: gated". Zero fields mean the defaults.
type Trust struct {
	// File is the file with the trust levels of callers. The default is agent-trust.json in the
	// folders of Parley's files.
	File string `yaml:"file" path:"yes"`
	// Gated are agents that are gated as a whole, from any source.
	Gated []string `yaml:"gated"`
	// Write allows the hub to write the file.
	Write bool `yaml:"write"`
	// Summarizer is the agent that summarises messages that are not executed; without one,
	// their texts are shortened.
	Summarizer string `yaml:"summarizer"`
	// Refused is the final state of a task that is not approved. The default is rejected.
	Refused string `yaml:"refused" enum:"rejected,completed"`
	// Unapproved is the treatment of a request that its caller may not make without approval, at
	// propose, and at act for a skill that was not approved: ask, or observe like at that level.
	// The default is ask.
	Unapproved string `yaml:"unapproved" enum:"ask,observe"`
	// ApprovalTime is the time limit for an approval. The default is 7d.
	ApprovalTime Duration `yaml:"approval_time"`
	// NotifyURL receives a notification for each new item of the inbox.
	NotifyURL string `yaml:"notify_url"`
	// NotifyCommand is run for each new item of the inbox.
	NotifyCommand Command `yaml:"notify_command"`
	// NotifyEnv has the variables that NotifyCommand gets beside PATH, HOME and the like.
	NotifyEnv map[string]string `yaml:"notify_env"`
}

// Gated reports whether the agent or any of its skills is gated; skills are the gated ones, or
// empty if the whole agent is.
func (a *Agent) Gated() (skills []string, ok bool) {
	if a.Trust == gated {
		return nil, true
	}
	for _, list := range [][]Skill{a.Skills, a.Extended.Skills} {
		for i := range list {
			if list[i].Trust == gated {
				skills = append(skills, list[i].ID)
			}
		}
	}
	return skills, len(skills) > 0
}

func checkTrust(d *yamlfile.Decoder, c *Config) {
	checkVariables(d, "trust.notify_env", c.Trust.NotifyEnv)
	if len(c.Trust.NotifyEnv) > 0 && len(c.Trust.NotifyCommand) == 0 {
		d.Problem(nil, "trust.notify_env", "needs notify_command")
	}
	if u, err := url.Parse(c.Trust.NotifyURL); c.Trust.NotifyURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		d.Problem(nil, "trust.notify_url", "is not a URL like https://hooks.example/parley")
	}
	for i, name := range c.Trust.Gated {
		key := "trust.gated[" + strconv.Itoa(i) + "]"
		switch {
		case !agentName.MatchString(name) || len(name) > maxAgentName:
			d.Problem(nil, key, "invalid agent name %q", yamlfile.Clip(name))
		case name == c.Trust.Summarizer:
			d.Problem(nil, key, "the agent summarises refused work (trust.summarizer)")
		case name == c.Questions.AnsweringAgent:
			d.Problem(nil, key, "the agent answers questions (questions.answering_agent)")
		}
	}
	i := slices.IndexFunc(c.Agents, func(a Agent) bool { return a.Name == c.Trust.Summarizer })
	if c.Trust.Summarizer == "" || i < 0 {
		return
	}
	if _, ok := c.Agents[i].Gated(); ok {
		d.Problem(nil, "trust.summarizer", "the agent %q is gated itself", c.Trust.Summarizer)
	}
}
