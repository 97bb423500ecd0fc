package hubtools

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
)

// maxResponse is the largest size of a shown response in bytes.
const maxResponse = 64 << 10

// call performs the tool of a skill.
func (b *Bridge) call(ctx context.Context, o *skillTool, f *form, c *llm.Call) (*llm.Result, error) {
	args := new(skillArgs)
	meta, wrong := f.read(c.Arguments, args)
	if wrong != "" {
		return problem("%s", wrong), nil
	}
	for _, name := range reserved {
		if _, there := meta[name.(string)]; there {
			return problem("The argument %q is not for you to set: the tool names its skill itself.", name), nil
		}
	}
	parts, wrong := o.parts(args)
	if wrong != "" {
		return problem("%s", wrong), nil
	}
	t := newTalk(b.Source, c, &hubclient.Send{
		Agent: o.agent.Name, Skill: o.skill.ID, Parts: parts, Metadata: meta, Wait: cmp.Or(b.Timeout, timeoutDefault), Abort: true,
		ContextID: args.ContextID, TaskID: args.TaskID, Session: b.Box.SessionID(), Key: b.Box.Key(o.name, c),
	})
	sent, err := t.run(ctx)
	if err != nil {
		return failed(b.Box.Guard, o.name, err)
	}
	r := b.result(sent)
	r.Question = t.question
	return r, nil
}

// parts returns the content of the message to the agent, or a description of the mistake.
func (o *skillTool) parts(args *skillArgs) ([]*a2a.Part, string) {
	parts := []*a2a.Part{a2a.NewTextPart(args.Query)}
	if address := args.ImageURL; address != "" {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			return nil, `The argument "image_url" must be a URL that begins with https:// or http://.`
		}
		kind := mime.TypeByExtension(path.Ext(u.Path))
		if !strings.HasPrefix(kind, "image/") {
			kind = o.concrete("image/")
		}
		parts = append(parts, a2a.NewFileURLPart(a2a.URL(address), kind))
	}
	for _, m := range []struct{ name, text, kind string }{{"image_data", args.ImageData, "image/"}, {"audio_data", args.AudioData, "audio/"}} {
		if m.text == "" {
			continue
		}
		raw, kind, ok := decode(m.text)
		if !ok {
			return nil, fmt.Sprintf("The argument %q must be base64, or a data URL such as data:%spng;base64,….", m.name, m.kind)
		}
		if !strings.HasPrefix(kind, m.kind) {
			if kind = http.DetectContentType(raw); !strings.HasPrefix(kind, m.kind) {
				kind = o.concrete(m.kind)
			}
		}
		p := a2a.NewRawPart(raw)
		p.MediaType = kind
		parts = append(parts, p)
	}
	return parts, ""
}

// concrete returns a media type of the skill with the prefix kind, or kind with a wildcard.
func (o *skillTool) concrete(kind string) string {
	for _, m := range o.modes() {
		if m = strings.ToLower(m); strings.HasPrefix(m, kind) && m != kind+"*" {
			return m
		}
	}
	return kind + "*"
}

// decode decodes base64 or a data URL.
func decode(text string) (raw []byte, mediaType string, ok bool) {
	if rest, found := strings.CutPrefix(text, "data:"); found {
		head, body, found := strings.Cut(rest, ",")
		mediaType, _, _ = strings.Cut(head, ";")
		if !found || !strings.HasSuffix(head, ";base64") {
			return nil, "", false
		}
		text = body
	}
	text = strings.TrimRight(strings.Join(strings.Fields(text), ""), "=")
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if raw, err := e.DecodeString(text); err == nil && len(raw) > 0 {
			return raw, strings.ToLower(mediaType), true
		}
	}
	return nil, "", false
}

// result returns the result of a message in the form for a model.
func (b *Bridge) result(s *hubclient.Sent) *llm.Result {
	author, reply := guard.Agent(s.Agent), s.Reply()
	if len(reply) > maxResponse {
		reply = strings.ToValidUTF8(reply[:maxResponse], "") + "…"
	}
	if reply != "" {
		reply = b.Box.Guard.Quote(author, reply).Text
	}
	v := map[string]any{"response": reply}
	r := &llm.Result{Parts: []*a2a.Part{a2a.NewDataPart(v)}}
	if t := s.Task; t != nil {
		if guard.IsName(t.ContextID) {
			v["context_id"] = t.ContextID
		}
		if state := t.Status.State; state != a2a.TaskStateCompleted {
			v["state"] = client.StateName(state)
			if guard.IsName(string(t.ID)) {
				v["task_id"] = string(t.ID)
			}
			v["next"], r.Error = nextOf(state)
		}
	}
	for _, p := range s.Parts() {
		link, isLink := p.Content.(a2a.URL)
		raw, isRaw := p.Content.(a2a.Raw)
		if !isLink && (!isRaw || len(raw) == 0) {
			continue
		}
		if len(r.Files) == 0 {
			v["media_type"] = MediaType(p)
			if isLink {
				v["media_url"] = b.address(author, string(link))
			}
		}
		r.Files = append(r.Files, p)
	}
	r.Parts = append(r.Parts, Files(b.Box.Guard, author, r.Files)...)
	return r
}

// address returns a URL for a model, labelled unless it is plain.
func (b *Bridge) address(author guard.Origin, link string) string {
	if guard.IsAddress(link) {
		return link
	}
	return b.Box.Guard.Quote(author, link).Text
}

// nextOf returns advice on a task that is not completed, and whether it has failed.
func nextOf(state a2a.TaskState) (string, bool) {
	switch {
	case state == a2a.TaskStateInputRequired:
		return "The agent asks back. Find the answer and call this tool again with the answer as query, and with this task_id.", false
	case state == a2a.TaskStateAuthRequired:
		return "The agent waits for a person's permission. After that, call this tool again with this task_id.", false
	case !state.Terminal():
		return "The agent is still working; the wait timed out.", false
	}
	return "The agent has not done it. Rephrase the request, or choose another tool.", true
}
