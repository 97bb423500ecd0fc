package llm

import (
	"github.com/a2aproject/a2a-go/v2/a2a"
)

// The names of metadata with which agents of PromptKit let their callers perform tools.
const (
	metaCallID  = "tool_call_id"
	metaName    = "tool_name"
	metaArgs    = "tool_args"
	metaConsent = "consent_message"
	metaResult  = "tool_result"
	metaRefused = "rejected"
	metaReason  = "reason"
)

// ClientCall is a call of a tool that an agent wants its caller to perform: the metadata of
// a part in a task that requires input.
type ClientCall struct {
	// ID names the call; it is never empty.
	ID string
	// Name is the tool.
	Name string
	// Args are the arguments: a JSON value, usually an object.
	Args any
	// Consent is what to ask a person before the tool is performed; empty for nothing.
	Consent string
}

// Part returns the part that asks for the call. Its text is the consent message.
func (c *ClientCall) Part() *a2a.Part {
	p := a2a.NewTextPart(c.Consent)
	p.Metadata = map[string]any{metaCallID: c.ID, metaName: c.Name, metaArgs: c.Args}
	if c.Consent != "" {
		p.Metadata[metaConsent] = c.Consent
	}
	return p
}

// ClientCallOf returns the call that a part asks for, and whether it asks for one.
func ClientCallOf(p *a2a.Part) (*ClientCall, bool) {
	if p == nil {
		return nil, false
	}
	id, _ := p.Metadata[metaCallID].(string)
	name, _ := p.Metadata[metaName].(string)
	if id == "" || name == "" {
		return nil, false
	}
	c := &ClientCall{ID: id, Name: name, Args: p.Metadata[metaArgs]}
	c.Consent, _ = p.Metadata[metaConsent].(string)
	return c, true
}

// ClientResult is what came of a ClientCall: the metadata of a part in the caller's answer.
type ClientResult struct {
	// ID is that of the call.
	ID string
	// Result is what the tool gave: any JSON value. It is nil if the call was Rejected.
	Result any
	// Rejected says that the caller did not perform the call, Reason why; it may be empty.
	Rejected bool
	Reason   string
}

// Part returns the part that answers the call, whose text is empty.
func (r *ClientResult) Part() *a2a.Part {
	p := a2a.NewTextPart("")
	p.Metadata = map[string]any{metaCallID: r.ID}
	if !r.Rejected {
		p.Metadata[metaResult] = r.Result
		return p
	}
	p.Metadata[metaRefused] = true
	if r.Reason != "" {
		p.Metadata[metaReason] = r.Reason
	}
	return p
}

// ClientResultOf returns the result that a part holds, and whether it holds one.
func ClientResultOf(p *a2a.Part) (*ClientResult, bool) {
	if p == nil {
		return nil, false
	}
	id, _ := p.Metadata[metaCallID].(string)
	result, has := p.Metadata[metaResult]
	rejected, _ := p.Metadata[metaRefused].(bool)
	if id == "" || !has && !rejected {
		return nil, false
	}
	r := &ClientResult{ID: id, Rejected: rejected}
	if rejected {
		r.Reason, _ = p.Metadata[metaReason].(string)
	} else {
		r.Result = result
	}
	return r, true
}
