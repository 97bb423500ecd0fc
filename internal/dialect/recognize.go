package dialect

import (
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// Signs are the properties of a JSON-RPC call that identify its dialect.
type Signs struct {
	// Method and Params are those of the call.
	Method string
	Params []byte
	// Versions are the values of the A2A-Version header.
	Versions []string
	// Root is set if the call was sent to the path "/".
	Root bool
	// Keyed is set if the request has a key in X-Api-Key.
	Keyed bool
	// Lenient treats a v1.0 method without a version as v1.0.
	Lenient bool
	// Profiles are the dialects that the operator configured for the caller and for the agent.
	// The first one that has the method counts.
	Profiles []Shape
	// Recall returns the dialect in which the caller's task was created, and whether the caller
	// has the task. It is called only if nothing else decides; it may be nil.
	Recall func(id a2a.TaskID) (Shape, bool)
}

// Recognize finds the operation and the dialect of a call. It looks at the method's name, the
// version that the call names, the kinds and the role of its message, a profile, and the task's
// own dialect, in that order, and each time only among the dialects that have the method. An
// undecided method with a slash is one of v0.3; a v1.0 method must name its version.
//
// Errors wrap a2a.ErrVersionNotSupported, a2a.ErrMethodNotFound, or a2a.ErrInvalidParams if a
// message mixes dialects. The returned dialect is the one to answer in, also on error.
func Recognize(s *Signs) (Operation, Shape, error) {
	if strings.Contains(s.Method, "/") {
		return s.slash()
	}
	o, err := Lookup(s.Method)
	if err == nil {
		return s.pascal(o)
	}
	return s.unknown(err)
}

// unknown returns the error for a method that no dialect has. A version that is not served is
// reported first. A call that names no version counts as v0.3, which is served at every
// JSON-RPC path.
func (s *Signs) unknown(err error) (Operation, Shape, error) {
	if !versioned(s.Versions) && !s.Lenient || NamesLegacy(s.Versions) {
		return 0, V03, err
	}
	if unserved := Version(s.Versions, s.surface()); unserved != nil {
		err = unserved
	}
	return 0, V1, err
}

func (s *Signs) surface() Surface {
	if s.Lenient {
		return LenientRPC
	}
	return RPC
}

// pascal decides between v1.0 and the dialect whose callers use its methods without a version.
func (s *Signs) pascal(o Operation) (Operation, Shape, error) {
	err := Version(s.Versions, RPC)
	if err == nil || versioned(s.Versions) {
		return o, V1, err
	}
	d, among := unversioned(), setOf(V1)
	if d != nil {
		among |= setOf(d.Shape)
	}
	gateway := d != nil && d.Calls.Root && s.Root && s.Keyed && !s.Lenient
	if role := member(member(s.Params, "message"), "role"); o.sends() && role != nil {
		switch {
		case d != nil && isText(role, "user"):
			return o, d.Shape, nil
		case !gateway || isText(role, "ROLE_USER") || isText(role, "ROLE_AGENT"):
			return o, V1, Version(s.Versions, s.surface())
		}
	}
	if shape, ok := s.profiled(among); ok {
		return o, shape, nil
	}
	if d != nil && (gateway || s.recalls(o, d)) {
		return o, d.Shape, nil
	}
	// The dialect of a v1.0 task does not replace the version that the call must name.
	return o, V1, Version(s.Versions, s.surface())
}

// recalls reports whether the call is about a task of d, or about one whose calls are of d.
func (s *Signs) recalls(o Operation, d *Dialect) bool {
	shape, ok := s.recalled(o)
	return ok && (shape == d.Shape || Of(shape).Calls.About == d.Shape)
}

// versioned reports whether a call names a version at all.
func versioned(values []string) bool {
	for _, v := range values {
		if strings.TrimSpace(v) != "" {
			return true
		}
	}
	return false
}

// sends reports whether o sends a message.
func (o Operation) sends() bool { return o == SendMessage || o == SendStreamingMessage }

// profiled returns the first profile that is in among.
func (s *Signs) profiled(among shapes) (Shape, bool) {
	for _, shape := range s.Profiles {
		if among.has(shape) {
			return shape, true
		}
	}
	return V1, false
}

// recalled returns the dialect of the task that the call is about.
func (s *Signs) recalled(o Operation) (Shape, bool) {
	if s.Recall == nil {
		return V1, false
	}
	id := s.taskID(o)
	if id == "" {
		return V1, false
	}
	return s.Recall(id)
}

// taskID returns the id of the task that the call is about, or the empty id.
func (s *Signs) taskID(o Operation) a2a.TaskID {
	from, names := s.Params, []string{"id"}
	switch {
	case o.sends():
		from, names = member(s.Params, "message"), []string{"taskId", "task_id"}
	case o.Push():
		names = []string{"taskId", "task_id", "id"}
	}
	for _, name := range names {
		if id, ok := rawjson.String(member(from, name)); ok && id != "" {
			return a2a.TaskID(id)
		}
	}
	return ""
}

// shapes is a set of dialects.
type shapes uint8

func setOf(all ...Shape) shapes {
	var set shapes
	for _, s := range all {
		set |= 1 << s
	}
	return set
}

func (set shapes) has(s Shape) bool { return set&(1<<s) != 0 }

// slashMethod is a method of v0.3, or of a dialect derived from it.
type slashMethod struct {
	operation Operation
	in        shapes
}

// v03Methods are the methods of v0.3, and a name that some of its clients have for one of them.
var v03Methods = map[string]Operation{
	"message/send":                        SendMessage,
	"message/stream":                      SendStreamingMessage,
	"message/sendStream":                  SendStreamingMessage,
	"tasks/get":                           GetTask,
	"tasks/cancel":                        CancelTask,
	"tasks/resubscribe":                   SubscribeToTask,
	"tasks/pushNotificationConfig/set":    CreatePushConfig,
	"tasks/pushNotificationConfig/get":    GetPushConfig,
	"tasks/pushNotificationConfig/list":   ListPushConfigs,
	"tasks/pushNotificationConfig/delete": DeletePushConfig,
	"agent/getAuthenticatedExtendedCard":  GetExtendedAgentCard,
}

// slash decides between the dialects whose methods have a slash.
func (s *Signs) slash() (Operation, Shape, error) {
	m, ok := slashMethods()[s.Method]
	named, err := legacyVersion(s.Versions, s.Method)
	switch {
	case err != nil:
		return m.operation, V1, err
	case !ok:
		return 0, V03, apierror.New(a2a.ErrMethodNotFound, "method not found: %q", clip(s.Method))
	case named && !m.in.has(V03):
		return m.operation, V03, apierror.New(a2a.ErrMethodNotFound, "version %s has no method %q", legacy, s.Method)
	case named && m.operation.sends():
		marks := marksOf(s.Params)
		return m.operation, V03, marks.mixed()
	case named:
		return m.operation, V03, nil
	}
	shape, err := s.slashShape(&m)
	return m.operation, shape, err
}

func (s *Signs) slashShape(m *slashMethod) (Shape, error) {
	if m.operation.sends() {
		marks := marksOf(s.Params)
		if shape := s.marked(m, marks); shape != V1 {
			return shape, marks.mixed()
		}
	}
	if shape, ok := s.profiled(m.in); ok {
		return shape, nil
	}
	if shape, ok := s.recalled(m.operation); ok && m.in.has(shape) {
		return shape, nil
	}
	shape := V03
	for !m.in.has(shape) {
		shape++
	}
	return shape, nil
}

// marked returns the dialect that the kinds of a message indicate, or V1 if there are none.
func (s *Signs) marked(m *slashMethod, marks marks) Shape {
	switch {
	case marks.kinds:
		return V03
	case marks.bare < 0:
		return V1
	}
	return s.kindless(m)
}

// kindless returns the dialect of a message without kinds: of those with the method, the one whose
// callers use this path is preferred. It returns V1 if the program has none.
func (s *Signs) kindless(m *slashMethod) Shape {
	found := V1
	for _, d := range added() {
		if m.in.has(d.Shape) && (found == V1 || d.Calls.Root == s.Root) {
			found = d.Shape
		}
	}
	return found
}

// marks are the properties of a message that depend on its dialect.
type marks struct {
	// kinds is set if the message or one of its parts has a kind.
	kinds bool
	// bare is the index of the first part without a kind, or -1.
	bare int
	role []byte
}

func marksOf(params []byte) marks {
	msg := member(params, "message")
	found := marks{kinds: member(msg, "kind") != nil, bare: -1, role: member(msg, "role")}
	i := 0
	for part := range rawjson.Elements(member(msg, "parts")) {
		if member(part, "kind") != nil {
			found.kinds = true
		} else if found.bare < 0 {
			found.bare = i
		}
		i++
	}
	return found
}

// mixed returns the error for a message that mixes two dialects.
func (m *marks) mixed() error {
	if m.kinds && m.bare >= 0 {
		field := "message.parts[" + strconv.Itoa(m.bare) + "].kind"
		return apierror.Field(a2a.ErrInvalidParams, field, "is required, because other parts of the message have kinds")
	}
	return userOnly(m.role)
}

// legacy is the version whose methods have a slash.
const legacy = "0.3"

// LegacyVersion checks the version of an HTTP+JSON request of v0.3. A request that names no
// version counts as v0.3; errors wrap a2a.ErrVersionNotSupported.
func LegacyVersion(values []string) error {
	for _, v := range values {
		if v = strings.TrimSpace(v); v != "" && !servedAs(v, legacy) {
			return apierror.New(a2a.ErrVersionNotSupported, "protocol version %q is not supported here; supported: %s", clip(v), legacy).
				With("supportedVersions", legacy).
				With("requestedVersion", clip(v))
		}
	}
	return nil
}

// NamesLegacy reports whether a call names v0.3 and no other version. All errors of such a call
// are reported in v0.3, including those found before the call could be read.
func NamesLegacy(values []string) bool {
	named := false
	for _, v := range values {
		if v = strings.TrimSpace(v); v != "" && !servedAs(v, legacy) {
			return false
		} else if v != "" {
			named = true
		}
	}
	return named
}

// legacyVersion checks the version of a call whose method has a slash. It reports
// whether the call names one.
func legacyVersion(values []string, method string) (named bool, err error) {
	for _, v := range values {
		v = strings.TrimSpace(v)
		switch {
		case v == "":
		case servedAs(v, legacy):
			named = true
		case served(v):
			return true, apierror.New(a2a.ErrMethodNotFound,
				"version %s has no method %q; its methods are called like SendMessage", clip(v), clip(method))
		default:
			return true, RPC.unsupported("protocol version %q is not supported here", clip(v)).With("requestedVersion", clip(v))
		}
	}
	return named, nil
}
