package delegation

import (
	"bytes"
	"context"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// Names in metadata.
const (
	prefix      = "parley."
	keyChain    = prefix + "chain"
	keyHops     = prefix + "hops"
	keyBudget   = prefix + "budget"
	keyDeadline = prefix + "deadline"
)

// Headers, in the spelling of service parameters (specification §3.2.6).
const (
	headChain    = "x-parley-chain"
	headHops     = "x-parley-hops"
	headBudget   = "x-parley-budget"
	headDeadline = "x-parley-deadline"
)

// layout is the format of a deadline: a timestamp of the protocol (specification §5.6.1).
const layout = "2006-01-02T15:04:05.000Z"

// Param returns the service parameter of a header, or "" if the header does not belong to a
// delegation context.
func Param(header string) string {
	if len(header) < len(headHops) || !strings.EqualFold(header[:len("x-parley-")], "x-parley-") {
		return ""
	}
	for _, key := range [...]string{headChain, headHops, headBudget, headDeadline} {
		if strings.EqualFold(header, key) {
			return key
		}
	}
	return ""
}

// Read returns the context of a message, from the metadata of the request and of the message,
// and from service parameters. Each may be nil. It returns nil if there is none. For a
// malformed context the error names the field.
func Read(metadata, message []byte, params map[string][]string) (*Context, error) {
	if !mentioned(metadata, message, params) {
		return nil, nil
	}
	all, any := unset(), false
	for _, from := range [...]struct {
		where string
		obj   []byte
	}{{"metadata.", metadata}, {"message.metadata.", ofMessage(message)}} {
		found, err := readMetadata(&all, from.where, from.obj)
		if err != nil {
			return nil, err
		}
		any = any || found
	}
	found, err := readParams(&all, params)
	if err != nil {
		return nil, err
	}
	if !found && !any {
		return nil, nil
	}
	return &all, nil
}

// mentioned reports whether there may be a context.
func mentioned(metadata, message []byte, params map[string][]string) bool {
	for _, key := range [...]string{headChain, headHops, headBudget, headDeadline} {
		if len(params[key]) > 0 {
			return true
		}
	}
	mark := []byte(`"` + prefix)
	return bytes.Contains(metadata, mark) || bytes.Contains(message, mark)
}

// Stored returns the context that Store has put into service parameters; nil if there is none.
func Stored(params map[string][]string) *Context {
	if !mentioned(nil, nil, params) {
		return nil
	}
	all := unset()
	if found, err := readParams(&all, params); err != nil || !found {
		return nil
	}
	return &all
}

func unset() Context { return Context{Hops: math.MaxInt32, Budget: math.MaxInt32} }

// ofMessage returns the metadata of a message if it may contain a context.
func ofMessage(message []byte) []byte {
	if !bytes.Contains(message, []byte(`"`+prefix)) {
		return nil
	}
	return rawjson.Member(message, "metadata")
}

// readMetadata restricts e by the context in a metadata object.
func readMetadata(e *Context, where string, obj []byte) (found bool, err error) {
	if !bytes.Contains(obj, []byte(`"`+prefix)) {
		return false, nil
	}
	for name, v := range rawjson.Fields(obj) {
		o, ok := unset(), true
		switch name {
		case keyChain:
			o.Chain, ok = chainOf(v)
		case keyHops:
			o.Hops, ok = number(string(v))
		case keyBudget:
			o.Budget, ok = number(string(v))
		case keyDeadline:
			text, isText := rawjson.String(v)
			o.Deadline, ok = moment(text)
			ok = ok && isText
		default:
			continue
		}
		if !ok {
			return false, wrong(where+name, name)
		}
		found, *e = true, e.stricter(&o)
	}
	return found, nil
}

// readParams restricts e by the context in service parameters.
func readParams(e *Context, params map[string][]string) (found bool, err error) {
	if len(params) == 0 {
		return false, nil
	}
	for _, key := range [...]string{headChain, headHops, headBudget, headDeadline} {
		values, there := params[key]
		if !there {
			continue
		}
		o, text, ok := unset(), strings.Join(values, ","), true
		switch key {
		case headChain:
			o.Chain, ok = names(strings.Split(text, ","))
		case headHops:
			o.Hops, ok = number(text)
		case headBudget:
			o.Budget, ok = number(text)
		default:
			o.Deadline, ok = moment(text)
		}
		if !ok {
			return false, wrong(http.CanonicalHeaderKey(key), key)
		}
		found, *e = true, e.stricter(&o)
	}
	return found, nil
}

func wrong(field, key string) error {
	what := "must be a number between 0 and 2147483647"
	switch key {
	case keyChain, headChain:
		what = "is not a list of at most " + strconv.Itoa(MaxChain) + " names like agent@hub"
	case keyDeadline, headDeadline:
		what = "is not a time like 2026-01-31T12:00:00Z"
	}
	return apierror.Field(a2a.ErrInvalidParams, field, "%s", what)
}

func chainOf(v []byte) ([]string, bool) {
	if rawjson.KindOf(v) != rawjson.Array {
		return nil, false
	}
	var list []string
	for el := range rawjson.Elements(v) {
		s, ok := rawjson.String(el)
		if !ok || len(list) == MaxChain {
			return nil, false
		}
		list = append(list, s)
	}
	return names(list)
}

// names returns the names of a chain without surrounding space; false if one is invalid.
func names(list []string) ([]string, bool) {
	if len(list) > MaxChain {
		return nil, false
	}
	var chain []string
	for _, s := range list {
		s = strings.TrimSpace(s)
		if !nameable(s) || slices.Contains(chain, s) {
			return nil, false
		}
		chain = append(chain, s)
	}
	return chain, true
}

// nameable reports whether s is a valid name in a chain.
func nameable(s string) bool {
	if s == "" || len(s) > MaxName {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' || s[i] == ',' || s[i] == '"' {
			return false
		}
	}
	return true
}

func number(s string) (int, bool) {
	n, ok := rawjson.Int([]byte(strings.TrimSpace(s)))
	return int(n), ok && 0 <= n && n <= math.MaxInt32
}

func moment(s string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(s))
	return t.UTC().Truncate(time.Millisecond), err == nil && t.Year() > 0
}

// fields calls set for each header of e.
func (e *Context) fields(set func(key, value string)) {
	if len(e.Chain) > 0 {
		set(headChain, strings.Join(e.Chain, ","))
	}
	set(headHops, strconv.Itoa(e.Hops))
	set(headBudget, strconv.Itoa(e.Budget))
	if !e.Deadline.IsZero() {
		set(headDeadline, e.Deadline.UTC().Format(layout))
	}
}

// Store puts e into service parameters, replacing any context in them. It returns p, or a new
// map if p is nil.
func Store(p map[string][]string, e *Context) map[string][]string {
	if p == nil {
		p = make(map[string][]string, 4)
	}
	Strip(p)
	e.fields(func(key, value string) { p[key] = []string{value} })
	return p
}

// Strip removes a context from service parameters.
func Strip(p map[string][]string) {
	for _, key := range [...]string{headChain, headHops, headBudget, headDeadline} {
		delete(p, key)
	}
}

// AppendMetadata appends a metadata object with e and the members of meta, without those of
// another context. meta may be nil.
func AppendMetadata(dst, meta []byte, e *Context) []byte {
	dst = append(rawjson.AppendString(append(dst, '{'), keyHops), ':')
	dst = strconv.AppendInt(dst, int64(e.Hops), 10)
	add := func(name string) { dst = append(rawjson.AppendString(append(dst, ','), name), ':') }
	add(keyBudget)
	dst = strconv.AppendInt(dst, int64(e.Budget), 10)
	if !e.Deadline.IsZero() {
		add(keyDeadline)
		dst = rawjson.AppendString(dst, e.Deadline.UTC().Format(layout))
	}
	if len(e.Chain) > 0 {
		add(keyChain)
		dst = append(dst, '[')
		for i, name := range e.Chain {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = rawjson.AppendString(dst, name)
		}
		dst = append(dst, ']')
	}
	for name, value := range rawjson.Fields(meta) {
		switch name {
		case keyChain, keyHops, keyBudget, keyDeadline:
			continue
		}
		add(name)
		dst = append(dst, value...)
	}
	return append(dst, '}')
}

type contextKey struct{}

// With returns a context whose outgoing requests carry e.
func With(ctx context.Context, e *Context) context.Context {
	return context.WithValue(ctx, contextKey{}, e)
}

// Inject adds the delegation context of ctx, if there is one, to the header of a request.
func Inject(ctx context.Context, h http.Header) {
	if e, ok := ctx.Value(contextKey{}).(*Context); ok {
		e.fields(func(key, value string) { h[http.CanonicalHeaderKey(key)] = []string{value} })
	}
}
