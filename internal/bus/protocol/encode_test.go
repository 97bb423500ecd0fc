package protocol

import (
	"encoding/json"
	"strings"
	"testing"
)

// spellings are texts in unusual forms.
var spellings = []string{
	`{}`, `null`, `[]`, ``, `{"worker":"a","worker":"b"}`, `{"worker":"a","WORKER":"b"}`, `{"worker":null,"nonce":1}`, `{"delivery":1.5}`,
	`{"delivery":"1"}`, `{"events":[null, {} ,"x"]}`, `{"events":null}`, `{"events":[]}`, `{"events":{}}`, `{"events":[1],"events":[2,3]}`,
	`{"large":{"id":"a","size":1,"sha256":"AQID"},"piece":{"blob":"a","offset":0,"data":"AQ=="}}`, `{"large":{"sha256":"!"}}`, `{"large":{"sha256":null}}`,
	`{"large":null,"piece":null}`, `{"final":1}`, `{"final":null}`, `{"Final":true}`, `{"jobs":[{"task":"t","epoch":1,"token":"x"},null]}`,
	`{"jobs":[{"task":"t"},{"more":1}]}`, `{"envelopes":[{"type":"a","body": {"a" : 1} ,"trace":{"a":"b"}},{"type":"b","body":null}]}`,
	`{"envelopes":7}`, `{"envelopes":[7]}`, `{"message": {"a":1} ,"metadata":null,"task":"x"}`, `{"extensions":["a","b"],"batches":true}`, "{\"token\":\"\xff\"}",
}

// FuzzDecode: a report or batch that can be decoded can be encoded and decoded again.
func FuzzDecode(f *testing.F) {
	for _, text := range spellings {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		sameAgain[Report](t, text)
		sameAgain[Batch](t, text)
		sameAgain[Work](t, text)
	})
}

func sameAgain[T any](t *testing.T, text []byte) {
	t.Helper()
	var first, second T
	if Decode(text, &first) != nil {
		return
	}
	sent, err := Encode(first)
	if err != nil {
		t.Fatalf("Encode(%+v) = %v", first, err)
	}
	if err := Decode(sent, &second); err != nil {
		t.Fatalf("Decode(%s) = %v", sent, err)
	}
	if again, err := Encode(second); err != nil || string(again) != string(sent) {
		t.Errorf("%s became %s, %v", sent, again, err)
	}
}

func BenchmarkBody(b *testing.B) {
	event := json.RawMessage(`{"task":{"status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"` + strings.Repeat("x", 100) + `"}]}]}}`)
	report := &Report{Token: "LZ4ACBEIHKYBXQJ5UYLGFWTBPO", Worker: "bench.0123456789abcdef", Events: []json.RawMessage{event}}
	body, err := Encode(report)
	if err != nil {
		b.Fatal(err)
	}
	batch := new(Batch)
	for range 8 {
		batch.Envelopes = append(batch.Envelopes, Batched{
			Type: TypeReport, Correlation: "0198c7a1-5f0f-7b43-9d1c-0c6f1e5a7d11", Task: "0198c7a1-5f0f-7b43-9d1c-0c6f1e5a7d11", Owner: "local", Epoch: 1, Seq: 1, Body: body,
		})
	}
	for name, v := range map[string]any{"Report": report, "BatchOf8": batch} {
		text, err := Encode(v)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("Encode"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Encode(v); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("Decode"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var r Report
				var all Batch
				if name == "Report" {
					err = Decode(text, &r)
				} else {
					err = Decode(text, &all)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
