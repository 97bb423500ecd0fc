package bus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// formPrefix separates signatures of envelopes from other signatures with the same key.
const formPrefix = "parley-bus-1\n"

// form returns the signed bytes, in the form that docs/wire.md defines. They cover the members
// of e except the signature and those that a bus adds at Dead. They do not depend on the
// spelling of the JSON: white space, order and escapes.
func (e *Envelope) form() ([]byte, error) {
	f := canonicalizer{out: append(make([]byte, 0, len(e.Body)+len(e.Body)/4+sizeAround), formPrefix...)}
	if f.envelope(e); f.fallback {
		return e.slowForm()
	}
	return f.out, nil
}

// slowForm is form for every value that encoding/json can encode.
func (e *Envelope) slowForm() ([]byte, error) {
	bare := *e
	bare.Signature, bare.Reason, bare.Queue = nil, "", ""
	text, err := json.Marshal(&bare)
	if err != nil {
		return nil, err
	}
	return appendRaw(append(make([]byte, 0, len(text)+len(text)/4+64), formPrefix...), text, maxWalk)
}

// canonicalizer appends the forms of members. It sets fallback at a value that would change
// when encoded and decoded, or that cannot be encoded.
type canonicalizer struct {
	out      []byte
	fallback bool
}

// envelope appends the form of e, with the members in the order of their names. Like Encode, it
// omits empty members.
func (c *canonicalizer) envelope(e *Envelope) {
	c.out = append(c.out, '{')
	c.body(e.Body)
	c.list("chain", e.Chain)
	c.text("contentType", e.ContentType)
	c.text("correlation", e.Correlation)
	c.number("deadline", int64(e.Deadline))
	c.text("destination", e.Destination)
	c.number("epoch", e.Epoch)
	c.string("id", e.ID)
	c.text("label", e.Label)
	c.text("owner", string(e.Owner))
	c.principal(e.Principal)
	c.text("replyTo", e.ReplyTo)
	c.number("seq", e.Seq)
	c.string("source", e.Source)
	c.text("task", e.Task)
	c.integer("time", int64(e.Time))
	c.pairs("trace", e.Trace)
	c.string("type", string(e.Type))
	c.integer("v", int64(e.Version))
	c.out = append(c.out, '}')
}

func (c *canonicalizer) principal(p *auth.Principal) {
	if p == nil {
		return
	}
	c.out = append(appendText(c.out, "principal"), '{')
	c.pairs("claims", p.Claims)
	c.text("displayName", p.DisplayName)
	c.string("id", p.ID)
	c.text("org", p.Org)
	c.list("orgs", p.Orgs)
	c.list("roles", p.Roles)
	c.out = append(c.out, '}')
}

// body appends the body, whose spelling may differ from that of Encode.
func (c *canonicalizer) body(v []byte) {
	switch {
	case len(v) == 0:
	case rawjson.Check(v, maxWalk) != nil:
		c.fallback = true
	default:
		var err error
		c.out, err = appendRaw(appendText(c.out, "body"), bytes.Trim(v, " \t\r\n"), maxWalk)
		c.fallback = c.fallback || err != nil
	}
}

// value appends a string.
func (c *canonicalizer) value(s string) {
	c.fallback = c.fallback || !utf8.ValidString(s)
	c.out = appendText(c.out, s)
}

func (c *canonicalizer) string(name, s string) {
	c.out = appendText(c.out, name)
	c.value(s)
}

// text is string, but omits an empty one.
func (c *canonicalizer) text(name, s string) {
	if s != "" {
		c.string(name, s)
	}
}

func (c *canonicalizer) integer(name string, n int64) {
	c.out = append(strconv.AppendInt(append(appendText(c.out, name), '#'), n, 10), ';')
}

// number is integer, but omits zero.
func (c *canonicalizer) number(name string, n int64) {
	if n != 0 {
		c.integer(name, n)
	}
}

func (c *canonicalizer) list(name string, list []string) {
	if len(list) == 0 {
		return
	}
	c.out = append(appendText(c.out, name), '[')
	for _, s := range list {
		c.value(s)
	}
	c.out = append(c.out, ']')
}

func (c *canonicalizer) pairs(name string, m map[string]string) {
	if len(m) == 0 {
		return
	}
	c.out = append(appendText(c.out, name), '{')
	var room [8]string
	names := room[:0]
	for key := range m {
		names = append(names, key)
	}
	slices.Sort(names)
	for _, key := range names {
		c.value(key)
		c.value(m[key])
	}
	c.out = append(c.out, '}')
}

// maxWalk is the largest depth at which values are walked as text, because each level scans the
// levels below once more. Deeper values are decoded.
const maxWalk = 32

// appendRaw appends the form of a valid JSON value.
func appendRaw(b, v []byte, depth int) ([]byte, error) {
	switch rawjson.KindOf(v) {
	case rawjson.Null, rawjson.Bool:
		return append(b, v[0]), nil
	case rawjson.Number:
		b = append(append(b, '#'), v...)
		return append(b, ';'), nil
	case rawjson.Text:
		return appendText(b, unescaped(v)), nil
	}
	if depth == 0 {
		return appendDecoded(b, v)
	}
	if rawjson.KindOf(v) == rawjson.Object {
		return appendObject(b, v, depth)
	}
	var err error
	b = append(b, '[')
	for item := range rawjson.Elements(v) {
		if b, err = appendRaw(b, item, depth-1); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// member is a member of an object: its name unescaped, its value as raw JSON.
type member struct{ name, value []byte }

func appendObject(b, v []byte, depth int) ([]byte, error) {
	var room [16]member
	all := room[:0]
	for name, value := range rawjson.RawFields(v) {
		all = append(all, member{unescaped(name), value})
	}
	slices.SortStableFunc(all, func(x, y member) int { return bytes.Compare(x.name, y.name) })
	var err error
	b = append(b, '{')
	for i, m := range all {
		if i+1 < len(all) && bytes.Equal(all[i+1].name, m.name) {
			continue // the last one counts
		}
		if b, err = appendRaw(appendText(b, m.name), m.value, depth-1); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// unescaped returns the text of a quoted string.
func unescaped(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	s, _ := rawjson.String(quoted)
	return []byte(s)
}

// appendDecoded is appendRaw for values of any depth.
func appendDecoded(b, v []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber() // 1.0 and 1 differ, and no digit is lost
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	return appendForm(b, value), nil
}

// appendForm appends the form of a decoded JSON value.
func appendForm(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, 'n')
	case bool:
		return append(b, strconv.FormatBool(v)[0])
	case json.Number:
		b = append(append(b, '#'), v...)
		return append(b, ';')
	case string:
		return appendText(b, v)
	case []any:
		b = append(b, '[')
		for _, item := range v {
			b = appendForm(b, item)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			b = appendForm(appendText(b, name), v[name])
		}
		return append(b, '}')
	}
	panic(fmt.Sprintf("bus: a JSON value of type %T", v))
}

// appendText appends the length of s in bytes, a colon, and s.
func appendText[S ~string | ~[]byte](b []byte, s S) []byte {
	b = strconv.AppendInt(b, int64(len(s)), 10)
	return append(append(b, ':'), s...)
}
