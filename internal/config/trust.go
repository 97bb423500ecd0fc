package config

import (
	"net/url"
	"slices"
	"strconv"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// gated marks agents and skills that do not do what everybody asks.
const gated = "gated"

// Trust says how agents and skills that are marked "trust: gated" deal with callers.
// Zero means the default that is named.
type Trust struct {
	// File says how far callers are trusted: agent-trust.json where Parley's files are
	// looked for.
	File string `yaml:"file" path:"yes"`
	// Gated are agents that are gated as a whole, wherever they are known from.
	Gated []string `yaml:"gated"`
	// Write lets the hub write the file.
	Write bool `yaml:"write"`
	// Summarizer is the agent that summarises what is not done; without one, texts are
	// shortened.
	Summarizer string `yaml:"summarizer"`
	// Refused is how a task ends that is not done: rejected.
	Refused string `yaml:"refused" enum:"rejected,completed"`
	// ApprovalTime is how long an approval is waited for: 7d.
	ApprovalTime Duration `yaml:"approval_time"`
	// NotifyURL is told of each new item of the inbox.
	NotifyURL string `yaml:"notify_url"`
	// NotifyCommand is run for each new item of the inbox.
	NotifyCommand Command `yaml:"notify_command"`
}

// Gated reports whether anything of the agent is gated; the skills are those alone that
// are, if not all of it is.
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

// checkTrust notes what is wrong with trust.
func checkTrust(d *yamlfile.Decoder, c *Config) {
	if u, err := url.Parse(c.Trust.NotifyURL); c.Trust.NotifyURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		d.Problem(nil, "trust.notify_url", "is not a URL like https://hooks.example/parley")
	}
	for i, name := range c.Trust.Gated {
		key := "trust.gated[" + strconv.Itoa(i) + "]"
		switch {
		case !agentName.MatchString(name) || len(name) > maxAgentName:
			d.Problem(nil, key, "%q is not the name of an agent", yamlfile.Clip(name))
		case name == c.Trust.Summarizer:
			d.Problem(nil, key, "the agent summarises what is not done (trust.summarizer)")
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
