// Program is the program of the agents in the tests of package crash. The message "stream 12" makes it write
// twelve chunks, "fail 12" fail after them, "cancel 12" write them slowly, and "ask" ask a question. It appends
// the beginning of each run, and the end of a run that succeeds, to the ledger of the test.
//
// The programs of a campaign start hundreds of times, so this is not the program of the tests, whose start
// takes a quarter of a second of processor time with the race detector.
package main

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	random "math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	id := make([]byte, 4)
	_, _ = rand.Read(id) // it never fails
	name := hex.EncodeToString(id)
	attempt, err := strconv.Atoi(os.Getenv("PARLEY_ATTEMPT"))
	if err != nil {
		return err
	}
	task := os.Getenv("PARLEY_TASK_ID")
	err = note(map[string]any{
		"agent": os.Getenv("CRASH_AGENT"), "key": os.Getenv("PARLEY_RUN_KEY"), "attempt": attempt, "task": task, "run": name,
	})
	if err != nil {
		return err
	}
	what, number, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	if what == "ask" {
		os.Exit(3)
	}
	if err := report(name, what, n); err != nil {
		return err
	}
	if what == "fail" {
		return fmt.Errorf("run %s was told to fail", name)
	}
	return note(map[string]any{"op": "exit", "task": task, "run": name})
}

// note appends a line to the ledger and syncs it.
func note(line map[string]any) error {
	b, err := json.Marshal(line)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(os.Getenv("CRASH_RECORD"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(append(b, '\n'))
	return errors.Join(err, file.Sync(), file.Close())
}

// report writes n chunks, each with the run and its number.
func report(run, what string, n int) error {
	think, pace := 200*time.Millisecond, 20*time.Millisecond
	if random.N(3) == 0 {
		think = 2 * time.Second
	}
	if what == "cancel" {
		pace = 200 * time.Millisecond
	}
	out := bufio.NewWriter(os.Stdout)
	timer := time.NewTimer(random.N(think))
	defer timer.Stop()
	for i := range n {
		<-timer.C
		fmt.Fprintf(out, "%s:%d ", run, i)
		if err := out.Flush(); err != nil {
			return err
		}
		timer.Reset(random.N(pace))
	}
	return nil
}
