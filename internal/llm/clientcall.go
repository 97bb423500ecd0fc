package llm

import (
	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Names of the metadata with which agents let their callers perform tools.
const (
	metaCallID  = "tool_call_id"
	metaName    = "tool_name"
	metaArgs    = "tool_args"
	metaConsent = "consent_message"
	metaResult  = "tool_result"
	metaRefused = "rejected"
	metaReason  = "reason"
)

// ClientCall is a tool call for the caller of an agent to perform. It is the metadata of a part
// in a task that requires input.
type ClientCall struct {
	// ID identifies the call; it is never empty.
	ID string
	// Name is the name of the tool.
	Name string
	// Args are the arguments: a JSON value, usually an object.
	Args any
	// Consent is the question to ask a person before the caller performs the tool; empty if
	// there is none.
	Consent string
}

// Part returns the part that requests the call. Its text is the consent message.
func (c *ClientCall) Part() *a2a.Part {
	p := a2a.NewTextPart(c.Consent)
	p.Metadata = map[string]any{metaCallID: c.ID, metaName: c.Name, metaArgs: c.Args}
	if c.Consent != "" {
		p.Metadata[metaConsent] = c.Consent
	}
	return p
}

// ClientCallOf returns the call that a part requests, and whether it requests one.
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

// ClientResult is the result of a ClientCall: the metadata of a part in the caller's answer.
type ClientResult struct {
	// ID is the ID of the call.
	ID string
	// Result is the result of the tool: any JSON value. It is nil if the call was Rejected.
	Result any
	// Rejected is set if the caller did not perform the call. Reason is the reason, and may be
	// empty.
	Rejected bool
	Reason   string
}

// Part returns the part that holds the result. Its text is empty.
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
