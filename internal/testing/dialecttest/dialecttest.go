package dialecttest

import (
	"strings"

	_ "github.com/parley-a2a/parley/internal/parts/promptkit" // the tongues have these dialects
	_ "github.com/parley-a2a/parley/internal/parts/rockbot/gateway"
)

// The names of the dialects of parts.
const (
	// Derived derives from v0.3.
	Derived = "promptkit"
	// Gateway has the methods of v1.0, without a version.
	Gateway = "rockbot"
	// Job is POST /tasks/send.
	Job = "rockbot-task"
)

// Jobs is the name of the tongue that sends jobs.
const Jobs = "rockbot job"

// Operations returns the operations that every dialect is tested for on tasks of other
// dialects, in the order of the table's columns.
func Operations() []string {
	return []string{"get", "next", "stream", "subscribe", "cancel", "list", "push", "pushGet", "pushList", "pushDelete"}
}

// Exchange is a request and the text that its answer must contain. A request is "METHOD path", or
// "CALL method" for gRPC and "CALL3 method" for gRPC of v0.3, with a body after a line break.
// $ID is the task, $CTX its context, $CONFIG a webhook of it, and $NEW a new id.
type Exchange struct{ Request, Want string }

// Tongue holds the requests of one dialect about a task of the agent ask.
type Tongue struct {
	// Name is the name of the dialect, Version the value of A2A-Version; "" omits the header.
	Name, Version string
	// Make creates a task that waits for its caller.
	Make Exchange
	// Has are the operations of the dialect. Lacks are requests for operations that the dialect
	// does not have, with the expected refusal. Each operation is in one of the two.
	Has, Lacks map[string]Exchange
	// Public and Extended are the requests for the agent cards; the request is empty if the
	// dialect has no such card.
	Public, Extended Exchange
}

// states are the spellings of the task states in one dialect.
type states struct{ asks, ended, canceled string }

func post(path, method, params string) string {
	return "POST " + path + "\n" + `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

// message returns the params of a message.
func message(role, part, rest string) string {
	return `{"message":{"messageId":"m","role":"` + role + `","parts":[` + part + `]` + rest + `}}`
}

const (
	inContext = `,"contextId":"$CTX"`
	ofTask    = `,"taskId":"$ID"`
	hook      = `"id":"$CONFIG","url":"https://a.example/$CONFIG"`
)

// calls returns the requests of a JSON-RPC dialect about one task.
func calls(names [6]string, role, part string, s states) (begin Exchange, has map[string]Exchange) {
	const path = "/a2a/ask"
	return Exchange{post(path, names[0], message(role, part, inContext)), s.asks}, map[string]Exchange{
		"get":       {post(path, names[1], `{"id":"$ID"}`), s.asks},
		"next":      {post(path, names[2], message(role, part, ofTask)), s.ended},
		"stream":    {post(path, names[3], message(role, part, ofTask)), s.ended},
		"subscribe": {post(path, names[4], `{"id":"$ID"}`), s.asks},
		"cancel":    {post(path, names[5], `{"id":"$ID"}`), s.canceled},
	}
}

var (
	v1Names  = [6]string{"SendMessage", "GetTask", "SendMessage", "SendStreamingMessage", "SubscribeToTask", "CancelTask"}
	v03Names = [6]string{"message/send", "tasks/get", "message/send", "message/stream", "tasks/resubscribe", "tasks/cancel"}
	pkNames  = [6]string{"message/send", "tasks/get", "message/send", "message/stream", "tasks/subscribe", "tasks/cancel"}

	v1States  = states{`"TASK_STATE_INPUT_REQUIRED"`, `"TASK_STATE_COMPLETED"`, `"TASK_STATE_CANCELED"`}
	v03States = states{`"input-required"`, `"completed"`, `"canceled"`}
	pkStates  = states{`"input_required"`, `"completed"`, `"canceled"`}
	rbStates  = states{`"inputRequired"`, "sunny in Oslo", `"canceled"`}
)

// notFound is the HTTP answer for an unknown path.
const notFound = "404 Not Found\n"

const (
	text   = `{"text":"Oslo"}`
	kinded = `{"kind":"text","text":"Oslo"}`
)

// All returns the tongues of all dialects.
func All() []Tongue {
	return []Tongue{v1(), v1REST(), v1GRPC(), v03(), v03REST(), v03GRPC(), promptKit(), rockBot(), job()}
}

// listAndPush adds the operations that have the same requests in v1.0 and RockBot's gateway.
func listAndPush(has map[string]Exchange, asks string) map[string]Exchange {
	const path = "/a2a/ask"
	has["list"] = Exchange{post(path, "ListTasks", `{"contextId":"$CTX"}`), asks}
	has["push"] = Exchange{post(path, "CreateTaskPushNotificationConfig", `{"taskId":"$ID",`+hook+`}`), `"result":{"taskId":"$ID","id":"$CONFIG"`}
	has["pushGet"] = Exchange{post(path, "GetTaskPushNotificationConfig", `{"taskId":"$ID","id":"$CONFIG"}`), `"result":{"taskId":"$ID","id":"$CONFIG"`}
	has["pushList"] = Exchange{post(path, "ListTaskPushNotificationConfigs", `{"taskId":"$ID"}`), `"configs":[{"taskId":"$ID","id":"$CONFIG"`}
	has["pushDelete"] = Exchange{post(path, "DeleteTaskPushNotificationConfig", `{"taskId":"$ID","id":"$CONFIG"}`), `"result":{}`}
	return has
}

func v1() Tongue {
	begin, has := calls(v1Names, "ROLE_USER", text, v1States)
	return Tongue{
		Name: "v1.0", Version: "1.0", Make: begin, Has: listAndPush(has, v1States.asks),
		Public:   Exchange{"GET /a2a/ask/.well-known/agent-card.json", `"supportedInterfaces"`},
		Extended: Exchange{post("/a2a/ask", "GetExtendedAgentCard", `{}`), `"supportedInterfaces"`},
	}
}

func v1REST() Tongue {
	const path = "/v1/a2a/ask"
	configs := path + "/tasks/$ID/pushNotificationConfigs"
	return Tongue{
		Name: "v1.0 REST", Version: "1.0",
		Make: Exchange{"POST " + path + "/message:send\n" + message("ROLE_USER", text, inContext), v1States.asks},
		Has: map[string]Exchange{
			"get":        {"GET " + path + "/tasks/$ID", v1States.asks},
			"next":       {"POST " + path + "/message:send\n" + message("ROLE_USER", text, ofTask), v1States.ended},
			"stream":     {"POST " + path + "/message:stream\n" + message("ROLE_USER", text, ofTask), v1States.ended},
			"subscribe":  {"GET " + path + "/tasks/$ID:subscribe", v1States.asks},
			"cancel":     {"POST " + path + "/tasks/$ID:cancel", v1States.canceled},
			"list":       {"GET " + path + "/tasks?contextId=$CTX", v1States.asks},
			"push":       {"POST " + configs + "\n{" + hook + "}", "\n" + `{"taskId":"$ID","id":"$CONFIG"`},
			"pushGet":    {"GET " + configs + "/$CONFIG", "\n" + `{"taskId":"$ID","id":"$CONFIG"`},
			"pushList":   {"GET " + configs, `{"configs":[{"taskId":"$ID","id":"$CONFIG"`},
			"pushDelete": {"DELETE " + configs + "/$CONFIG", "\n{}"},
		},
		Public:   Exchange{"GET " + path + "/.well-known/agent-card.json", `"supportedInterfaces"`},
		Extended: Exchange{"GET " + path + "/extendedAgentCard", `"supportedInterfaces"`},
	}
}

func v1GRPC() Tongue {
	ask := func(s string) string { return strings.Replace(s, "{", `{"tenant":"ask",`, 1) }
	const config = `{"tenant":"ask","taskId":"$ID","id":"$CONFIG"}`
	return Tongue{
		Name: "v1.0 gRPC", Version: "1.0",
		Make: Exchange{"CALL SendMessage\n" + ask(message("ROLE_USER", text, inContext)), v1States.asks},
		Has: map[string]Exchange{
			"get":        {"CALL GetTask\n" + `{"tenant":"ask","id":"$ID"}`, v1States.asks},
			"next":       {"CALL SendMessage\n" + ask(message("ROLE_USER", text, ofTask)), v1States.ended},
			"stream":     {"CALL SendStreamingMessage\n" + ask(message("ROLE_USER", text, ofTask)), v1States.ended},
			"subscribe":  {"CALL SubscribeToTask\n" + `{"tenant":"ask","id":"$ID"}`, v1States.asks},
			"cancel":     {"CALL CancelTask\n" + `{"tenant":"ask","id":"$ID"}`, v1States.canceled},
			"list":       {"CALL ListTasks\n" + `{"tenant":"ask","contextId":"$CTX"}`, v1States.asks},
			"push":       {"CALL CreateTaskPushNotificationConfig\n" + `{"tenant":"ask","taskId":"$ID",` + hook + `}`, `"url":"https://a.example/$CONFIG"`},
			"pushGet":    {"CALL GetTaskPushNotificationConfig\n" + config, `"url":"https://a.example/$CONFIG"`},
			"pushList":   {"CALL ListTaskPushNotificationConfigs\n" + `{"tenant":"ask","taskId":"$ID"}`, `"url":"https://a.example/$CONFIG"`},
			"pushDelete": {"CALL DeleteTaskPushNotificationConfig\n" + config, "OK\n{}"},
		},
		Public:   Exchange{"GET /.well-known/agent-card.json", `"protocolBinding":"GRPC"`},
		Extended: Exchange{"CALL GetExtendedAgentCard\n" + `{"tenant":"ask"}`, `"supportedInterfaces"`},
	}
}

func v03() Tongue {
	const path = "/a2a/ask"
	begin, has := calls(v03Names, "user", kinded, v03States)
	has["push"] = Exchange{post(path, "tasks/pushNotificationConfig/set", `{"taskId":"$ID","pushNotificationConfig":{`+hook+`}}`), `"pushNotificationConfig":{"id":"$CONFIG"`}
	has["pushGet"] = Exchange{post(path, "tasks/pushNotificationConfig/get", `{"id":"$ID","pushNotificationConfigId":"$CONFIG"}`), `"pushNotificationConfig":{"id":"$CONFIG"`}
	has["pushList"] = Exchange{post(path, "tasks/pushNotificationConfig/list", `{"id":"$ID"}`), `"result":[{"taskId":"$ID","pushNotificationConfig":{"id":"$CONFIG"`}
	has["pushDelete"] = Exchange{post(path, "tasks/pushNotificationConfig/delete", `{"id":"$ID","pushNotificationConfigId":"$CONFIG"}`), `"result":null`}
	return Tongue{
		Name: "v0.3", Version: "0.3", Make: begin, Has: has,
		Lacks:    map[string]Exchange{"list": {post(path, "tasks/list", `{"contextId":"$CTX"}`), `-32601`}},
		Public:   Exchange{"GET /a2a/ask/.well-known/agent.json", `"preferredTransport"`},
		Extended: Exchange{post(path, "agent/getAuthenticatedExtendedCard", `{}`), `"supportsAuthenticatedExtendedCard":true`},
	}
}

func v03REST() Tongue {
	const configs = "/v1/tasks/$ID/pushNotificationConfigs"
	content := func(rest string) string {
		return `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"Oslo"}]` + rest + `},"metadata":{"skill":"ask"},"configuration":{"blocking":true}}`
	}
	named := `"name":"tasks/$ID/pushNotificationConfigs/$CONFIG"`
	return Tongue{
		Name: "v0.3 REST",
		Make: Exchange{"POST /v1/message:send\n" + content(inContext), v1States.asks},
		Has: map[string]Exchange{
			"get":        {"GET /v1/tasks/$ID", v1States.asks},
			"next":       {"POST /v1/message:send\n" + content(ofTask), v1States.ended},
			"stream":     {"POST /v1/message:stream\n" + content(ofTask), v1States.ended},
			"subscribe":  {"POST /v1/tasks/$ID:subscribe", v1States.asks},
			"cancel":     {"POST /v1/tasks/$ID:cancel", `"TASK_STATE_CANCELLED"`},
			"push":       {"POST " + configs + "\n" + `{"configId":"$CONFIG","config":{"pushNotificationConfig":{` + hook + `}}}`, named},
			"pushGet":    {"GET " + configs + "/$CONFIG", named},
			"pushList":   {"GET " + configs, named},
			"pushDelete": {"DELETE " + configs + "/$CONFIG", "\n{}"},
		},
		Lacks:    map[string]Exchange{"list": {"GET /v1/tasks", notFound}},
		Public:   Exchange{"GET /.well-known/agent.json", `"preferredTransport"`},
		Extended: Exchange{"GET /v1/card", `"supportsAuthenticatedExtendedCard":true`},
	}
}

func v03GRPC() Tongue {
	parts := func(rest string) string {
		return strings.TrimSuffix(message("ROLE_USER", text, rest), "}") + `,"metadata":{"skill":"ask"},"configuration":{"blocking":true}}`
	}
	const name, config = `{"name":"tasks/$ID"}`, `{"name":"tasks/$ID/pushNotificationConfigs/$CONFIG"}`
	named := config[1 : len(config)-1]
	return Tongue{
		Name: "v0.3 gRPC", Version: "0.3",
		Make: Exchange{"CALL3 SendMessage\n" + parts(inContext), v1States.asks},
		Has: map[string]Exchange{
			"get":        {"CALL3 GetTask\n" + name, v1States.asks},
			"next":       {"CALL3 SendMessage\n" + parts(ofTask), v1States.ended},
			"stream":     {"CALL3 SendStreamingMessage\n" + parts(ofTask), `"state":"TASK_STATE_COMPLETED"`},
			"subscribe":  {"CALL3 TaskSubscription\n" + name, v1States.asks},
			"cancel":     {"CALL3 CancelTask\n" + name, `"TASK_STATE_CANCELLED"`},
			"push":       {"CALL3 CreateTaskPushNotificationConfig\n" + `{"parent":"tasks/$ID","configId":"$CONFIG","config":{"pushNotificationConfig":{` + hook + `}}}`, named},
			"pushGet":    {"CALL3 GetTaskPushNotificationConfig\n" + config, named},
			"pushList":   {"CALL3 ListTaskPushNotificationConfig\n" + `{"parent":"tasks/$ID"}`, named},
			"pushDelete": {"CALL3 DeleteTaskPushNotificationConfig\n" + config, "OK\n{}"},
		},
		Lacks:    map[string]Exchange{"list": {"CALL3 ListTasks\n" + `{"contextId":"$CTX"}`, `"code":12`}},
		Public:   Exchange{"GET /.well-known/agent.json", `"transport":"GRPC"`},
		Extended: Exchange{"CALL3 GetAgentCard\n{}", `"supportsAuthenticatedExtendedCard":true`},
	}
}

func promptKit() Tongue {
	const path = "/a2a/ask"
	begin, has := calls(pkNames, "user", text, pkStates)
	has["list"] = Exchange{post(path, "tasks/list", `{"contextId":"$CTX"}`), pkStates.asks}
	lacks := map[string]Exchange{
		"push":       {post(path, "tasks/pushNotification/set", `{"taskId":"$ID",`+hook+`}`), "-32601"},
		"pushGet":    {post(path, "tasks/pushNotification/get", `{"taskId":"$ID","id":"$CONFIG"}`), "-32601"},
		"pushList":   {post(path, "tasks/pushNotification/list", `{"taskId":"$ID"}`), "-32601"},
		"pushDelete": {post(path, "tasks/pushNotification/delete", `{"taskId":"$ID","id":"$CONFIG"}`), "-32601"},
	}
	return Tongue{
		Name: Derived, Make: begin, Has: has, Lacks: lacks,
		Public: Exchange{"GET /a2a/ask/.well-known/agent.json", `"url":"http`},
	}
}

func rockBot() Tongue {
	begin, has := calls(v1Names, "user", text, rbStates)
	return Tongue{
		Name: Gateway, Make: begin, Has: listAndPush(has, rbStates.asks),
		Public:   Exchange{"GET /.well-known/agent-card.json", `"supportedInterfaces"`},
		Extended: Exchange{post("/a2a/ask", "GetExtendedAgentCard", `{}`), `"supportedInterfaces"`},
	}
}

func job() Tongue {
	send := func(text string) string {
		return "POST /a2a/ask/tasks/send\n" + `{"taskId":"$NEW","contextId":"$CTX","message":{"role":"user","parts":[{"kind":"text","text":"` + text + `"}]}}`
	}
	refused := func(method, path string) Exchange { return Exchange{method + " /a2a/ask/tasks/" + path, notFound} }
	return Tongue{
		Name: Jobs,
		Make: Exchange{send("hi"), `"state":2`},
		Has:  map[string]Exchange{"next": {send("Oslo"), `"state":3`}},
		Lacks: map[string]Exchange{
			"get": refused("GET", "$ID"), "stream": refused("POST", "sendSubscribe"), "subscribe": refused("POST", "resubscribe"),
			"cancel": refused("POST", "cancel"), "list": refused("GET", ""), "push": refused("POST", "pushNotification/set"),
			"pushGet": refused("POST", "pushNotification/get"), "pushList": refused("POST", "pushNotification/list"),
			"pushDelete": refused("POST", "pushNotification/delete"),
		},
		Public: Exchange{"GET /a2a/ask/.well-known/agent.json", `"url":"http`},
	}
}
