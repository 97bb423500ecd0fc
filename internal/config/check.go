package config

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/agent/builtin"
)

// agentName is what a hub calls an agent in paths without changing a letter.
var agentName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

const (
	maxAgentName = 64
	// reservedName stands in paths where the name of an agent could stand.
	reservedName = "tasks"
)

// check notes what is wrong with c as a whole.
func check(d *decoder, c *Config) {
	checkAddress(d, "listen", c.Listen)
	checkAddress(d, "grpc_listen", c.GRPCListen)
	checkURL(d, "public_url", c.PublicURL)
	for i := range c.Agents {
		checkAgent(d, "agents["+strconv.Itoa(i)+"]", &c.Agents[i])
	}
	checkUnique(d, c)
	checkDefault(d, c)
	checkPush(d, &c.Push)
	checkAuth(d, &c.Auth)
	checkExtended(d, c)
	checkRates(d, &c.Limits)
}

func checkRates(d *decoder, l *Limits) {
	if l.Burst > 0 && l.RequestsPerSecond == 0 {
		d.problem(nil, "limits.burst", "says nothing without limits.requests_per_second")
	}
}

func checkAddress(d *decoder, key, address string) {
	if address == "" {
		return
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		d.problem(nil, key, "%q is not an address like 127.0.0.1:4100", clip(address))
	}
}

func checkURL(d *decoder, key, text string) {
	if text == "" {
		return
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		d.problem(nil, key, "%q is not a URL like https://hub.example", clip(text))
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		d.problem(nil, key, "the URL must have no user, query or fragment")
	}
}

func checkAgent(d *decoder, key string, a *Agent) {
	switch {
	case a.Name == "":
		d.problem(nil, key+".name", "is missing")
	case !agentName.MatchString(a.Name) || len(a.Name) > maxAgentName:
		d.problem(nil, key+".name", "%q is not a name of at most %d small letters and digits with single dashes between them", clip(a.Name), maxAgentName)
	case a.Name == reservedName:
		d.problem(nil, key+".name", "%q is reserved", a.Name)
	}
	if len(a.Command) == 0 || a.Command[0] == "" {
		d.problem(nil, key+".command", "is missing")
	}
	for name := range a.Env {
		if !isName(name) {
			d.problem(nil, key+".env", "%q is not the name of a variable", clip(name))
		}
	}
	checkModes(d, key, a.InputModes, a.OutputModes)
	checkSkills(d, key, a.Skills)
}

func checkSkills(d *decoder, agent string, skills []Skill) {
	seen := make(map[string]bool)
	for i := range skills {
		s, key := &skills[i], agent+".skills["+strconv.Itoa(i)+"]"
		switch {
		case s.ID == "":
			d.problem(nil, key+".id", "is missing")
		case seen[s.ID]:
			d.problem(nil, key+".id", "the agent has another skill %q", s.ID)
		}
		seen[s.ID] = true
		checkModes(d, key, s.InputModes, s.OutputModes)
	}
}

func checkModes(d *decoder, key string, in, out []string) {
	check := func(key string, modes []string) {
		for i, m := range modes {
			if kind, sub, _ := strings.Cut(m, "/"); kind == "" || sub == "" {
				d.problem(nil, key+"["+strconv.Itoa(i)+"]", "%q is not a media type like text/plain", clip(m))
			}
		}
	}
	check(key+".inputModes", in)
	check(key+".outputModes", out)
}

func checkUnique(d *decoder, c *Config) {
	seen := make(map[string]int)
	for i := range c.Agents {
		name := c.Agents[i].Name
		if first, ok := seen[name]; ok && name != "" {
			d.problem(nil, "agents["+strconv.Itoa(i)+"].name", "agents[%d] has the name %q, too", first, name)
			continue
		}
		seen[name] = i
	}
}

func checkDefault(d *decoder, c *Config) {
	var names []string
	for i := range c.Agents {
		names = append(names, c.Agents[i].Name)
	}
	if c.Builtin() {
		for _, a := range builtin.Agents() {
			names = append(names, string(a.Name))
		}
	}
	if c.DefaultAgent != "" && !slices.Contains(names, c.DefaultAgent) {
		d.problem(nil, "default_agent", "there is no agent %q", clip(c.DefaultAgent))
	}
}
