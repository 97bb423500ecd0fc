package rockbotpeer_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbotpeer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestDecode compares the decoder with the behaviour of System.Text.Json with RockBot's
// options.
func TestDecode(t *testing.T) {
	t.Parallel()
	const message = `"message":{"role":"user","parts":[]}`
	tests := map[string]string{
		`{"taskId":"1","skill":"s",` + message + `}`:                                      "",
		`{"TASKID":"1","Skill":"s","other":[1],` + message + `}`:                          "",
		`{"taskId":"1","skill":"s","metadata":null,"contextId":null,` + message + `}`:     "",
		`{"taskId":"1","skill":"s","metadata":{"a":"b"},` + message + `}`:                 "",
		`{"taskId":"1","skill":"s","metadata":{"parley.hops":7},` + message + `}`:         "The JSON value could not be converted to System.String. Path: $.metadata['parley.hops'] | LineNumber: 0 | BytePositionInLine: 53.",
		`{"taskId":"1","skill":"s","message":{"role":"user","parts":[{"data":{"a":1}}]}}`: "The JSON value could not be converted to System.String. Path: $.message.parts[0].data | LineNumber: 0 | BytePositionInLine: 69.",
		`{"taskId":"1",` + "\n" + `"skill":true,` + message + `}`:                         "The JSON value could not be converted to System.String. Path: $.skill | LineNumber: 1 | BytePositionInLine: 12.",
		`{"taskId":"1",` + message + `}`:                                                  "JSON deserialization for type 'RockBot.A2A.AgentTaskRequest' was missing required properties including: 'skill'.",
		`{"taskId":"1","skill":"s","message":{"role":"user","parts":[{"text":"x"}]}}`:     "JSON deserialization for type 'RockBot.A2A.AgentMessagePart' was missing required properties including: 'kind'.",
		`{"taskId":"1","skill":"s","message":{"role":"user","parts":{}}}`:                 "The JSON value could not be converted to System.Collections.Generic.IReadOnlyList`1[RockBot.A2A.AgentMessagePart]. Path: $.message.parts | LineNumber: 0 | BytePositionInLine: 60.",
		`[]`: "The JSON value could not be converted to RockBot.A2A.AgentTaskRequest. Path: $ | LineNumber: 0 | BytePositionInLine: 1.",
	}
	for body, want := range tests {
		got := ""
		if err := rockbotpeer.Decode([]byte(body), new(rockbotpeer.Request)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("Decode(%s) = %q, want %q", body, got, want)
		}
	}
	for body, ok := range map[string]bool{
		`{"taskId":"1","state":3}`: true, `{"taskId":"1","state":99}`: true, `{"taskId":"1","state":"Completed"}`: false,
		`{"taskId":"1","state":"3"}`: false, `{"taskId":"1","state":1.5}`: false, `{"taskId":"1","state":null}`: false, `{"taskId":"1"}`: false,
		``: false, `{"taskId":"1","state":3,}`: false, `{"taskId":"1","state":3} x`: false,
	} {
		if err := rockbotpeer.Decode([]byte(body), new(rockbotpeer.Result)); (err == nil) != ok {
			t.Errorf("Decode(%s) = %v, want success %v", body, err, ok)
		}
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	in := &rockbotpeer.Result{
		TaskID: rockbotpeer.Ptr("t"), State: rockbotpeer.Completed,
		Message: &rockbotpeer.Message{Role: rockbotpeer.Ptr("agent"), Parts: []rockbotpeer.Part{rockbotpeer.DataPart(map[string]string{"é": "<"})}},
	}
	const want = `{"taskId":"t","contextId":null,"state":3,"artifacts":null,"message":{"role":"agent","parts":[` +
		`{"kind":"data","text":null,"data":"{\u0022\u00E9\u0022:\u0022\\u003c\u0022}","mimeType":"application/json"}],"metadata":null}}`
	body := rockbotpeer.Encode(in)
	if diff := cmp.Diff(want, string(body)); diff != "" {
		t.Errorf("Encode mismatch (-want +got):\n%s", diff)
	}
	out := new(rockbotpeer.Result)
	if err := rockbotpeer.Decode(body, out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out); diff != "" {
		t.Errorf("round trip mismatch (-want +got):\n%s", diff)
	}
}
