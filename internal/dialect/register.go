package dialect

import (
	"strconv"
	"sync"

	"github.com/parley-a2a/parley/internal/registry"
)

// Dialect describes a shape. A part adds a *Dialect to the registry.
type Dialect struct {
	// Shape is the number of the dialect.
	Shape Shape
	// Name is the name in configurations, metrics and logs.
	Name string
	// Version is the version of A2A that the dialect derives from: "1.0", "0.3" or "".
	Version string
	Codec   Codec
	Calls   Calls
	Serving Serving
	Calling Calling
	Pushing Pushing
}

// Codec converts one shape into v1.0 and back, as text. Its functions are pure. They require
// checked JSON and write valid JSON on one line. Nil functions change nothing.
type Codec struct {
	// Request returns the v1.0 params of a call, for a Decoder with Fill. Params may be nil.
	// Errors name the field as the caller spelled it.
	Request func(o Operation, params []byte) ([]byte, error)
	// Result appends the result of a call, converted from v1.0.
	Result func(dst []byte, o Operation, v1 []byte) []byte
	// Frames returns a function for a new stream; see Shape.Frames.
	Frames func(whole func() []byte) Framer
	// Field returns the name of a v1.0 params field in this shape.
	Field func(o Operation, v1 string) string
}

// Framer converts the frames of one stream: a v1.0 frame becomes zero or more frames of the shape.
type Framer func(v1 []byte) [][]byte

// Calls are the signs by which JSON-RPC calls of a dialect are recognized.
type Calls struct {
	// Methods are the methods with a slash.
	Methods map[string]Operation
	// Unversioned states that callers also use the methods of v1.0, but name no version.
	Unversioned bool
	// Root states that callers use the path "/", with an API key in X-Api-Key.
	Root bool
	// About is the dialect of JSON-RPC calls about a task of this dialect. Zero means this dialect.
	About Shape
}

// Serving is how calls of a dialect are answered, apart from the shape.
type Serving struct {
	// Adapt replaces codes of a report that the dialect lacks.
	Adapt func(r *Report)
	// Tasks answers messages with tasks alone, because the dialect has no bare messages.
	Tasks bool
	// ShowsEnded shows a subscriber a task that has ended instead of an error.
	ShowsEnded bool
	// Messages is for clients that read the answer in a message.
	Messages bool
	// Aliases is for clients that identify tasks by the ids of messages.
	Aliases bool
	// OwnCard is for clients that require an extended card, read only the layout of v1.0, and expect
	// the skills of all agents in the card of the hub.
	OwnCard bool
}

// Calling is how peers of a dialect are called.
type Calling struct {
	// SkillKey is the only name of the requested skill, in the metadata of the message. Zero means
	// the names that most agents read.
	SkillKey string
	// Blocking states that configurations have "blocking" instead of "returnImmediately".
	Blocking bool
	// Message appends a v1.0 message.
	Message func(dst, v1 []byte) []byte
	// Part appends a part of an answer in the shape of v1.0.
	Part func(dst, part []byte) ([]byte, error)
	// Header is the version that calls name; messages name none if NoSendHeader is set.
	Header       string
	NoSendHeader bool
	// Others are the dialects to try if a peer does not support this one.
	Others []Shape
	// Instead reports whether an error of a peer called in v1.0 shows that it uses this dialect.
	Instead func(code int, message string) bool
}

// Pushing is how webhooks that were registered in a dialect are notified. A dialect with the zero
// Pushing has the notifications of v1.0.
type Pushing struct {
	// Frame appends a v1.0 StreamResponse as the body of a notification.
	Frame func(dst, v1 []byte) []byte
	// Bearer also sends the token of the webhook as a bearer token.
	Bearer bool
}

func always(f Framer) func(func() []byte) Framer { return func(func() []byte) Framer { return f } }

// all are the dialects of the program by their numbers, nil where it has none.
var all = sync.OnceValue(func() *[numShapes]*Dialect {
	dialects := builtIn()
	for _, d := range registry.Added[*Dialect]() {
		if d.Shape >= numShapes || dialects[d.Shape] != nil {
			panic("dialect: " + d.Name + " has the number of another dialect: " + strconv.Itoa(int(d.Shape)))
		}
		dialects[d.Shape] = d
	}
	return &dialects
})

// Of returns the description of s. A number that the program does not know has that of v1.0: a task may
// be of a dialect whose part was left out.
func Of(s Shape) *Dialect {
	dialects := all()
	if s >= numShapes || dialects[s] == nil {
		s = V1
	}
	return dialects[s]
}

// Has reports whether the program has the dialect s.
func Has(s Shape) bool { return s < numShapes && all()[s] != nil }

// Added returns the dialects of JSON-RPC that are neither v1.0 nor v0.3, in the order of their
// numbers. The slice must not be changed.
func Added() []*Dialect { return added() }

var added = sync.OnceValue(func() []*Dialect {
	var added []*Dialect
	for _, d := range all()[V03Proto+1:] {
		if d != nil && (d.Calls.Methods != nil || d.Calls.Unversioned) {
			added = append(added, d)
		}
	}
	return added
})

// Derives reports whether d derives from v0.3, and has a method of its own for the operation.
func (d *Dialect) Derives(o Operation) bool {
	method := d.Shape.Method(o)
	return d.Version == legacy && method != "" && method != oldMethods[o]
}

// Names returns the names of the dialects of JSON-RPC.
func Names() []string {
	names := []string{V1.String(), V03.String()}
	for _, d := range added() {
		names = append(names, d.Name)
	}
	return names
}

// unversioned returns the dialect whose callers use methods of v1.0 without a version, or nil.
func unversioned() *Dialect {
	for _, d := range added() {
		if d.Calls.Unversioned {
			return d
		}
	}
	return nil
}

// slashMethods are the methods with a slash of all dialects.
var slashMethods = sync.OnceValue(func() map[string]slashMethod {
	methods := make(map[string]slashMethod)
	for _, d := range all() {
		if d == nil {
			continue
		}
		for name, o := range d.Calls.Methods {
			methods[name] = slashMethod{o, methods[name].in | setOf(d.Shape)}
		}
	}
	return methods
})
