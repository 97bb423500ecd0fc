package mock

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
)

// object is a JSON object. Objects are not changed once another goroutine may see them.
type object = map[string]any

// agent is a compiled agent.
type agent struct {
	name      string
	card, lie object
	serve     map[string]bool
	auth      *Auth
	latency   time.Duration
	streaming bool
	rules     []*rule
	replies   map[string]*reply
}

// rule is a compiled rule.
type rule struct {
	number  int // from 1
	skill   string
	match   *matcher
	limited bool
	left    int // remaining uses, if it is limited; guarded by state
	latency time.Duration
	script  []step
	message []object // parts of a bare message
	reply
}

// reply is an answer that needs no task, with its latency and its fault.
type reply struct {
	limited bool
	left    int // guarded by state
	latency time.Duration
	err     error
	http    *HTTP
	fault   Fault
}

// step is one step of a script.
type step struct {
	kind     stepKind
	wait     time.Duration
	parts    []object
	artifact object // without parts
	chunks   []string
	fault    Fault
}

type stepKind uint8

const (
	stepWait stepKind = iota
	stepSay
	stepArtifact
	stepAsk
	stepAuthorize
	stepComplete
	stepFail
	stepReject
	stepFault
)

type reporter func(key, format string, args ...any)

// compile compiles the agents of a configuration. The caller must not use them if it reports a
// problem.
func compile(c *Config, report reporter) []*agent {
	if len(c.Agents) == 0 {
		report("a2a_agents", "must have at least one agent")
	}
	cc := &compiler{dir: c.dir, report: report}
	var agents []*agent
	for i := range c.Agents {
		key := "a2a_agents[" + strconv.Itoa(i) + "]"
		a := cc.agent(&c.Agents[i], key)
		if slices.ContainsFunc(agents, func(b *agent) bool { return a.name != "" && b.name == a.name }) {
			report(key+".name", "%q is the name of two agents", a.name)
		}
		agents = append(agents, a)
	}
	return agents
}

type compiler struct {
	dir    string
	report reporter
}

var agentName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// reserved are path segments with a fixed meaning, which agents cannot have as names.
var reserved = []string{"tasks", "a2a", "extendedAgentCard"}

func (c *compiler) agent(in *Agent, key string) *agent {
	a := &agent{name: in.Name, serve: map[string]bool{}, auth: in.Auth, latency: in.Latency, streaming: true, replies: map[string]*reply{}}
	switch {
	case in.Name == "":
		c.report(key+".name", "is missing")
	case !agentName.MatchString(in.Name) || slices.Contains(reserved, in.Name):
		c.report(key+".name", "%q cannot be a name: use letters, digits, dots, hyphens and underscores, and none of %s",
			clip(in.Name), strings.Join(reserved, ", "))
	}
	if in.Auth != nil && in.Auth.Token == "" {
		c.report(key+".auth.token", "is missing")
	}
	for _, s := range in.Serve {
		a.serve[string(s)] = true
	}
	a.card, a.lie = c.free(in.Card, key+".card"), c.free(in.Lie, key+".lie")
	if caps, ok := a.card["capabilities"].(object); ok && caps["streaming"] == false {
		a.streaming = false
	}
	if in.Latency < 0 {
		c.report(key+".latency", "must not be negative")
	}
	for i := range in.Responses {
		r := c.rule(&in.Responses[i], key+".responses["+strconv.Itoa(i)+"]")
		r.number = i + 1
		a.rules = append(a.rules, r)
	}
	c.operations(a, in.Operations, key+".operations")
	return a
}

// agentCard is the name of the request for the card among the operations.
const agentCard = "AgentCard"

func (c *compiler) operations(a *agent, in map[string]Reply, key string) {
	for name, r := range in {
		at := key + "." + name
		if _, ok := operationNamed(name); !ok && name != agentCard {
			c.report(at, "is not an operation; use the names of v1.0, such as GetTask, or %s", agentCard)
			continue
		}
		got := &reply{limited: r.Times > 0, left: r.Times, latency: r.Latency}
		c.reply(got, r.ProtocolError, r.HTTP, at)
		got.fault = r.Fault
		if n := count(r.ProtocolError, r.HTTP) + bit(r.Fault != ""); n > 1 {
			c.report(at, "has more than one of protocol_error, http and fault")
		}
		if r.Times < 0 || r.Latency < 0 {
			c.report(at, "times and latency must not be negative")
		}
		a.replies[name] = got
	}
}

// reply compiles the two answers that need no task.
func (c *compiler) reply(r *reply, p *ProtocolError, h *HTTP, key string) {
	if p != nil {
		err, problem := p.compile()
		if problem != "" {
			c.report(key+".protocol_error", "%s", problem)
			return
		}
		r.err = err
	}
	if h != nil {
		r.http = h
		if h.Status < http.StatusOK || h.Status > 599 {
			c.report(key+".http", "%d is not a status from 200 to 599", h.Status)
		}
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// count returns how many pointers are not nil.
func count(pointers ...any) int {
	n := 0
	for _, p := range pointers {
		n += bit(!reflect.ValueOf(p).IsNil())
	}
	return n
}

func (c *compiler) rule(in *Rule, key string) *rule {
	r := &rule{skill: in.Skill, limited: in.Times > 0, left: in.Times, latency: in.Latency}
	if in.Times < 0 || in.Latency < 0 {
		c.report(key, "times and latency must not be negative")
	}
	r.match = c.match(in.Match, key+".match")
	c.reply(&r.reply, in.ProtocolError, in.HTTP, key)
	r.fault = in.Fault
	n := count(in.Message, in.Ask, in.Authorize, in.Error, in.Reject, in.ProtocolError, in.HTTP) +
		bit(in.Response != nil || len(in.Artifacts) > 0) + bit(len(in.Steps) > 0)
	shapes := slices.Contains([]Fault{Slow, Truncated, WrongDialect, WrongID}, in.Fault)
	switch {
	case n > 1:
		c.report(key, "has more than one answer")
	case n == 1 && in.Fault != "" && !shapes:
		c.report(key+".fault", "%s comes instead of an answer; take the answer out, or put the fault among its steps", in.Fault)
	case n == 0 && (in.Fault == "" || shapes):
		c.report(key, "has no answer; give it one of response, artifacts, message, ask, authorize, error, reject, steps, protocol_error, http, or a fault that needs none")
	}
	if in.Message != nil {
		r.message = c.content(in.Message, key+".message")
	}
	r.script = c.script(in, key)
	return r
}

func (c *compiler) script(in *Rule, key string) []step {
	var out []step
	if in.Response != nil {
		out = append(out, step{kind: stepArtifact, artifact: object{}, parts: c.content(in.Response, key+".response")})
	}
	for i := range in.Artifacts {
		out = append(out, c.artifact(&in.Artifacts[i], key+".artifacts["+strconv.Itoa(i)+"]"))
	}
	for _, end := range []struct {
		name string
		kind stepKind
		with *Content
	}{{"ask", stepAsk, in.Ask}, {"authorize", stepAuthorize, in.Authorize}, {"error", stepFail, in.Error}, {"reject", stepReject, in.Reject}} {
		if end.with != nil {
			return append(out, step{kind: end.kind, parts: c.content(end.with, key+"."+end.name)})
		}
	}
	for i := range in.Steps {
		out = append(out, c.step(&in.Steps[i], key+".steps["+strconv.Itoa(i)+"]"))
		if last := out[i].kind; last >= stepComplete && last <= stepReject && i < len(in.Steps)-1 {
			c.report(key+".steps["+strconv.Itoa(i+1)+"]", "comes after the step that ends the task")
		}
	}
	return out
}

func (c *compiler) step(in *Step, key string) step {
	if n := count(in.Say, in.Artifact, in.Ask, in.Authorize, in.Complete, in.Fail, in.Reject) + bit(in.Wait != 0) + bit(in.Fault != ""); n != 1 {
		c.report(key, "must be exactly one of wait, say, artifact, ask, authorize, complete, fail, reject, fault")
	}
	if in.For != 0 && in.Authorize == nil {
		c.report(key+".for", "belongs to authorize")
	}
	if in.Wait < 0 || in.For < 0 {
		c.report(key, "must not be negative")
	}
	switch {
	case in.Artifact != nil:
		return c.artifact(in.Artifact, key+".artifact")
	case in.Fault != "":
		return step{kind: stepFault, fault: in.Fault}
	}
	for _, s := range []struct {
		name string
		kind stepKind
		with *Content
	}{
		{"say", stepSay, in.Say},
		{"ask", stepAsk, in.Ask},
		{"authorize", stepAuthorize, in.Authorize},
		{"complete", stepComplete, in.Complete},
		{"fail", stepFail, in.Fail},
		{"reject", stepReject, in.Reject},
	} {
		if s.with != nil {
			return step{kind: s.kind, wait: in.For, parts: c.content(s.with, key+"."+s.name)}
		}
	}
	return step{kind: stepWait, wait: in.Wait}
}

func (c *compiler) artifact(in *Artifact, key string) step {
	a := object{}
	for name, v := range map[string]string{"artifactId": in.ID, "name": in.Name, "description": in.Description} {
		if v != "" {
			a[name] = v
		}
	}
	if m := c.free(in.Metadata, key+".metadata"); m != nil {
		a["metadata"] = m
	}
	if len(in.Parts)+len(in.Chunks) == 0 {
		c.report(key, "needs parts or chunks")
	}
	if in.Every < 0 {
		c.report(key+".every", "must not be negative")
	}
	return step{kind: stepArtifact, wait: in.Every, artifact: a, parts: c.parts(in.Parts, key), chunks: in.Chunks}
}

func (c *compiler) content(in *Content, key string) []object {
	if len(in.Parts) == 0 {
		c.report(key, "needs parts")
	}
	return c.parts(in.Parts, key)
}

func (c *compiler) parts(in []Part, key string) []object {
	out := make([]object, 0, len(in))
	for i := range in {
		out = append(out, c.part(&in[i], key+".parts["+strconv.Itoa(i)+"]"))
	}
	return out
}

// part converts a part into v1.0 JSON. An empty part becomes an empty text.
func (c *compiler) part(in *Part, key string) object {
	n := bit(in.Text != "") + bit(in.Data != nil) + bit(in.Raw != "") + bit(in.File != "") + bit(in.URL != "")
	if n > 1 {
		c.report(key, "must be only one of text, data, raw, file and url")
	}
	p := object{}
	for name, v := range map[string]string{"filename": in.Filename, "mediaType": in.MediaType} {
		if v != "" {
			p[name] = v
		}
	}
	if m := c.free(in.Metadata, key+".metadata"); m != nil {
		p["metadata"] = m
	}
	switch {
	case in.Data != nil:
		p["data"] = c.json(in.Data, key+".data")
	case in.Raw != "":
		if _, err := base64.StdEncoding.DecodeString(in.Raw); err != nil {
			c.report(key+".raw", "is not base64: %v", err)
		}
		p["raw"] = in.Raw
	case in.File != "":
		c.file(p, in.File, key+".file")
	case in.URL != "":
		p["url"] = in.URL
	default:
		p["text"] = in.Text
	}
	return p
}

// maxPartFile bounds the size of a file that is sent as a part.
const maxPartFile = 4 << 20

func (c *compiler) file(p object, path, key string) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.dir, path)
	}
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxPartFile) {
		err = fmt.Errorf("%s is not a file of at most %d bytes", path, maxPartFile)
	}
	var b []byte
	if err == nil {
		b, err = os.ReadFile(path)
	}
	if err != nil {
		c.report(key, "%v", err)
	}
	p["raw"] = base64.StdEncoding.EncodeToString(b)
	if p["filename"] == nil {
		p["filename"] = filepath.Base(path)
	}
}

// free returns a copy of m as a JSON object, or nil if m is nil.
func (c *compiler) free(m map[string]any, key string) object {
	if m == nil {
		return nil
	}
	o, _ := c.json(m, key).(object)
	return o
}

// maxDepth is the largest nesting depth of a value.
const maxDepth = 64

// json returns a copy of v as a JSON value, keeping the digits of numbers.
func (c *compiler) json(v any, key string) any {
	b, err := json.Marshal(v)
	if err == nil {
		err = a2ajson.Check(b, maxDepth+2)
	}
	if err != nil {
		c.report(key, "cannot be written as JSON: %v", err)
		return nil
	}
	got, err := decodeJSON(b)
	if err != nil {
		c.report(key, "cannot be written as JSON: %v", err)
	}
	return got
}

// decodeJSON decodes exactly one JSON value, keeping the digits of numbers.
func decodeJSON(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("there is more than one value")
	}
	return v, nil
}
