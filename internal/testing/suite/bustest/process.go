package bustest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/parley-a2a/parley/bus"
)

// childVar has the URL of the broker for a process that Child runs in.
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

// Child makes this process another receiver if the suite has started it for that, and
// ends it then. TestMain calls it first, with what opens a bus by Broker.URL.
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

// serve answers what is to be answered, and keeps the rest until the process is killed.
func serve(ctx context.Context, b bus.Bus) error {
	for d, err := range b.Receive(ctx, bus.Subscription{At: childQueue, Prefetch: 2, Lease: 2 * shortLease}) {
		if err != nil {
			return err
		}
		if err := b.Publish(ctx, answers, &bus.Envelope{ID: d.ID + "-answer", Type: d.Type, Source: "worker/child"}); err != nil {
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

// testProcesses kills a process that holds something.
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
	b := x.open()
	for i, typ := range []bus.Type{typeEcho, typeEcho, typeHold} {
		e := letter(fmt.Sprint("a", i))
		e.Type = typ
		err := b.Publish(x.context(), childQueue, e)
		for errors.Is(err, bus.ErrUnknown) {
			err = b.Publish(x.context(), childQueue, e) // two processes make the queue at one time
		}
		if err != nil {
			x.Fatalf("Publish = %v", err)
		}
	}
	in := x.receive(b, bus.Subscription{At: answers})
	in.take("a0-answer", "a1-answer", "a2-answer")
	kill()
	x.receive(b, bus.Subscription{At: childQueue, Lease: 2 * shortLease}).take("a2")
}
