package bus

import (
	"encoding/json"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/json/structjson"
	"github.com/parley-a2a/parley/task"
)

// sizeAround is the approximate size of an envelope's members without its body.
const sizeAround = 640

// envelopes lists the members of an Envelope, in agreement with its tags.
var envelopes = structjson.Of(
	structjson.Int("v", func(e *Envelope) *int { return &e.Version }).Always(),
	structjson.Text("id", func(e *Envelope) *string { return &e.ID }).Always(),
	structjson.Text("type", func(e *Envelope) *Type { return &e.Type }).Always(),
	structjson.Int("time", func(e *Envelope) *task.Millis { return &e.Time }).Always(),
	structjson.Text("source", func(e *Envelope) *string { return &e.Source }).Always(),
	structjson.Text("destination", func(e *Envelope) *string { return &e.Destination }),
	structjson.Text("replyTo", func(e *Envelope) *string { return &e.ReplyTo }),
	structjson.Text("correlation", func(e *Envelope) *string { return &e.Correlation }),
	structjson.Text("task", func(e *Envelope) *string { return &e.Task }),
	structjson.Text("owner", func(e *Envelope) *task.Owner { return &e.Owner }),
	structjson.Int("epoch", func(e *Envelope) *int64 { return &e.Epoch }),
	structjson.Int("seq", func(e *Envelope) *int64 { return &e.Seq }),
	structjson.Int("deadline", func(e *Envelope) *task.Millis { return &e.Deadline }),
	structjson.Texts("chain", func(e *Envelope) *[]string { return &e.Chain }),
	structjson.Struct("principal", principals, func(e *Envelope) **auth.Principal { return &e.Principal }),
	structjson.Text("label", func(e *Envelope) *string { return &e.Label }),
	structjson.Map("trace", func(e *Envelope) *map[string]string { return &e.Trace }),
	structjson.Text("contentType", func(e *Envelope) *string { return &e.ContentType }),
	structjson.Text("reason", func(e *Envelope) *string { return &e.Reason }),
	structjson.Text("queue", func(e *Envelope) *string { return &e.Queue }),
	structjson.Struct("signature", signatures, func(e *Envelope) **Signature { return &e.Signature }),
	structjson.Raw("body", func(e *Envelope) *json.RawMessage { return &e.Body }),
)

var principals = structjson.Of(
	structjson.Text("id", func(p *auth.Principal) *string { return &p.ID }).Always(),
	structjson.Text("displayName", func(p *auth.Principal) *string { return &p.DisplayName }),
	structjson.Text("org", func(p *auth.Principal) *string { return &p.Org }),
	structjson.Texts("orgs", func(p *auth.Principal) *[]string { return &p.Orgs }),
	structjson.Texts("roles", func(p *auth.Principal) *[]string { return &p.Roles }),
	structjson.Map("claims", func(p *auth.Principal) *map[string]string { return &p.Claims }),
)

var signatures = structjson.Of(
	structjson.Text("key", func(s *Signature) *string { return &s.Key }).Always(),
	structjson.Bytes("value", func(s *Signature) *[]byte { return &s.Value }).Always(),
)
