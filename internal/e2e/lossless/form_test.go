package lossless

import (
	"encoding/base64"
	"strings"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// form is the representation of the protocol's objects in one version.
type form int

const (
	formV1    form = iota
	formOld        // JSON-RPC of v0.3
	formProto      // the proto of v0.3
)

// part is a part of a message or an artifact.
type part struct {
	// kind is the name of the content in v1.0.
	kind, content string
	// others are the unknown members, meta is the metadata.
	others, meta string
	// inside are unknown members of the object around the content, in versions with such an
	// object. In v1.0 they are members of the part.
	inside string
}

// file reports whether the part has a name and a media type.
func (p *part) file() bool { return p.kind == "raw" || p.kind == "url" }

// v1 returns the part in v1.0.
func (p *part) v1() string {
	out := `{"` + p.kind + `":` + p.content
	if p.file() {
		out += `,"filename":"f","mediaType":"x/y"`
	}
	return with(with(out+`,"metadata":`+p.meta+`}`, p.others), p.inside)
}

// asObject returns a part whose data is an object, as v0.3 requires. Other data is wrapped: it
// becomes the object's value, and the metadata states this.
func (p *part) asObject() *part {
	if p.kind != "data" || rawjson.KindOf([]byte(p.content)) == rawjson.Object {
		return p
	}
	object := *p
	object.content, object.meta = `{"value":`+p.content+`}`, with(p.meta, `{"data_part_compat":true}`)
	return &object
}

// old returns the part in JSON-RPC of v0.3.
func (p *part) old() string {
	switch p.kind {
	case "raw":
		return p.around("file", `{"bytes":`+p.content+`,"name":"f","mimeType":"x/y"}`)
	case "url":
		return p.around("file", `{"uri":`+p.content+`,"name":"f","mimeType":"x/y"}`)
	}
	return with(with(`{"kind":"`+p.kind+`","`+p.kind+`":`+p.content+`,"metadata":`+p.meta+`}`, p.others), p.inside)
}

// proto returns the part in the proto of v0.3, whose bytes the SDKs encode twice.
func (p *part) proto() string {
	switch p.kind {
	case "raw":
		text, _ := rawjson.String([]byte(p.content))
		twice := base64.StdEncoding.EncodeToString([]byte(text))
		return p.around("", `{"fileWithBytes":"`+twice+`","name":"f","mimeType":"x/y"}`)
	case "url":
		return p.around("", `{"fileWithUri":`+p.content+`,"name":"f","mimeType":"x/y"}`)
	case "data":
		return p.around("", `{"data":`+p.content+`}`)
	}
	return with(with(`{"text":`+p.content+`,"metadata":`+p.meta+`}`, p.others), p.inside)
}

// around returns the part with its content in an inner object.
func (p *part) around(kind, object string) string {
	name, out := "file", `{"metadata":`+p.meta+`}`
	if kind != "" {
		out = with(out, `{"kind":"`+kind+`"}`)
	} else if p.kind == "data" {
		name = "data"
	}
	return with(with(out, `{"`+name+`":`+with(object, p.inside)+`}`), p.others)
}

// request returns the params of the plan.
func (p *plan) request(f form) string {
	role, kind, list, part := "ROLE_USER", "", "parts", p.part.v1
	switch f {
	case formOld:
		role, kind, part = "user", `"kind":"message",`, p.part.asObject().old
	case formProto:
		list, part = "content", p.part.asObject().proto
	}
	message := `{` + kind + `"messageId":"` + p.id + `","role":"` + role + `","` + list + `":[` + part() + `],` +
		`"metadata":` + with(`{"plan":"`+p.id+`"}`, p.messageMeta) + `}`
	params := `{"message":` + with(message, p.message) + `,"configuration":` + p.configuration + `,"metadata":` + p.paramsMeta + `}`
	return with(params, p.params)
}

// names maps the members of a file in v0.3 to those of v1.0.
var names = map[string]string{
	"bytes": "raw", "fileWithBytes": "raw", "uri": "url", "fileWithUri": "url", "name": "filename", "mimeType": "mediaType",
}

// asV1 converts a part to the form of v1.0.
func (f form) asV1(part string) string {
	out := "{}"
	add := func(name string, v []byte) { out = with(out, `{`+quoted(name)+`:`+string(v)+`}`) }
	for name, v := range rawjson.Fields([]byte(part)) {
		switch {
		case f == formV1:
			add(name, v)
		case name == "kind":
		case name == "data" && f == formProto:
			for name, v := range rawjson.Fields(v) {
				add(name, v)
			}
		case name == "file":
			for name, v := range rawjson.Fields(v) {
				if name == "fileWithBytes" {
					v = once(v)
				}
				if known := names[name]; known != "" {
					name = known
				}
				add(name, v)
			}
		default:
			add(name, v)
		}
	}
	if f != formV1 && member(member(out, "metadata"), "data_part_compat") == "true" {
		out = with(`{"data":`+member(member(out, "data"), "value")+`}`, out) // the first of two equal names wins
	}
	return out
}

// once returns the base64 text of bytes that were encoded twice.
func once(v []byte) []byte {
	text, _ := rawjson.String(v)
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return v
	}
	return []byte(quoted(strings.TrimSpace(string(b))))
}
