package isolation

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/outbound/card"
)

// secret is the message of a task in which every value is marked. MARK, COMMAND and MEMBERS are
// replaced.
const secret = `{"message":{"messageId":"MARK-messageid","role":"ROLE_USER",MEMBERS
	"extensions":["https://example.org/MARK-messageextension"],"referenceTaskIds":["MARK-reference"],
	"metadata":{"MARK-messagekey":"MARK-messagevalue"},"parts":[
	{"text":"COMMAND MARK-text","metadata":{"k":"MARK-part"}},
	{"data":{"MARK-datakey":"MARK-datavalue"},"mediaType":"application/MARK-media"},
	{"raw":"MARK0raw0","filename":"MARK-filename","mediaType":"image/png"},
	{"url":"https://example.org/MARK-url"}]},
	"metadata":{"k":"MARK-request"},
	"configuration":{"returnImmediately":NOW,"taskPushNotificationConfig":{"id":"MARK-config","url":"https://example.org/MARK-hook",
	"token":"MARK-token","authentication":{"scheme":"Bearer","credentials":"MARK-credentials"}}}}`

// callerMarks are the names of the marks that the message leaves in its task, in addition to
// those of its webhook.
var callerMarks = []string{
	"messageid", "messageextension", "reference", "messagekey", "messagevalue",
	"text", "part", "datakey", "datavalue", "media", "filename", "url",
}

func (c *caller) secret(command, members string) string {
	return strings.NewReplacer("MARK", c.mark, "COMMAND", command, "MEMBERS", members, "NOW", fmt.Sprint(command == "hold"),
		"\n", "", "\t", "").Replace(secret)
}

// guess is the set of ids that a caller puts into a call.
type guess struct {
	task, config, context string
	// token is a page token of a task list, pushToken of a webhook list.
	token, pushToken string
	// own is a task of the caller itself.
	own string
}

func (g *guess) names() [][2]string {
	return [][2]string{
		{"$task", g.task}, {"$config", g.config}, {"$context", g.context}, {"$token", g.token}, {"$push", g.pushToken}, {"$own", g.own},
	}
}

// in puts g into the params of a call.
func (g *guess) in(params string) string {
	for _, pair := range g.names() {
		params = strings.ReplaceAll(params, pair[0], pair[1])
	}
	return params
}

// wrong returns a guess of ids that do not exist, with the same lengths as in g.
func wrong(g *guess) *guess {
	w := &guess{
		task: uuid.Must(uuid.NewV7()).String(), config: "other-config", context: "other-context", own: g.own,
		token:     strings.Repeat("A", len(g.token)),
		pushToken: strings.Repeat("A", len(g.pushToken)),
	}
	return w
}

// knownConfig and knownContext are ids of ann that bob knows; they have no mark.
const (
	knownConfig  = "known-config"
	knownContext = "known-context"
)

// victim creates a task of ann in a state, with webhooks, and returns bob's guess for it.
func (h *hub) victim(command, context string) *guess {
	h.t.Helper()
	rpc := &bindings[0]
	a := h.must(rpc, h.ann, "SendMessage", h.ann.secret(command, `"contextId":"`+context+`",`))
	g := &guess{task: field(h.t, a, "result", "task", "id"), config: knownConfig, context: knownContext}
	if command == "hold" {
		h.awaitOnStream(h.ann, g.task, "annmark-artifactname")
	}
	h.must(rpc, h.ann, "CreateTaskPushNotificationConfig",
		`{"taskId":"`+g.task+`","id":"`+knownConfig+`","url":"https://example.org/annmark-second","token":"annmark-token"}`)
	page := h.must(rpc, h.ann, "ListTaskPushNotificationConfigs", `{"taskId":"`+g.task+`","pageSize":1}`)
	g.pushToken = field(h.t, page, "result", "nextPageToken")
	return g
}

// victims creates tasks of ann, of every kind, with a token of their list.
func (h *hub) victims() []*guess {
	h.t.Helper()
	var all []*guess
	for _, command := range []string{"done", "ask", "hold"} {
		all = append(all, h.victim(command, "annmark-context"), h.victim(command, knownContext))
	}
	page := h.must(&bindings[0], h.ann, "ListTasks", `{"pageSize":2}`)
	own := field(h.t, h.must(&bindings[0], h.bob, "SendMessage", h.bob.secret("ask", "")), "result", "task", "id")
	for _, g := range all {
		g.token = field(h.t, page, "result", "nextPageToken")
		g.own = own
	}
	return all
}

// probe is a call to make with a guess.
type probe struct {
	name string
	call
	// makes is set if the call creates an object of the caller, with any guess. Its answer then
	// has new ids and times.
	makes bool
	// extensions are the A2A extensions that the caller names; "" names none.
	extensions string
}

func try(name, method, params string) probe { return probe{name: name, call: call{method, params, ""}} }

func resume(name, params, lastEventID string) probe {
	return probe{name: name, call: call{"SubscribeToTask", params, lastEventID}}
}

func making(p probe) probe {
	p.makes = true
	return p
}

// naming returns a probe that names an extension.
func naming(extension string, p probe) probe {
	p.extensions = extension
	return p
}

// sendParams returns a message from bob with further members.
func sendParams(members string) string {
	return `{"message":{"messageId":"m1","role":"ROLE_USER",` + members + `"parts":[{"text":"done bobmark-text"}]}}`
}

func paramsWith(configuration string) string {
	return strings.TrimSuffix(sendParams(""), "}") + `,"configuration":` + configuration + `}`
}

var probes = []probe{
	try("send to task", "SendMessage", sendParams(`"taskId":"$task",`)),
	try("send to task in context", "SendMessage", sendParams(`"taskId":"$task","contextId":"$context",`)),
	try("stream to task", "SendStreamingMessage", sendParams(`"taskId":"$task",`)),
	try("send to own task in context", "SendMessage", sendParams(`"taskId":"$own","contextId":"$context",`)),
	try("get", "GetTask", `{"id":"$task"}`),
	try("get short", "GetTask", `{"id":"$task","historyLength":1}`),
	naming(card.TaskTree, try("get with tree", "GetTask", `{"id":"$task"}`)),
	naming(card.TaskTree, try("get short with tree", "GetTask", `{"id":"$task","historyLength":0}`)),
	try("cancel", "CancelTask", `{"id":"$task"}`),
	try("cancel with metadata", "CancelTask", `{"id":"$task","metadata":{"a":"b"}}`),
	resume("subscribe", `{"id":"$task"}`, ""),
	resume("subscribe from the start", `{"id":"$task"}`, "0"),
	resume("subscribe from version 1", `{"id":"$task"}`, "1"),
	resume("subscribe from the future", `{"id":"$task"}`, "99"),
	resume("subscribe from nonsense", `{"id":"$task"}`, "x"),
	try("list", "ListTasks", `{}`),
	try("list context", "ListTasks", `{"contextId":"$context"}`),
	try("list context in full", "ListTasks", `{"contextId":"$context","includeArtifacts":true,"historyLength":100}`),
	try("list state", "ListTasks", `{"status":"TASK_STATE_WORKING"}`),
	try("list ended", "ListTasks", `{"status":"TASK_STATE_COMPLETED","includeArtifacts":true,"historyLength":100}`),
	try("list context and state", "ListTasks", `{"contextId":"$context","status":"TASK_STATE_INPUT_REQUIRED"}`),
	try("list since", "ListTasks", `{"statusTimestampAfter":"2020-01-01T00:00:00Z","includeArtifacts":true}`),
	try("list context since", "ListTasks", `{"contextId":"$context","statusTimestampAfter":"2020-01-01T00:00:00Z"}`),
	try("list of tenant", "ListTasks", `{"tenant":"vault","contextId":"$context"}`),
	try("list next page", "ListTasks", `{"pageSize":2,"pageToken":"$token"}`),
	try("list next page of context", "ListTasks", `{"pageSize":2,"contextId":"$context","pageToken":"$token"}`),
	try("create webhook", "CreateTaskPushNotificationConfig", `{"taskId":"$task","id":"$config","url":"https://example.org/bob"}`),
	try("create webhook without id", "CreateTaskPushNotificationConfig", `{"taskId":"$task","url":"https://example.org/bob"}`),
	try("get webhook", "GetTaskPushNotificationConfig", `{"taskId":"$task","id":"$config"}`),
	try("get webhook at own task", "GetTaskPushNotificationConfig", `{"taskId":"$own","id":"$config"}`),
	try("list webhooks", "ListTaskPushNotificationConfigs", `{"taskId":"$task"}`),
	try("list webhooks by one", "ListTaskPushNotificationConfigs", `{"taskId":"$task","pageSize":1}`),
	try("list webhooks next page", "ListTaskPushNotificationConfigs", `{"taskId":"$task","pageSize":1,"pageToken":"$push"}`),
	try("list own webhooks with token", "ListTaskPushNotificationConfigs", `{"taskId":"$own","pageSize":1,"pageToken":"$push"}`),
	try("delete webhook", "DeleteTaskPushNotificationConfig", `{"taskId":"$task","id":"$config"}`),
	try("delete webhook at own task", "DeleteTaskPushNotificationConfig", `{"taskId":"$own","id":"$config"}`),
	try("send with webhook of task", "SendMessage",
		paramsWith(`{"taskPushNotificationConfig":{"taskId":"$task","id":"$config","url":"https://example.org/bob"}}`)),
	try("extended card", "GetExtendedAgentCard", `{}`),
	making(try("send in context", "SendMessage", sendParams(`"contextId":"$context",`))),
	making(try("stream in context", "SendStreamingMessage", sendParams(`"contextId":"$context",`))),
	making(try("send with reference", "SendMessage", sendParams(`"referenceTaskIds":["$task"],`))),
}

// TestForeignIsAsMissing makes every call as bob, with ann's ids and with ids that do not
// exist.
func TestForeignIsAsMissing(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		victims := h.victims()
		before := h.seenByAnn(victims)
		h.wantMarks(t)
		if !strings.Contains(before, "annmark-context") {
			t.Error("ann does not see the context of her tasks")
		}
		h.operatorsView(t, victims[0])
		h.treeOfOwn(t, victims[0])
		// Calls that create objects come last, because lists would show these.
		for _, makes := range []bool{false, true} {
			for _, b := range bindings {
				for _, g := range victims {
					h.compareAll(t, &b, makes, g)
				}
			}
		}
		h.wantSilence(t)
		if diff := cmp.Diff(before, h.seenByAnn(victims)); diff != "" {
			t.Errorf("bob has changed what ann sees (-before +after):\n%s", diff)
		}
	})
}

// operatorsView checks the API beside the protocol as bob, who sees one task of bob and the agents,
// but no data of an administrator.
func (h *hub) operatorsView(t *testing.T, g *guess) {
	t.Helper()
	for path, want := range map[string]string{
		"status":              `"tasks":{"TASK_STATE_INPUT_REQUIRED":1}`,
		"agents":              `"vault"`,
		"agents/vault":        `"vault"`,
		"keys":                `"code":403`,
		"push":                `"code":403`,
		"push?dead=true":      `"code":403`,
		"agents/no-such-name": `"code":404`,
	} {
		a := h.web(h.bob, http.MethodGet, "/api/v1/"+path, "", "")
		h.wantUnmarked(t, path, a)
		if !strings.Contains(a.read, want) {
			t.Errorf("/api/v1/%s says %v, want %s in it", path, a, want)
		}
	}
	for _, r := range [][2]string{{http.MethodPost, "push/$task/redeliver"}, {http.MethodPost, "keys"}, {http.MethodDelete, "keys/$key"}} {
		path := strings.NewReplacer("$task", g.task, "$key", "config-00000000").Replace(r[1])
		a := h.web(h.bob, r[0], "/api/v1/"+path, "{}", "")
		h.wantUnmarked(t, path, a)
		if a.code != "403" {
			t.Errorf("%s /api/v1/%s says %v, want 403", r[0], path, a)
		}
	}
}

// treeOfOwn checks that the extension card.TaskTree is active for ann, so that the probes of bob
// find something to be refused.
func (h *hub) treeOfOwn(t *testing.T, g *guess) {
	t.Helper()
	for _, b := range bindings {
		a := b.do(h, h.ann.naming(card.TaskTree), call{"GetTask", `{"id":"` + g.task + `"}`, ""})
		if !a.ok() || !strings.Contains(a.read, card.TaskTree) {
			t.Errorf("ann does not get the tree of her task over %s: %v", b.name, a)
		}
	}
}

// compareAll makes all calls of a kind over a binding.
func (h *hub) compareAll(t *testing.T, b *binding, makes bool, g *guess) {
	t.Helper()
	h.store.take()
	for _, p := range probes {
		if p.makes == makes && b.has(&p.call) {
			h.compare(t, b, &p, g)
		}
	}
}

// compare makes a call with both guesses.
func (h *hub) compare(t *testing.T, b *binding, p *probe, g *guess) {
	t.Helper()
	name := fmt.Sprintf("%s over %s", p.name, b.name)
	var learned []string
	var asked [][]string
	for _, g := range []*guess{g, wrong(g)} {
		r := p.call
		r.params = g.in(r.params)
		a := b.do(h, h.bob.naming(p.extensions), r)
		h.wantUnmarked(t, name, a)
		if p.makes && !a.ok() {
			t.Errorf("%s fails: %v", name, a)
		}
		learned = append(learned, a.sameness(g, p.makes))
		asked = append(asked, h.store.take())
	}
	if diff := cmp.Diff(learned[1], learned[0]); diff != "" {
		t.Errorf("%s: foreign and missing differ (-missing +foreign):\n%s", name, diff)
	}
	if p.makes {
		return // runs continue after the answer
	}
	if diff := cmp.Diff(asked[1], asked[0]); diff != "" {
		t.Errorf("%s: the store is asked for other things (-missing +foreign):\n%s", name, diff)
	}
	if foreign := of(h.ann.owner, asked[0]); len(foreign) > 0 {
		t.Errorf("%s: the store is asked for data of ann: %v", name, foreign)
	}
}

// wantUnmarked checks that an answer to bob contains no data of ann.
func (h *hub) wantUnmarked(t *testing.T, name string, a answer) {
	t.Helper()
	all := slices.Concat([]byte(a.String()), a.body)
	if where := marked(all, h.ann.mark); where != "" {
		t.Errorf("%s: bob learns of ann: …%s…\nin %v", name, where, a)
	}
}

// wantSilence checks that no byte ever sent to bob contains data of ann.
func (h *hub) wantSilence(t *testing.T) {
	t.Helper()
	if where := marked(h.bob.tap.bytes(), h.ann.mark); where != "" {
		t.Errorf("bob received data of ann: …%s…", where)
	}
	if where := marked(h.ann.tap.bytes(), h.bob.mark); where != "" {
		t.Errorf("ann received data of bob: …%s…", where)
	}
}

// marked returns the text around a mark, in any encoding, or "".
func marked(b []byte, mark string) string {
	lower := bytes.ToLower(b)
	for _, form := range [][]byte{[]byte(mark), rawMark(mark), inBase64(mark, 0), inBase64(mark, 1), inBase64(mark, 2)} {
		at, text := bytes.Index(lower, form), lower
		if at < 0 {
			at, text = bytes.Index(b, form), b
		}
		if at >= 0 {
			return fmt.Sprintf("%q", text[max(at-80, 0):min(at+80, len(text))])
		}
	}
	return ""
}

// inBase64 returns the invariant part of a mark's base64 text after the given number of bytes.
func inBase64(mark string, before int) []byte {
	text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("\x00", before) + mark))
	return []byte(text[(before*8+5)/6 : len(text)-1])
}

// seenByAnn returns ann's view of her tasks over every binding.
func (h *hub) seenByAnn(victims []*guess) string {
	h.t.Helper()
	var all strings.Builder
	for _, b := range bindings {
		for _, g := range victims {
			for _, r := range [][2]string{
				{"GetTask", `{"id":"$task"}`},
				{"ListTaskPushNotificationConfigs", `{"taskId":"$task"}`},
			} {
				all.WriteString(h.must(&b, h.ann, r[0], g.in(r[1])).read + "\n")
			}
		}
		if list := (call{"ListTasks", `{"includeArtifacts":true,"historyLength":100}`, ""}); b.has(&list) {
			all.WriteString(h.must(&b, h.ann, list.method, list.params).read + "\n")
		}
	}
	return all.String()
}

// wantMarks checks that ann received every mark, so that there is data to leak, and no secret
// of a webhook, which even its owner must not receive.
func (h *hub) wantMarks(t *testing.T) {
	t.Helper()
	seen := string(h.ann.tap.bytes())
	for _, name := range slices.Concat(callerMarks, agentMarks, []string{"config", "hook", "second"}) {
		if !strings.Contains(seen, h.ann.mark+"-"+name) {
			t.Errorf("ann does not see %s of her tasks, so that bob could not either", name)
		}
	}
	for _, raw := range []string{rawText(h.ann.mark), string(rawMark(h.ann.mark))} {
		if !strings.Contains(seen, raw) {
			t.Errorf("ann does not see the raw part as %q", raw)
		}
	}
	for _, name := range []string{"token", "credentials"} {
		if strings.Contains(seen, h.ann.mark+"-"+name) {
			t.Errorf("the %s of a webhook is told", name)
		}
	}
}

// TestSameID makes both callers choose the same ids with the extension that allows it. Each then has
// a task of its own.
func TestSameID(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		rest := &bindings[1]
		for _, command := range []string{"done", "ask", "hold"} {
			g := &guess{task: "same-" + command, config: knownConfig, context: knownContext}
			for _, c := range []*caller{h.ann, h.bob} {
				params := c.secret(command, `"taskId":"`+g.task+`","contextId":"`+g.context+`",`)
				if a := h.must(rest, c.naming(card.ClientTaskIDs), "SendMessage", params); !strings.Contains(a.read, `"`+g.task+`"`) {
					t.Fatalf("%s does not get its id: %v", c.mark, a)
				}
				if command == "hold" {
					h.awaitOnStream(c, g.task, c.mark+"-artifactname")
				}
			}
			h.twins(t, g, command)
		}
		h.wantMarks(t)
		h.wantSilence(t)
	})
}

// twins makes both callers perform all operations on tasks with the same id.
func (h *hub) twins(t *testing.T, g *guess, command string) {
	t.Helper()
	hook := func(c *caller) string {
		return `{"taskId":"$task","id":"$config","url":"https://example.org/` + c.mark + `-second"}`
	}
	for _, b := range bindings {
		for _, c := range []*caller{h.ann, h.bob} {
			h.must(&b, c, "CreateTaskPushNotificationConfig", g.in(hook(c)))
		}
		before := h.seenByAnn([]*guess{g})
		for _, r := range [][2]string{
			{"GetTask", `{"id":"$task"}`},
			{"ListTasks", `{"contextId":"$context","includeArtifacts":true,"historyLength":100}`},
			{"GetTaskPushNotificationConfig", `{"taskId":"$task","id":"$config"}`},
			{"ListTaskPushNotificationConfigs", `{"taskId":"$task"}`},
		} {
			if !b.has(&call{r[0], r[1], ""}) {
				continue
			}
			a := h.must(&b, h.bob, r[0], g.in(r[1]))
			h.wantUnmarked(t, r[0]+" of a twin over "+b.name, a)
			if !strings.Contains(a.read, h.bob.mark) {
				t.Errorf("%s of a twin over %s has nothing of bob's: %v", r[0], b.name, a)
			}
		}
		h.must(&b, h.bob, "DeleteTaskPushNotificationConfig", g.in(`{"taskId":"$task","id":"$config"}`))
		if diff := cmp.Diff(before, h.seenByAnn([]*guess{g})); diff != "" {
			t.Errorf("over %s bob has changed what ann sees (-before +after):\n%s", b.name, diff)
		}
	}
	h.endTwin(t, g, command)
}

// endTwin ends bob's task. Ann's task must stay unchanged.
func (h *hub) endTwin(t *testing.T, g *guess, command string) {
	t.Helper()
	before := h.seenByAnn([]*guess{g})
	grpc := &bindings[2]
	switch command {
	case "ask":
		h.must(grpc, h.bob, "SendMessage", sendParams(`"taskId":"`+g.task+`",`))
	case "hold":
		h.must(grpc, h.bob, "CancelTask", g.in(`{"id":"$task"}`))
	}
	for _, b := range bindings {
		a := b.do(h, h.bob, call{"SubscribeToTask", g.in(`{"id":"$task"}`), "1"})
		h.wantUnmarked(t, "the log of a twin over "+b.name, a)
		if !strings.Contains(a.read, "bobmark-artifactname") {
			t.Errorf("over %s bob does not see the log of his task: %v", b.name, a)
		}
	}
	if diff := cmp.Diff(before, h.seenByAnn([]*guess{g})); diff != "" {
		t.Errorf("the end of bob's task has changed ann's (-before +after):\n%s", diff)
	}
}

// TestClaimedID makes bob choose ids with the extension that allows it: one of ann's and an unused
// one. Bob must not be able to distinguish them. TestForeignIsAsMissing names no extension.
func TestClaimedID(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		victims := h.victims()
		before := h.seenByAnn(victims)
		rest := &bindings[1]
		for i, g := range victims {
			method := []string{"SendMessage", "SendStreamingMessage"}[i%2]
			var learned []string
			for _, g := range []*guess{g, wrong(g)} {
				a := h.must(rest, h.bob.naming(card.ClientTaskIDs), method, g.in(sendParams(`"taskId":"$task","contextId":"$context",`)))
				h.wantUnmarked(t, method, a)
				learned = append(learned, a.sameness(g, true))
			}
			if diff := cmp.Diff(learned[1], learned[0]); diff != "" {
				t.Errorf("%s: foreign and missing differ (-missing +foreign):\n%s", method, diff)
			}
		}
		h.wantSilence(t)
		if diff := cmp.Diff(before, h.seenByAnn(victims)); diff != "" {
			t.Errorf("bob has changed what ann sees (-before +after):\n%s", diff)
		}
	})
}
