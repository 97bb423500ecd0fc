package driver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"
)

// echo answers with its params; its streams continue until the client stops them.
type echo struct{}

func (echo) Do(_ context.Context, s *Step) (any, error) {
	switch s.Op {
	case "refuse":
		return nil, fmt.Errorf("wrapped: %w", &Failure{Code: -32001, Message: "no"})
	case "fail":
		return nil, ErrNoOperation
	case "nothing":
		return nil, nil
	}
	return Params[map[string]any](s), nil
}

func (echo) Stream(ctx context.Context, _ *Step, report func(any) bool) error {
	report("first")
	<-ctx.Done()
	return nil
}

func TestServe(t *testing.T) {
	t.Parallel()
	in, steps := io.Pipe()
	printed, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- Serve(in, out, echo{}) }()
	lines := bufio.NewScanner(printed)
	for _, tt := range []struct{ step, want string }{
		{`{"id":1,"op":"stream","params":{}}`, `{"id":1,"event":"first"}`},
		{`{"id":2,"op":"get","params":{"a":[1]}}`, `{"id":2,"result":{"a":[1]}}`},
		{`{"id":3,"op":"nothing"}`, `{"id":3,"result":{}}`},
		{`{"id":4,"op":"refuse"}`, `{"id":4,"error":{"code":-32001,"message":"no"}}`},
		{`{"id":5,"op":"fail"}`, `{"id":5,"error":{"code":0,"message":"the library has no such operation"}}`},
		{`{"op":"stop","params":1}`, `{"id":1,"end":true}`},
		{`{"id":6,"op":"stream"}`, `{"id":6,"event":"first"}`},
	} {
		if _, err := fmt.Fprintln(steps, tt.step); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() || lines.Text() != tt.want {
			t.Errorf("%s gives %s, want %s", tt.step, lines.Text(), tt.want)
		}
	}
	if err := steps.Close(); err != nil {
		t.Fatal(err)
	}
	if !lines.Scan() || !json.Valid(lines.Bytes()) {
		t.Errorf("the open stream prints %q at the end of the input", lines.Text())
	}
	if err := <-done; err != nil {
		t.Errorf("Serve() = %v, want nil at the end of the input", err)
	}
}
