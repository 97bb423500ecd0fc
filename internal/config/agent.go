package config

import (
	"cmp"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/agents/command"
)

// Variables returns the variables of an env as NAME=value, sorted.
func Variables(env map[string]string) []string {
	var all []string
	for name, value := range env {
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return all
}

// Again is the value of Agent.OnCrash for runs that may begin again.
const Again = "again"

// Executor returns the executor of a. runs is the folder for the records of its runs; see
// command.Agent.
func (a *Agent) Executor(runs string) *command.Agent {
	return &command.Agent{
		Command:    slices.Clone(a.Command),
		Dir:        a.Dir,
		Env:        Variables(a.Env),
		Timeout:    time.Duration(a.Timeout),
		Grace:      time.Duration(a.Grace),
		MaxOutput:  int64(a.MaxOutput),
		Runs:       runs,
		AfterCrash: a.afterCrash(),
		Serial:     a.Serial,
		Silence:    time.Duration(a.Silence),
	}
}

// afterCrash returns the trait for the programs of a.
func (a *Agent) afterCrash() agent.AfterCrash {
	switch {
	case !a.Idempotent:
		return agent.Fail
	case a.OnCrash == Again:
		return agent.RepeatAfterOutput
	}
	return agent.Repeat
}

// Programs reports whether a runs programs: one for all its skills, or one for each skill.
func (a *Agent) Programs() bool { return len(a.Command) > 0 || a.bySkill() }

// bySkill reports whether a skill of a has a program of its own.
func (a *Agent) bySkill() bool {
	return slices.ContainsFunc(a.Skills, func(s Skill) bool { return len(s.Command) > 0 })
}

// Executors returns an executor for each skill of a with a program of its own, or nil if a has
// one program for all. complete creates the executor of a program.
func (a *Agent) Executors(complete func(*Agent) *command.Agent) *command.BySkill {
	if !a.bySkill() {
		return nil
	}
	b := new(command.BySkill)
	for i := range a.Skills {
		one := *a
		one.Command = a.Skills[i].Command
		b.Skills, b.Agents = append(b.Skills, a.Skills[i].ID), append(b.Agents, complete(&one))
	}
	return b
}

// Card returns the complete card of a, except for its interfaces.
func (a *Agent) Card() *a2a.AgentCard {
	plain := []string{"text/plain"}
	if a.Exchange() != "" {
		plain = append(plain, "application/json") // messages on the exchange have text and data
	}
	card := &a2a.AgentCard{
		Name:               cmp.Or(a.Title, a.Name),
		Description:        cmp.Or(a.Description, "The agent "+a.Name+"."),
		Version:            cmp.Or(a.Version, "1.0.0"),
		Capabilities:       a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes:  orList(a.InputModes, plain),
		DefaultOutputModes: orList(a.OutputModes, plain),
	}
	skills := a.Skills
	if len(skills) == 0 {
		skills = []Skill{{ID: a.Name}}
	}
	for i := range skills {
		card.Skills = append(card.Skills, skills[i].card(card))
	}
	return card
}

// card returns the skill as an entry of its agent's card.
func (s *Skill) card(of *a2a.AgentCard) a2a.AgentSkill {
	return a2a.AgentSkill{
		ID:          s.ID,
		Name:        cmp.Or(s.Name, s.ID),
		Description: cmp.Or(s.Description, of.Description),
		Tags:        orList(s.Tags, []string{}),
		Examples:    slices.Clone(s.Examples),
		InputModes:  slices.Clone(s.InputModes),
		OutputModes: slices.Clone(s.OutputModes),
	}
}

// orList returns a copy of list, or of fallback if list is empty.
func orList(list, fallback []string) []string {
	if len(list) == 0 {
		list = fallback
	}
	return append(make([]string, 0, len(list)), list...)
}
