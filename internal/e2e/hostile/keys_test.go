package hostile

import (
	"strings"

	"github.com/parley-a2a/parley/internal/testing/tokentest"
)

const unauthenticated = "401 UNAUTHENTICATED"

// tokenRows are tokens that the hub must refuse, each on one of the surfaces.
func tokenRows(w *world) []row {
	var rows []row
	for i, c := range tokentest.Bad(w.tb, w.corp) {
		method, path, body := "GET", "/v1/a2a/tasks", ""
		want := unauthenticated
		switch i % 4 {
		case 1:
			method, path, body, want = "POST", "/a2a", call("SendMessage", message("forged")), "401 -32000 UNAUTHENTICATED"
		case 2:
			path = "/api/v1/status"
		case 3:
			method, path, body, want = "POST", "/v1/a2a/message:send", message("forged"), unauthenticated
		}
		if c.Why == "scope" {
			want = strings.NewReplacer("401 -32000 UNAUTHENTICATED", "403 -31403 UNAUTHORIZED", unauthenticated, "403 UNAUTHORIZED").Replace(want)
		}
		rows = append(rows, row{name: c.Name, send: web(method, path, body, "Authorization: Bearer "+c.Token), want: want})
	}
	with := func(i *tokentest.Issuer, changes tokentest.Object) string { return i.Token(w.tb, i.Good(changes)) }
	as := func(token string) []string { return []string{"Authorization: Bearer " + token} }
	mine := func(token string) send { return web("GET", "/v1/a2a/tasks/$asked", "", as(token)...) }
	return append(rows, []row{
		{name: "the good one", send: web("GET", "/v1/a2a/tasks", "", as(with(w.corp, nil))...), want: "200 ok"},
		{name: "the good one of the organisation", send: mine(with(w.corp, tokentest.Object{"tenant": "t-1"})), want: "200 ok"},
		{name: "an organisation that is not named", send: mine(with(w.corp, tokentest.Object{"tenant": "acme"})), want: "404 TASK_NOT_FOUND"},
		{name: "two organisations, the first of which is known", send: mine(with(w.corp, tokentest.Object{"tenant": []string{"t-1", "t-2"}})), want: "200 ok"},
		{name: "the owner of an organisation as subject", send: mine(with(w.corp, tokentest.Object{"sub": "org:acme"})), want: "404 TASK_NOT_FOUND"},
		{name: "the name of a key as subject", send: mine(with(w.corp, tokentest.Object{"sub": "alice"})), want: "404 TASK_NOT_FOUND"},
		{name: "the organisation in a claim of another issuer", send: mine(with(w.shop, tokentest.Object{"tenant": "t-1"})), want: "404 TASK_NOT_FOUND"},
		{name: "signed by another issuer", send: mine((&tokentest.Issuer{URL: w.corp.URL, Audience: w.corp.Audience, KID: "k1", Key: w.shop.Key}).Token(w.tb, w.corp.Good(tokentest.Object{"tenant": "t-1"}))), want: unauthenticated},
		{name: "a role that nobody has named", send: web("GET", "/api/v1/keys", "", as(with(w.corp, tokentest.Object{"roles": []string{"admin"}, "groups": []string{"admin"}}))...), want: "403 UNAUTHORIZED"},
		{name: "a token in X-Api-Key that is bad", send: web("GET", "/v1/a2a/tasks", "", "X-Api-Key: "+with(w.corp, tokentest.Object{"exp": 1})), want: unauthenticated},
		{name: "a token in the query", send: web("GET", "/v1/a2a/tasks?access_token="+with(w.corp, nil), "", "X-Api-Key:"), want: unauthenticated},
		{name: "a token in a cookie", send: web("GET", "/v1/a2a/tasks", "", "X-Api-Key:", "Cookie: access_token="+with(w.corp, nil)), want: unauthenticated},
	}...)
}

// keyRows are keys that the hub must refuse.
var keyRows = []row{
	{name: "none", send: web("GET", "/v1/a2a/tasks", "", "X-Api-Key:"), want: unauthenticated},
	{name: "none, JSON-RPC", send: web("POST", "/", call("ListTasks", "{}"), "X-Api-Key:"), want: "401 -32000 UNAUTHENTICATED"},
	{name: "unknown", send: web("GET", "/v1/a2a/tasks", "", "X-Api-Key: sk-nobody-5f1b0c9e7d3a48261c"), want: unauthenticated},
	{name: "in another case", send: web("GET", "/v1/a2a/tasks", "", "X-Api-Key: "+strings.ToUpper(keyOf("alice"))), want: unauthenticated},
	{name: "the beginning", send: web("GET", "/v1/a2a/tasks", "", "X-Api-Key: "+keyOf("alice")[:20]), want: unauthenticated},
	{name: "the hash of one", send: web("GET", "/v1/a2a/tasks", "", "X-Api-Key: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"), want: unauthenticated},
	{name: "empty", send: raw("GET /v1/a2a/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: \r\n\r\n"), want: unauthenticated},
	{name: "basic", send: web("GET", "/v1/a2a/tasks", "", "Authorization: Basic YWxpY2U6YWxpY2U="), want: unauthenticated},
	{name: "scheme alone", send: web("GET", "/v1/a2a/tasks", "", "Authorization: Bearer"), want: unauthenticated},
	{name: "of two callers", send: web("GET", "/v1/a2a/tasks", "", "X-Api-Key: $key-alice", "Authorization: Bearer $key-bob"), want: unauthenticated},
	{name: "of two callers in one header", send: web("GET", "/v1/a2a/tasks", "", "X-Api-Key: $key-alice", "X-Api-Key: $key-root"), want: unauthenticated},
	{name: "two authorizations", send: web("GET", "/v1/a2a/tasks", "", "Authorization: Bearer $key-alice", "Authorization: Bearer $key-root"), want: unauthenticated},
	{name: "two in one value", send: web("GET", "/v1/a2a/tasks", "", "X-Api-Key: $key-alice, $key-root"), want: unauthenticated},
	{name: "a good one and rubbish", send: web("GET", "/v1/a2a/tasks", "", "X-Api-Key: $key-alice", "Authorization: Digest x"), want: unauthenticated},
	{name: "of a worker", send: web("GET", "/v1/a2a/tasks", "", "X-Api-Key: $buskey"), want: unauthenticated},
	{name: "of a worker, at the API", send: web("GET", "/api/v1/agents", "", "Authorization: Bearer $buskey"), want: unauthenticated},
	{name: "of a worker, at MCP", send: web("POST", "/mcp", "{}", "Authorization: Bearer $buskey"), want: unauthenticated},
	{name: "of 20 KiB", send: web("GET", "/v1/a2a/tasks", "", "X-Api-Key: "+strings.Repeat("k", 20<<10)), want: unauthenticated},
	{name: "not UTF-8", send: web("GET", "/v1/a2a/tasks", "", "X-Api-Key: \xff\xfe\xc0\x80aaaaaaaaaaaaaaaa"), want: unauthenticated},
	{name: "who is anonymous says so", send: web("GET", "/v1/a2a/tasks", "", "X-Api-Key:", "X-Forwarded-User: alice", "X-Remote-User: root", "X-Forwarded-For: 127.0.0.1"), want: unauthenticated},
	{name: "in the query", send: web("GET", "/v1/a2a/tasks?api_key=$key-alice", "", "X-Api-Key:"), want: unauthenticated},
	{name: "in the address", send: web("GET", "http://$key-alice@127.0.0.1/v1/a2a/tasks", "", "X-Api-Key:"), want: unauthenticated},
	{name: "an organisation of others", send: web("GET", "/v1/a2a/tasks", "", "X-Parley-Owner: globex"), want: "403 UNAUTHORIZED"},
	{name: "the owner of others' tasks", send: web("GET", "/v1/a2a/tasks", "", "X-Parley-Owner: org:globex"), want: "403 UNAUTHORIZED"},
	{name: "the owner of those without credentials", send: web("GET", "/v1/a2a/tasks", "", "X-Parley-Owner: local"), want: "403 UNAUTHORIZED"},
	{name: "two organisations", send: web("GET", "/v1/a2a/tasks", "", "X-Parley-Owner: acme", "X-Parley-Owner: globex"), want: "400 INVALID_REQUEST"},
	{name: "preflight", send: web("OPTIONS", "/v1/a2a/message:send", "", "X-Api-Key:", "Origin: https://evil.example", "Access-Control-Request-Method: POST"), want: "403 UNAUTHORIZED"},
}

const denied = "403 UNAUTHORIZED"

// policyRows are odd ways to an agent that the policy denies to alice; TestPolicyOnEverySurface in
// internal/cli tests the others. The hub does not reveal the
// agent's skill to callers without access.
var policyRows = []row{
	{name: "by an encoded path", send: web("POST", "/v1/a2a/sl%6fw/message:send", message("x")), want: denied},
	{name: "by the tenant", send: web("POST", sendREST, `{"tenant":"slow",`+message("x")[1:]), want: denied},
	{name: "by another name of the tenant", send: rpc("SendMessage", `{"agentId":"slow",`+message("x")[1:]), want: "403 -31403 UNAUTHORIZED"},
	{name: "by the skill", send: web("POST", sendREST, message("x", `"metadata":{"skill":"slow"}`)), want: "400 INVALID_PARAMS metadata.skill"},
	{name: "by another name of the skill", send: web("POST", sendREST, message("x", `"metadata":{"skillHint":"slow"}`)), want: "400 INVALID_PARAMS metadata.skill"},
	{name: "by a skill of chat", send: chat(`{"model":"slow/slow","messages":[{"role":"user","content":"x"}]}`), want: "404 model_not_found invalid_request_error model"},
}
