package mock

import (
	_ "embed"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/internal/registry"
)

// Config is a file of mock agents.
type Config struct {
	// Agents are the agents, at least one. Paths without a name address the first one.
	Agents []Agent `yaml:"a2a_agents"`

	dir string // the folder of the file, the base of relative paths
}

// Agent is one scripted agent.
type Agent struct {
	// Name is the name in paths: letters, digits, dots, hyphens and underscores.
	Name string `yaml:"name"`
	// Card is the agent card in any layout. Missing members get defaults; the addresses
	// of the agent are always those of the server.
	Card map[string]any `yaml:"card"`
	// Lie is merged into the finished card, null removing a key, so that the card and the
	// wire differ. In its texts, {{url}} is the address of the server.
	Lie map[string]any `yaml:"lie"`
	// Serve are the wire shapes that the agent supports. Empty means all.
	Serve []Wire `yaml:"serve"`
	// Auth is the credential that callers must send. If nil, none is required.
	Auth *Auth `yaml:"auth"`
	// Latency is the delay of every answer.
	Latency time.Duration `yaml:"latency"`
	// Responses are the rules. The first one that matches a message answers it.
	Responses []Rule `yaml:"responses"`
	// Operations replace the answer to other calls: the key is the name of a v1.0
	// operation, such as GetTask, or AgentCard.
	Operations map[string]Reply `yaml:"operations"`
}

// Wire is a wire shape: jsonrpc, rest, v0.3, or a dialect derived from v0.3 that a part adds.
type Wire string

// SetText implements yamlfile.Scalar.
func (w *Wire) SetText(text string, _ reflect.StructTag) error {
	all := wires()
	if slices.Contains(all, text) {
		*w = Wire(text)
		return nil
	}
	if absent := registry.Absent("agents[].dialect=" + text); absent != "" {
		return errors.New(absent)
	}
	return fmt.Errorf("%q is not one of %s", yamlfile.Clip(text), strings.Join(all, ", "))
}

// wires returns all wire shapes.
func wires() []string {
	all := []string{"jsonrpc", "rest", "v0.3"}
	for _, d := range derived() {
		all = append(all, d.Name)
	}
	return all
}

// derived returns the dialects derived from v0.3 that parts add.
func derived() []*dialect.Dialect {
	return slices.DeleteFunc(slices.Clone(dialect.Added()), func(d *dialect.Dialect) bool { return d.Version != "0.3" })
}

// Auth is a credential.
type Auth struct {
	// Scheme selects how the credential is sent: as a bearer token, which is the default, or in
	// the header X-API-Key.
	Scheme string `yaml:"scheme" enum:"bearer,api_key"`
	// Token is the credential.
	Token string `yaml:"token"`
}

// Rule is a condition on messages and the answer to them. It has exactly one answer
// (Artifacts and Response together count as one) or a Fault that needs none.
type Rule struct {
	// Skill is the skill that the message must request. Empty matches every skill.
	Skill string `yaml:"skill"`
	// Match narrows the rule. If nil, every message matches.
	Match *Match `yaml:"match"`
	// Times is the number of messages that the rule answers; after that it no longer matches.
	// Zero means any number.
	Times int `yaml:"times" signed:"yes"`
	// Latency is the delay of the answer, in addition to that of the agent.
	Latency time.Duration `yaml:"latency"`

	// Response completes the task, with these parts as an artifact.
	Response *Content `yaml:"response"`
	// Artifacts are further artifacts of the completed task.
	Artifacts []Artifact `yaml:"artifacts"`
	// Message answers with a bare message, without a task.
	Message *Content `yaml:"message"`
	// Ask makes the task wait for input.
	Ask *Content `yaml:"ask"`
	// Authorize makes the task wait for authorization.
	Authorize *Content `yaml:"authorize"`
	// Error fails the task.
	Error *Content `yaml:"error"`
	// Reject rejects the task.
	Reject *Content `yaml:"reject"`
	// Steps are a script.
	Steps []Step `yaml:"steps"`
	// ProtocolError answers with an error of the protocol.
	ProtocolError *ProtocolError `yaml:"protocol_error"`
	// HTTP answers with a bare HTTP response.
	HTTP *HTTP `yaml:"http"`
	// Fault is a fault on the wire. Hang, reset and garbage replace the answer; slow,
	// truncated, wrong_dialect and wrong_id change it.
	Fault Fault `yaml:"fault" enum:"hang,reset,garbage,slow,truncated,wrong_dialect,wrong_id"`
}

// Match is a condition on a message. All fields that are set must match. The text of a message
// is the concatenation of its text parts.
type Match struct {
	// Contains must occur in the text; case is ignored.
	Contains string `yaml:"contains"`
	// Equals must be the text.
	Equals string `yaml:"equals"`
	// Regex is a regular expression (RE2) that must match somewhere in the text.
	Regex string `yaml:"regex"`
	// Data must be in a data part: an object must contain the members given here, any other
	// value must be equal. Nil matches everything.
	Data any `yaml:"data"`
	// Turn is the number of the message in its context, from 1. Zero matches every turn.
	Turn int `yaml:"turn" signed:"yes"`
	// Context is the id of the context that the message names.
	Context string `yaml:"context"`
}

// Content is the parts of a message or an artifact. In YAML, a text is short for one text part.
// In texts, the placeholders {{text}}, {{skill}}, {{turn}}, {{context}} and {{task}} are
// replaced with the values of the message being answered.
type Content struct {
	Parts []Part `yaml:"parts"`
}

// Text is the content of one text part.
func Text(s string) *Content { return &Content{Parts: []Part{{Text: s}}} }

// Part is one part: exactly one of Text, Data, Raw, File and URL.
type Part struct {
	Text string `yaml:"text"`
	// Data is any JSON value.
	Data any `yaml:"data"`
	// Raw is bytes as base64.
	Raw string `yaml:"raw"`
	// File is the path of a file to send as raw bytes. A relative path is relative to the
	// folder of the script.
	File string `yaml:"file"`
	URL  string `yaml:"url"`
	// Filename is the name of the file; if empty, the last element of File.
	Filename  string         `yaml:"filename"`
	MediaType string         `yaml:"media_type"`
	Metadata  map[string]any `yaml:"metadata"`
}

// Artifact is an artifact: its Parts at once, its Chunks one after the other, or the
// Parts first and then the Chunks.
type Artifact struct {
	// ID is the id; if empty, artifact-1 and so on.
	ID          string         `yaml:"id"`
	Name        string         `yaml:"name"`
	Description string         `yaml:"description"`
	Parts       []Part         `yaml:"parts"`
	Metadata    map[string]any `yaml:"metadata"`
	// Chunks are texts that are appended, one event each.
	Chunks []string `yaml:"chunks"`
	// Every is the time between two chunks.
	Every time.Duration `yaml:"every"`
}

// Step is one step of a script: exactly one of the fields, not counting For. A script without a
// final step completes its task.
type Step struct {
	// Wait pauses for the given time.
	Wait time.Duration `yaml:"wait"`
	// Say reports progress: the task is working.
	Say *Content `yaml:"say"`
	// Artifact adds an artifact.
	Artifact *Artifact `yaml:"artifact"`
	// Ask waits for input: the next message of the task continues with the next step.
	Ask *Content `yaml:"ask"`
	// Authorize waits for authorization, likewise.
	Authorize *Content `yaml:"authorize"`
	// For is the time after which a script continues by itself after Authorize. Zero waits
	// for a message.
	For time.Duration `yaml:"for"`
	// Complete, Fail and Reject are final.
	Complete *Content `yaml:"complete"`
	Fail     *Content `yaml:"fail"`
	Reject   *Content `yaml:"reject"`
	// Fault is injected once, for one caller that follows the task now. The task continues.
	Fault Fault `yaml:"fault" enum:"hang,reset,garbage,truncated,close"`
}

// Reply replaces the correct answer to an operation: at most one of ProtocolError, HTTP and
// Fault.
type Reply struct {
	// Latency is the delay of the answer.
	Latency time.Duration `yaml:"latency"`
	// Times is the number of calls that get the reply; zero means all.
	Times         int            `yaml:"times" signed:"yes"`
	ProtocolError *ProtocolError `yaml:"protocol_error"`
	HTTP          *HTTP          `yaml:"http"`
	Fault         Fault          `yaml:"fault" enum:"hang,reset,garbage,slow,truncated,wrong_dialect,wrong_id"`
}

// ProtocolError is an error of the protocol. In YAML, a text is short for its name.
type ProtocolError struct {
	// Name is the error of the specification, such as TaskNotFound; case, underscores and the
	// ending "Error" are ignored.
	Name string `yaml:"name"`
	// Code is a JSON-RPC code that replaces the code of the named error. Zero keeps it.
	Code int `yaml:"code" signed:"yes"`
	// Message is the text; if empty, that of the named error.
	Message string `yaml:"message"`
	// RetryAfter is the time after which the caller should retry; zero sends none.
	RetryAfter time.Duration `yaml:"retry_after"`
}

// HTTP is a bare HTTP response, as a proxy might send it. In YAML, a number is short for its
// status.
type HTTP struct {
	// Status is the status, 200 to 599.
	Status int `yaml:"status" signed:"yes"`
	// Header are additional headers.
	Header map[string]string `yaml:"header"`
	Body   string            `yaml:"body"`
}

// Fault is a failure on the wire.
type Fault string

// The faults.
const (
	// Hang sends nothing until the caller disconnects or the server ends.
	Hang Fault = "hang"
	// Reset aborts the connection.
	Reset Fault = "reset"
	// Garbage sends bytes that are not JSON.
	Garbage Fault = "garbage"
	// Slow sends the correct answer in small pieces with pauses.
	Slow Fault = "slow"
	// Truncated sends half of the answer and closes the connection.
	Truncated Fault = "truncated"
	// WrongDialect sends the answer in the shape of another version.
	WrongDialect Fault = "wrong_dialect"
	// WrongID sends the answer with the id of another JSON-RPC request.
	WrongID Fault = "wrong_id"
	// Close ends a stream normally although its task has not ended.
	Close Fault = "close"
)
