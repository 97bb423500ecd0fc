package rockbothttp_test

import (
	"errors"
	"testing"

	"github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbothttp"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// testHostileCaller sends calls that no caller of RockBot sends. Each call is refused with its
// code, and no task is stored.
func testHostileCaller(t *testing.T, h *hubtest.Hub) {
	bob := at(h, "/", bobs)
	before, err := bob.List(within(t), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	send := func(message string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":` + message + `}}`
	}
	for body, code := range map[string]int{
		`{`:                                   -32700,
		`[]`:                                  -32600,
		`{"jsonrpc":"2.0","id":1}`:            -32600,
		`{"jsonrpc":"2.0","id":1,"method":7}`: -32600,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"ListTasks","params":{}}`:                                                          -32600,
		`{"jsonrpc":"2.0","id":1,"method":"Send"}`:                                                                                  -32601,
		`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":[]}`:                                                                 -32602,
		`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"status":{}}}`:                                                      -32602,
		`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"status":"resting"}}`:                                               -32602,
		`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageSize":-1}}`:                                                    -32602,
		`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageToken":"none"}}`:                                               -32602,
		`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"statusTimestampAfter":1}}`:                                         -32602,
		`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}}`:                                                                   -32602,
		`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"none"}}`:                                                        -32001,
		`{"jsonrpc":"2.0","id":1,"method":"CancelTask","params":{"id":"none"}}`:                                                     -32001,
		`{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"none"}}`:                                                -32001,
		send(`{"role":"user","parts":[]}`):                                                                                          -32602,
		send(`{"role":"user"}`):                                                                                                     -32602,
		send(`{"role":"user","parts":[{"text":7}]}`):                                                                                -32602,
		send(`{"role":"user","parts":[{"text":"a","url":"b"}]}`):                                                                    -32602,
		send(`{"role":"user","parts":[{"text":"a"}],"contextId":{}}`):                                                               -32602,
		send(`{"role":"user","parts":[{"text":"a"}],"taskId":"none"}`):                                                              -32001,
		send(`{"role":"user","parts":[{"text":"a"}],"metadata":[]}`):                                                                -32602,
		send(`{"role":"agent","parts":[{"text":"a"}]}`):                                                                             -32602,
		send(`{"role":"user","role":"user","parts":[{"text":"a"}]}`):                                                                -32602,
		`{"jsonrpc":"2.0","id":1,"method":"CreateTaskPushNotificationConfig","params":{"taskId":"none","configId":"c","config":7}}`: -32602,
		`{"jsonrpc":"2.0","id":1,"method":"CreateTaskPushNotificationConfig","params":{"taskId":"none","configId":"c","config":{"url":"http://127.0.0.1:1/"}}}`: -32001,
	} {
		var refused *rockbothttp.Error
		if got, err := bob.Raw(within(t), body); !errors.As(err, &refused) || refused.Code != code || refused.Message == "" {
			t.Errorf("%s: %s, %v, want code %d", body, got, err, code)
		}
	}
	after, err := bob.List(within(t), `{}`)
	if err != nil || after.TotalSize != before.TotalSize {
		t.Errorf("there were %d tasks, and there are %+v, %v", before.TotalSize, after, err)
	}
}
