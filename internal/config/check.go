package config

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/registry"
	"github.com/parley-a2a/parley/internal/trust"
)

// IsAgentName reports whether a name may be that of an agent in addresses.
func IsAgentName(name string) bool { return agentName.MatchString(name) }

// agentName matches agent names that the hub uses unchanged in paths.
var agentName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

const (
	maxAgentName = 64
	// reservedName has a fixed meaning in paths and cannot be an agent's name.
	reservedName = "tasks"
)

// check reports problems of c as a whole.
func check(d *yamlfile.Decoder, c *Config) {
	checkAddress(d, "listen", c.Listen)
	checkAddress(d, "grpc_listen", c.GRPCListen)
	checkURL(d, "public_url", c.PublicURL)
	checkHosts(d, c.AllowedHosts)
	for i := range c.Agents {
		key := "agents[" + strconv.Itoa(i) + "]"
		checkAgent(d, key, &c.Agents[i])
		checkKind(d, key, &c.Agents[i], c.Builtin())
	}
	checkUnique(d, c)
	checkDefault(d, c)
	checkPush(d, &c.Push)
	checkMemory(d, &c.Memory)
	checkAuth(d, &c.Auth)
	checkTokens(d, &c.Auth)
	checkTLS(d, &c.TLS)
	checkCertificates(d, &c.Auth)
	checkPolicy(d, &c.Policy)
	checkRoles(d, c)
	checkCards(d, &c.Cards)
	checkIdentities(d, c)
	checkParts(d, &c.Parts)
	checkAudit(d, &c.Audit)
	checkExtended(d, c)
	if c.Limits.Burst > 0 && c.Limits.RequestsPerSecond == 0 {
		d.Problem(nil, "limits.burst", "has no effect without limits.requests_per_second")
	}
	checkDirectory(d, c)
	checkMCP(d, c)
	checkBus(d, c)
	checkStore(d, c)
	checkModels(d, c)
	checkTrust(d, c)
	checkFrontDesk(d, &c.FrontDesk)
	checkTraceURL(d, c.Telemetry.TraceURL)
	checkQuestions(d, c)
	for _, added := range registry.Added[Check]() {
		added(d, c)
	}
}

func checkQuestions(d *yamlfile.Decoder, c *Config) {
	q := &c.Questions
	if q.AnsweringAgent == "" {
		if q.Script != "" {
			d.Problem(nil, "questions.script", "needs questions.answering_agent, the name of the agent that it is for")
		}
	} else if !agentName.MatchString(q.AnsweringAgent) || len(q.AnsweringAgent) > maxAgentName {
		d.Problem(nil, "questions.answering_agent", "invalid agent name %q", yamlfile.Clip(q.AnsweringAgent))
	}
	for i := range c.Agents {
		a := &c.Agents[i]
		if q.Script != "" && a.Name == q.AnsweringAgent {
			d.Problem(nil, "agents["+strconv.Itoa(i)+"].name", "%q is the agent of questions.script", yamlfile.Clip(a.Name))
		}
		if _, ok := a.Gated(); ok && a.Name == q.AnsweringAgent {
			d.Problem(nil, "questions.answering_agent", "the agent %q is gated itself", yamlfile.Clip(a.Name))
		}
	}
	desk := c.Responder()
	desk.Inbox, desk.Trust = new(inbox.Inbox), new(trust.Registry) // every hub has them
	if err := desk.Check(); err != nil {
		d.Problem(nil, "questions", "%s", strings.TrimPrefix(err.Error(), "questions: "))
	}
}

func checkAddress(d *yamlfile.Decoder, key, address string) {
	if address == "" {
		return
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		d.Problem(nil, key, "%q is not an address like 127.0.0.1:4100", yamlfile.Clip(address))
	}
}

func checkHosts(d *yamlfile.Decoder, hosts []string) {
	for i, host := range hosts {
		if u, err := url.Parse("http://" + host); err != nil || u.Host != host || u.Hostname() == "" || strings.Contains(host, "*") {
			d.Problem(nil, "allowed_hosts["+strconv.Itoa(i)+"]", "%q is not a host like hub.example or hub.example:8443", yamlfile.Clip(host))
		}
	}
}

func checkURL(d *yamlfile.Decoder, key, text string) {
	if text == "" {
		return
	}
	u, err := url.Parse(text)
	switch {
	case strings.Contains(text, "@") && (err != nil || u.User != nil): // text may contain a password
		d.Problem(nil, key, "is not a URL like https://hub.example: it must have no user")
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		d.Problem(nil, key, "%q is not a URL like https://hub.example", yamlfile.Clip(text))
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		d.Problem(nil, key, "the URL must have no user, query or fragment")
	}
}

// checkTraceURL reports a template without {trace_id}, and one that is no URL once the id is filled in.
func checkTraceURL(d *yamlfile.Decoder, template string) {
	const key, place = "telemetry.trace_url", "{trace_id}"
	if template == "" {
		return
	}
	u, err := url.Parse(strings.ReplaceAll(template, place, "0123456789abcdef"))
	switch {
	case strings.Contains(template, "@") && (err != nil || u.User != nil): // it may contain a password
		d.Problem(nil, key, "must have no user")
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		d.Problem(nil, key, "%q is not a URL like https://traces.example/trace/{trace_id}", yamlfile.Clip(template))
	case strings.Contains(u.Host, "0123456789abcdef"):
		d.Problem(nil, key, "the host must not contain {trace_id}")
	case !strings.Contains(template, place):
		d.Problem(nil, key, "must contain {trace_id}, the place of the id")
	}
}

// checkAgentURL is checkURL for the address of an agent or of its card, which may have a query.
func checkAgentURL(d *yamlfile.Decoder, key, text string) {
	base, query, _ := strings.Cut(text, "?")
	if strings.Contains(query, "#") {
		d.Problem(nil, key, "the URL must have no fragment")
		return
	}
	checkURL(d, key, base)
}

func checkAgent(d *yamlfile.Decoder, key string, a *Agent) {
	switch {
	case a.Name == "":
		d.Problem(nil, key+".name", "is missing")
	case !agentName.MatchString(a.Name) || len(a.Name) > maxAgentName:
		d.Problem(nil, key+".name", "invalid name %q: use at most %d lowercase letters, digits and single dashes", yamlfile.Clip(a.Name), maxAgentName)
	case a.Name == reservedName:
		d.Problem(nil, key+".name", "%q is reserved", a.Name)
	}
	if !isTitle(a.Title) {
		d.Problem(nil, key+".title", "invalid title %q: use at most %d characters on one line", yamlfile.Clip(a.Title), maxTitle)
	}
	checkVariables(d, key+".env", a.Env)
	checkModes(d, key, a.InputModes, a.OutputModes)
	checkSkills(d, key, a.Skills)
}

func checkVariables(d *yamlfile.Decoder, key string, env map[string]string) {
	for name := range env {
		if !yamlfile.IsVariable(name) {
			d.Problem(nil, key, "invalid variable name %q", yamlfile.Clip(name))
		}
	}
}

// maxTitle is the largest number of characters of a title.
const maxTitle = 200

// isTitle reports whether a title is empty, or fits on one line of a card.
func isTitle(s string) bool {
	return strings.TrimSpace(s) == s && utf8.RuneCountInString(s) <= maxTitle && !strings.ContainsFunc(s, unicode.IsControl)
}

func checkSkills(d *yamlfile.Decoder, agent string, skills []Skill) {
	seen := make(map[string]bool)
	for i := range skills {
		s, key := &skills[i], agent+".skills["+strconv.Itoa(i)+"]"
		switch {
		case s.ID == "":
			d.Problem(nil, key+".id", "is missing")
		case seen[s.ID]:
			d.Problem(nil, key+".id", "duplicate skill %q", s.ID)
		}
		seen[s.ID] = true
		checkModes(d, key, s.InputModes, s.OutputModes)
	}
}

func checkModes(d *yamlfile.Decoder, key string, in, out []string) {
	check := func(key string, modes []string) {
		for i, m := range modes {
			if kind, sub, _ := strings.Cut(m, "/"); kind == "" || sub == "" {
				d.Problem(nil, key+"["+strconv.Itoa(i)+"]", "%q is not a media type like text/plain", yamlfile.Clip(m))
			}
		}
	}
	check(key+".inputModes", in)
	check(key+".outputModes", out)
}

func checkUnique(d *yamlfile.Decoder, c *Config) {
	seen := make(map[string]int)
	for i := range c.Agents {
		name := c.Agents[i].Name
		if first, ok := seen[name]; ok && name != "" {
			d.Problem(nil, "agents["+strconv.Itoa(i)+"].name", "agents[%d] also has the name %q", first, name)
			continue
		}
		seen[name] = i
	}
}

func checkDefault(d *yamlfile.Decoder, c *Config) {
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
		d.Problem(nil, "default_agent", "unknown agent %q", yamlfile.Clip(c.DefaultAgent))
	}
}
