package bustest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/parley-a2a/parley/internal/bus"
)

// childVar is the variable with the URL of the broker, for a process that runs Child.
const childVar = "PARLEY_BUSTEST_URL"

var processTests = []testCase{{"Processes", testProcesses}}

const (
	typeHold bus.Type = "test.hold"
	typeEcho bus.Type = "test.echo"
)

var (
	childQueue = bus.Queue("agent.task.child")
	answers    = bus.Queue("hub.report.bustest")
)

// Child turns this process into another receiver and does not return, if the suite has started
// the process for that. Otherwise it does nothing. TestMain calls it first, with a function
// that opens a bus at Broker.URL.
func Child(open func(url string) (bus.Bus, error)) {
	url := os.Getenv(childVar)
	if url == "" {
		return
	}
	b, err := open(url)
	if err == nil {
		err = serve(context.Background(), b)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// serve answers each envelope, acknowledges those of typeEcho, and holds those of typeHold
// until the process is killed.
func serve(ctx context.Context, b bus.Bus) error {
	for d, err := range b.Receive(ctx, bus.Subscription{At: childQueue, Prefetch: 2, Lease: 2 * shortLease}) {
		if err != nil {
			return err
		}
		if err := publishKnown(ctx, b, answers, &bus.Envelope{ID: d.ID + "-answer", Type: d.Type, Source: "worker/child"}); err != nil {
			return err
		}
		if d.Type == typeHold {
			continue
		}
		if err := d.Ack(ctx); err != nil {
			return err
		}
	}
	return nil
}

// publishKnown publishes e until the outcome is known: two processes create a queue at the same time.
func publishKnown(ctx context.Context, b bus.Bus, to bus.Address, e *bus.Envelope) error {
	err := b.Publish(ctx, to, e)
	for errors.Is(err, bus.ErrUnknown) && ctx.Err() == nil {
		err = b.Publish(ctx, to, e)
	}
	return err
}

// testProcesses kills a process that holds an envelope. On a stalled machine leases may end before,
// and then envelopes are delivered again.
func testProcesses(x *bed) {
	if x.b.URL == "" {
		x.lacks("a URL for other processes")
		return
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+x.b.URL)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		x.Fatal(err)
	}
	killed := false
	kill := func() {
		if !killed {
			killed = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	defer kill()
	b, began := x.open(), time.Now() // all leases begin later
	for i, typ := range []bus.Type{typeEcho, typeEcho, typeHold} {
		e := letter(fmt.Sprint("a", i))
		e.Type = typ
		if err := publishKnown(x.context(), b, childQueue, e); err != nil {
			x.Fatalf("Publish = %v", err)
		}
	}
	in := x.receive(b, bus.Subscription{At: answers})
	output := in.drain("a0-answer", "a1-answer", "a2-answer")
	inTime := time.Since(began) < 2*shortLease
	kill()
	again := x.receive(b, bus.Subscription{At: childQueue, Lease: 2 * shortLease}).drain("a2")
	if repeats := len(output) + len(again) - 4; inTime && (repeats != 0 || output["a0-answer"]*output["a1-answer"]*output["a2-answer"] != 1) {
		x.Errorf("the child has answered %v, then %v was delivered; want each answer once, and then a2", output, again)
	}
}
