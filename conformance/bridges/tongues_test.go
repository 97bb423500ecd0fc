package bridges

import "strings"

// The operations that cross from one dialect to another, in the order of the columns.
var operations = []string{
	"get", "next", "stream", "subscribe", "cancel", "list", "push", "pushGet", "pushList", "pushDelete",
}

// words is a request and what the answer has in it. A request is "METHOD path", or "CALL
// method" for gRPC, "CALL3 method" for that of v0.3, with a body after a line break. $ID is the task, $CTX its context,
// $CONFIG a webhook of it, $NEW an id that is new.
type words struct{ request, want string }

// tongue is how a client of one dialect talks about a task of the agent ask.
type tongue struct {
	name, version string
	// make begins a task that waits for its caller.
	make words
	// has are the operations that the dialect has, lacks those that it does not have: what
	// a client might try, and how it is refused. Each operation is in one of the two.
	has, lacks map[string]words
	// public and extended are how a client gets the cards; the request is empty where the
	// dialect has none.
	public, extended words
}

// The states of a task as each dialect writes them.
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

// calls returns the words of a JSON-RPC dialect about one task.
func calls(names [6]string, role, part string, s states) (begin words, has map[string]words) {
	const path = "/a2a/ask"
	return words{post(path, names[0], message(role, part, inContext)), s.asks}, map[string]words{
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

// notFound is how HTTP answers where nothing is served.
const notFound = "404 Not Found\n"

const (
	text   = `{"text":"Oslo"}`
	kinded = `{"kind":"text","text":"Oslo"}`
)

func tongues() []tongue {
	return []tongue{v1(), v1REST(), v1GRPC(), v03(), v03REST(), v03GRPC(), promptKit(), rockBot(), job()}
}

// listAndPush adds what v1.0 and RockBot's gateway call alike.
func listAndPush(has map[string]words, asks string) map[string]words {
	const path = "/a2a/ask"
	has["list"] = words{post(path, "ListTasks", `{"contextId":"$CTX"}`), asks}
	has["push"] = words{post(path, "CreateTaskPushNotificationConfig", `{"taskId":"$ID",`+hook+`}`), `"result":{"taskId":"$ID","id":"$CONFIG"`}
	has["pushGet"] = words{post(path, "GetTaskPushNotificationConfig", `{"taskId":"$ID","id":"$CONFIG"}`), `"result":{"taskId":"$ID","id":"$CONFIG"`}
	has["pushList"] = words{post(path, "ListTaskPushNotificationConfigs", `{"taskId":"$ID"}`), `"configs":[{"taskId":"$ID","id":"$CONFIG"`}
	has["pushDelete"] = words{post(path, "DeleteTaskPushNotificationConfig", `{"taskId":"$ID","id":"$CONFIG"}`), `"result":{}`}
	return has
}

func v1() tongue {
	begin, has := calls(v1Names, "ROLE_USER", text, v1States)
	return tongue{
		name: "v1.0", version: "1.0", make: begin, has: listAndPush(has, v1States.asks),
		public:   words{"GET /a2a/ask/.well-known/agent-card.json", `"supportedInterfaces"`},
		extended: words{post("/a2a/ask", "GetExtendedAgentCard", `{}`), `"supportedInterfaces"`},
	}
}

func v1REST() tongue {
	const path = "/v1/a2a/ask"
	configs := path + "/tasks/$ID/pushNotificationConfigs"
	return tongue{
		name: "v1.0 REST", version: "1.0",
		make: words{"POST " + path + "/message:send\n" + message("ROLE_USER", text, inContext), v1States.asks},
		has: map[string]words{
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
		public:   words{"GET " + path + "/.well-known/agent-card.json", `"supportedInterfaces"`},
		extended: words{"GET " + path + "/extendedAgentCard", `"supportedInterfaces"`},
	}
}

func v1GRPC() tongue {
	ask := func(s string) string { return strings.Replace(s, "{", `{"tenant":"ask",`, 1) }
	const config = `{"tenant":"ask","taskId":"$ID","id":"$CONFIG"}`
	return tongue{
		name: "v1.0 gRPC", version: "1.0",
		make: words{"CALL SendMessage\n" + ask(message("ROLE_USER", text, inContext)), v1States.asks},
		has: map[string]words{
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
		public:   words{"GET /.well-known/agent-card.json", `"protocolBinding":"GRPC"`},
		extended: words{"CALL GetExtendedAgentCard\n" + `{"tenant":"ask"}`, `"supportedInterfaces"`},
	}
}

func v03() tongue {
	const path = "/a2a/ask"
	begin, has := calls(v03Names, "user", kinded, v03States)
	has["push"] = words{post(path, "tasks/pushNotificationConfig/set", `{"taskId":"$ID","pushNotificationConfig":{`+hook+`}}`), `"pushNotificationConfig":{"id":"$CONFIG"`}
	has["pushGet"] = words{post(path, "tasks/pushNotificationConfig/get", `{"id":"$ID","pushNotificationConfigId":"$CONFIG"}`), `"pushNotificationConfig":{"id":"$CONFIG"`}
	has["pushList"] = words{post(path, "tasks/pushNotificationConfig/list", `{"id":"$ID"}`), `"result":[{"taskId":"$ID","pushNotificationConfig":{"id":"$CONFIG"`}
	has["pushDelete"] = words{post(path, "tasks/pushNotificationConfig/delete", `{"id":"$ID","pushNotificationConfigId":"$CONFIG"}`), `"result":null`}
	return tongue{
		name: "v0.3", version: "0.3", make: begin, has: has,
		lacks:    map[string]words{"list": {post(path, "tasks/list", `{"contextId":"$CTX"}`), `-32601`}},
		public:   words{"GET /a2a/ask/.well-known/agent.json", `"preferredTransport"`},
		extended: words{post(path, "agent/getAuthenticatedExtendedCard", `{}`), `"supportsAuthenticatedExtendedCard":true`},
	}
}

func v03REST() tongue {
	const configs = "/v1/tasks/$ID/pushNotificationConfigs"
	content := func(rest string) string {
		return `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"Oslo"}]` + rest + `},"metadata":{"skill":"ask"},"configuration":{"blocking":true}}`
	}
	named := `"name":"tasks/$ID/pushNotificationConfigs/$CONFIG"`
	return tongue{
		name: "v0.3 REST",
		make: words{"POST /v1/message:send\n" + content(inContext), v1States.asks},
		has: map[string]words{
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
		lacks:    map[string]words{"list": {"GET /v1/tasks", notFound}},
		public:   words{"GET /.well-known/agent.json", `"preferredTransport"`},
		extended: words{"GET /v1/card", `"supportsAuthenticatedExtendedCard":true`},
	}
}

func v03GRPC() tongue {
	parts := func(rest string) string {
		return strings.TrimSuffix(message("ROLE_USER", text, rest), "}") + `,"metadata":{"skill":"ask"},"configuration":{"blocking":true}}`
	}
	const name, config = `{"name":"tasks/$ID"}`, `{"name":"tasks/$ID/pushNotificationConfigs/$CONFIG"}`
	named := config[1 : len(config)-1]
	return tongue{
		name: "v0.3 gRPC", version: "0.3",
		make: words{"CALL3 SendMessage\n" + parts(inContext), v1States.asks},
		has: map[string]words{
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
		lacks:    map[string]words{"list": {"CALL3 ListTasks\n" + `{"contextId":"$CTX"}`, `"code":12`}},
		public:   words{"GET /.well-known/agent.json", `"transport":"GRPC"`},
		extended: words{"CALL3 GetAgentCard\n{}", `"supportsAuthenticatedExtendedCard":true`},
	}
}

func promptKit() tongue {
	const path = "/a2a/ask"
	begin, has := calls(pkNames, "user", text, pkStates)
	has["list"] = words{post(path, "tasks/list", `{"contextId":"$CTX"}`), pkStates.asks}
	lacks := map[string]words{
		"push":       {post(path, "tasks/pushNotification/set", `{"taskId":"$ID",`+hook+`}`), "-32601"},
		"pushGet":    {post(path, "tasks/pushNotification/get", `{"taskId":"$ID","id":"$CONFIG"}`), "-32601"},
		"pushList":   {post(path, "tasks/pushNotification/list", `{"taskId":"$ID"}`), "-32601"},
		"pushDelete": {post(path, "tasks/pushNotification/delete", `{"taskId":"$ID","id":"$CONFIG"}`), "-32601"},
	}
	return tongue{
		name: "promptkit", make: begin, has: has, lacks: lacks,
		public: words{"GET /a2a/ask/.well-known/agent.json", `"url":"http`},
	}
}

func rockBot() tongue {
	begin, has := calls(v1Names, "user", text, rbStates)
	return tongue{
		name: "rockbot", make: begin, has: listAndPush(has, rbStates.asks),
		public:   words{"GET /.well-known/agent-card.json", `"supportedInterfaces"`},
		extended: words{post("/a2a/ask", "GetExtendedAgentCard", `{}`), `"supportedInterfaces"`},
	}
}

func job() tongue {
	send := func(said string) string {
		return "POST /a2a/ask/tasks/send\n" + `{"taskId":"$NEW","contextId":"$CTX","message":{"role":"user","parts":[{"kind":"text","text":"` + said + `"}]}}`
	}
	refused := func(method, path string) words { return words{method + " /a2a/ask/tasks/" + path, notFound} }
	return tongue{
		name: "rockbot job",
		make: words{send("hi"), `"InputRequired"`},
		has:  map[string]words{"next": {send("Oslo"), `"Completed"`}},
		lacks: map[string]words{
			"get": refused("GET", "$ID"), "stream": refused("POST", "sendSubscribe"), "subscribe": refused("POST", "resubscribe"),
			"cancel": refused("POST", "cancel"), "list": refused("GET", ""), "push": refused("POST", "pushNotification/set"),
			"pushGet": refused("POST", "pushNotification/get"), "pushList": refused("POST", "pushNotification/list"),
			"pushDelete": refused("POST", "pushNotification/delete"),
		},
		public: words{"GET /a2a/ask/.well-known/agent.json", `"url":"http`},
	}
}
