package engine

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/task"
)

func TestPageTokens(t *testing.T) {
	t.Parallel()
	key := []byte("a key that both processes know..")
	q := &task.Query{Owner: "ann", Agent: "echo", ContextID: "c", State: task.Working, Since: 5}
	at := task.Cursor{At: 1_700_000_000_000, Key: 4711}
	token := newTokens(key).encode(q, at)

	got, err := newTokens(key).decode(q, token)
	if err != nil || got != at {
		t.Errorf("token of the same key = %v, %v; want %v", got, err, at)
	}
	if got, err := newTokens(key).decode(q, ""); err != nil || got != (task.Cursor{}) {
		t.Errorf("no token = %v, %v; want the beginning", got, err)
	}
	for name, other := range map[string]task.Query{
		"owner":   {Owner: "bob", Agent: "echo", ContextID: "c", State: task.Working, Since: 5},
		"agent":   {Owner: "ann", Agent: "clock", ContextID: "c", State: task.Working, Since: 5},
		"context": {Owner: "ann", Agent: "echo", ContextID: "d", State: task.Working, Since: 5},
		"state":   {Owner: "ann", Agent: "echo", ContextID: "c", State: task.Completed, Since: 5},
		"since":   {Owner: "ann", Agent: "echo", ContextID: "c", State: task.Working, Since: 6},
		"prefix":  {Owner: "ann", Agent: "echo", ContextID: "c", State: task.Working, Since: 5, IDPrefix: "0"},
		"border":  {Owner: "anne", Agent: "cho", ContextID: "c", State: task.Working, Since: 5},
	} {
		if _, err := newTokens(key).decode(&other, token); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("token of another %s: %v, want ErrInvalidParams", name, err)
		}
	}
	if _, err := newTokens(nil).decode(q, token); !errors.Is(err, a2a.ErrInvalidParams) {
		t.Errorf("token of another key: %v, want ErrInvalidParams", err)
	}
}

func TestPageTokensRevealNothing(t *testing.T) {
	t.Parallel()
	tok := newTokens(nil)
	q := &task.Query{Owner: "ann"}
	raw, err := base64.RawURLEncoding.DecodeString(tok.encode(q, task.Cursor{At: 1_700_000_000_000, Key: 0x0102030405}))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []uint64{1_700_000_000_000, 0x0102030405} {
		plain := binary.BigEndian.AppendUint64(nil, n)
		if bytes.Contains(raw, plain[3:]) {
			t.Errorf("token %x holds the number %x", raw, n)
		}
	}
	for i := range raw {
		forged := bytes.Clone(raw)
		forged[i] ^= 1
		if _, err := tok.decode(q, base64.RawURLEncoding.EncodeToString(forged)); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("token with byte %d changed: %v, want ErrInvalidParams", i, err)
		}
	}
}
