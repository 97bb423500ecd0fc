package broker

import "testing"

// TestSpentIn reads the costs that messages report, and bounds them.
func TestSpentIn(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]Spent{
		`{"metadata":{"` + costType + `":{"usage":{"input_tokens":5,"cache_read_input_tokens":7,"output_tokens":3},"costUsd":0.5}}}`: {12, 3, 0.5},
		`{"metadata":{"` + costType + `":{"usage":{"input_tokens":-5,"output_tokens":1e300},"costUsd":-1}}}`:                         {0, maxTokens, 0},
		`{"metadata":{"` + costType + `":"much"}}`: {},
		`{"parts":[{"text":"hello"}]}`:             {},
		``:                                         {},
	} {
		if got := SpentIn([]byte(message)); got != want {
			t.Errorf("SpentIn(%s) = %+v, want %+v", message, got, want)
		}
	}
}
