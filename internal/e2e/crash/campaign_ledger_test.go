package crash

import (
	"bufio"
	"encoding/json"
	"errors"
	"hash/fnv"
	"os"
	"testing"
)

// The operations in a ledger. A line without one is an effect: the beginning of the execution of a
// program.
const (
	opSend     = "send"     // a caller is about to send the first message
	opTask     = "task"     // a caller has received the id of the task
	opEvent    = "event"    // a caller has read an event
	opAnswer   = "answer"   // a caller is about to answer a question
	opAnswered = "answered" // the hub has accepted the answer
	opCanceled = "canceled" // the hub has confirmed the cancellation
	opEnd      = "end"      // a caller has read the end of the task
	opPush     = "push"     // a webhook has accepted a notification
	opExit     = "exit"     // a program has written all of its output, and exits without an error
)

// line is one line of a ledger.
type line struct {
	Op      string `json:"op"`
	Job     string `json:"job"`
	Load    string `json:"load,omitempty"`
	Task    string `json:"task,omitempty"`
	State   string `json:"state,omitempty"`
	Text    string `json:"text,omitempty"`
	Version int64  `json:"version,omitempty"`
	// Sum is the checksum of an event or a notification.
	Sum uint64 `json:"sum,omitempty"`
	// Agent, Key and Run are those of an effect; an exit has Run alone.
	Agent string `json:"agent,omitempty"`
	Key   string `json:"key,omitempty"`
	Run   string `json:"run,omitempty"`
}

// ledger is a file outside of the hub with the operations of callers and the effects of
// programs. Programs append to the same file and sync it. Methods may be called concurrently; a
// nil ledger records nothing.
type ledger struct {
	t    *testing.T
	file *os.File
}

func openLedger(t *testing.T, path string) *ledger {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
	return &ledger{t, file}
}

// write appends a line in one call, so that lines of several processes do not mix.
func (l *ledger) write(e *line) {
	if l == nil {
		return
	}
	b, err := json.Marshal(e)
	if err == nil {
		_, err = l.file.Write(append(b, '\n'))
	}
	if err != nil {
		l.t.Error(err)
	}
}

// readLedger returns all lines.
func readLedger(t *testing.T, path string) []line {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []line
	in := bufio.NewScanner(file)
	in.Buffer(nil, 8<<20)
	for in.Scan() {
		var e line
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			t.Fatal(errors.Join(err, errors.New(in.Text())))
		}
		all = append(all, e)
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func sumOf(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}
