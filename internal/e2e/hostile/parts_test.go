package hostile

import "strings"

// partOf requests the path of a large part with another digest or another task.
func partOf(change func(task, digest string) string) send {
	return func(w *world) *answer {
		task, digest, _ := strings.Cut(strings.TrimPrefix(w.names["$bobspart"], "/v1/parts/"), "/")
		return get("/v1/parts/" + change(task, digest))(w)
	}
}

// sayPart sends a message with the address of a part.
func sayPart(url string) send {
	return func(w *world) *answer {
		return web("POST", "/v1/a2a/tally/message:send", `{"message":{"messageId":"m-part","role":"ROLE_USER","parts":[{"url":"`+
			strings.ReplaceAll(url, "$hub", w.hub.URL())+`"}]}}`)(w)
	}
}

// partRows are manipulations of the addresses of large parts.
var partRows = []row{
	{name: "the good one", send: get("$part"), want: "200"},
	{name: "without a key", send: get("$part", "X-Api-Key:"), want: unauthenticated},
	{name: "of another caller, its beginning", send: get("$bobspart", "Range: bytes=0-9"), want: noTask},
	{name: "of another caller, if it is another", send: get("$bobspart", "If-None-Match: *"), want: noTask},
	{name: "of another caller, in one's own task", send: partOf(func(_, digest string) string { return "$asked/" + digest }), want: noTask},
	{name: "a digest that is none", send: partOf(func(task, _ string) string { return task + "/" + strings.Repeat("0", 64) }), want: noTask},
	{name: "a digest that is a path", send: get("/v1/parts/$asked/..%2f..%2fsecret.key"), want: noPath},
	{name: "a digest that is a file", send: get("/v1/parts/$asked/%2fetc%2fpasswd"), want: noPath},
	{name: "a task that is a path", send: partOf(func(_, digest string) string { return "..%2f..%2f/" + digest }), want: noTask},
	{name: "a digest in capitals", send: partOf(func(task, digest string) string { return task + "/" + strings.ToUpper(digest) }), want: noPath},
	{name: "a part behind the part", send: get("$part/x"), want: noPath},
	{name: "it is deleted", send: web("DELETE", "$part", ""), want: "405 METHOD_NOT_FOUND"},
	{name: "a thousand ranges", send: get("$part", "Range: bytes="+strings.Repeat("0-,", 999)+"0-"), want: "200"},
	{name: "a range beyond", send: get("$part", "Range: bytes=99999999999999999999-"), want: "416"},
	{name: "a message with another caller's", send: sayPart("$hub$bobspart"), want: "400 INVALID_PARAMS message.parts[0].url"},
	{name: "a message with nobody's", send: sayPart("$hub/v1/parts/$asked/" + strings.Repeat("0", 64)), want: "400 INVALID_PARAMS message.parts[0].url"},
}
