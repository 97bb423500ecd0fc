package crash

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// job is one task, with the plan of its caller and the events that the caller has read.
type job struct {
	reader
	url, agent, name string
	// context is the context of the message; empty if the hub chooses it.
	context string
	// kind is one of the words that agents know, or "" for text alone. The message is that word
	// and a number of chunks.
	kind, text string
	chunks     int
	// keyed is set if the message has an idempotency key, so that it may be sent again.
	keyed bool
	// sends is set if the message is sent without a stream. blocks is set if its answer is the
	// task at its end.
	sends, blocks bool
	// leaves is set if the caller leaves a question unanswered.
	leaves bool
	// cancelAt is the number of events after which the caller cancels the task; zero means
	// never.
	cancelAt int
	// program is set if the agent is a program, whose completion has no message.
	program bool
	// load is the kind of the job in the campaign.
	load string
	// finished is set once the end is in the ledger.
	finished bool
	// hook is the URL of a webhook for the task; empty without one.
	hook string
	// padding is the number of bytes of metadata in its messages.
	padding int

	sent     int // attempts to begin it
	lost     int // attempts without an answer, whose message may have arrived
	answered bool
	// canceled is set if the hub has canceled the task, done if the task had ended before.
	canceled, done bool
	refusal        error // the answer for which done was set
	// blind is set if a request to cancel may or may not have arrived.
	blind bool
}

// run begins the task and reads until it is over. Its error is a violation.
func (j *job) run(ctx context.Context, back func() <-chan struct{}) error {
	err := errors.New("not begun")
	for !j.over() {
		if err != nil && j.sent > 0 && pause(ctx, back()) != nil {
			return flawed(stuck, "task %q of %s, %s at %s, does not end: %v", j.id, j.name, j.kind, j.state, err)
		}
		switch {
		case j.id == "" && j.sends:
			err = j.send(ctx)
		case j.id == "":
			j.sent++
			j.book.write(&line{Op: opSend, Job: j.name})
			err = j.read(ctx, j.message("stream", j.name, j.says()), j.stops)
		case j.asked():
			err = j.answer(ctx)
		case j.cancels():
			err = j.cancel(ctx)
		default:
			err = j.resume(ctx, j.url, j.stops)
		}
		if isViolation(err) {
			return err
		}
	}
	return nil
}

// over reports whether the task makes no more progress by itself.
func (j *job) over() bool { return j.ended() || j.leaves && j.state == asking }

const asking = "INPUT_REQUIRED"

func (j *job) asked() bool { return j.state == asking && !j.answered }

// cancels reports whether it is time to cancel the task.
func (j *job) cancels() bool {
	return j.cancelAt > 0 && len(j.events) >= j.cancelAt && !j.canceled && !j.done
}

// stops reports whether the caller has to do something other than read.
func (j *job) stops() bool { return j.asked() || j.over() || j.cancels() }

func (j *job) says() string {
	if j.kind == "" {
		return j.text
	}
	return fmt.Sprintf("%s %d", j.kind, j.chunks)
}

// message returns the request with a message. It is the same each time.
func (j *job) message(method, id, text string) hubtest.Request {
	r := hubtest.Request{
		URL:  j.url + "/v1/a2a/" + j.agent + "/message:" + method,
		Body: sending{task: j.id, id: id, text: text, waits: j.blocks, hook: j.hook, padding: j.padding}.body(),
	}
	if j.keyed {
		r.Header = []string{"Idempotency-Key", id}
	}
	return r
}

// send sends the message. With a key the answer must be the same task each time.
func (j *job) send(ctx context.Context) error {
	j.sent++
	j.book.write(&line{Op: opSend, Job: j.name})
	r := j.message("send", j.name, j.says())
	r.Body = sending{id: j.name, context: j.context, text: j.says(), waits: j.blocks}.body()
	var f frame
	err := hubtest.Call(ctx, r, &f)
	switch {
	case hubtest.Status(err)/100 == 4:
		return wrong("message %s is refused: %v", j.name, err)
	case err != nil:
		if hubtest.Status(err) == 0 {
			j.lost++
		}
		return err
	}
	if f.Task != nil {
		j.book.write(&line{Op: opTask, Job: j.name, Task: f.Task.ID})
	}
	switch {
	case f.Task == nil || f.Task.ID == "" || j.id != "" && f.Task.ID != j.id:
		return flawed(repeated, "message %s is answered with %+v, and with task %q before", j.name, f.Task, j.id)
	case j.blocks && !f.Task.ended():
		return wrong("task %s is %s after a blocking call", f.Task.ID, f.Task.state())
	case j.id == "":
		j.id, j.last = f.Task.ID, 1 // the message itself is the first entry
	}
	return nil
}

func (j *job) answer(ctx context.Context) error {
	j.book.write(&line{Op: opAnswer, Job: j.name})
	err := hubtest.Call(ctx, j.message("send", j.name+"-answer", fmt.Sprintf("stream %d", j.chunks)), nil)
	if hubtest.Status(err)/100 == 4 {
		return wrong("task %s: the answer is refused: %v", j.id, err)
	}
	if j.answered = err == nil; j.answered {
		j.book.write(&line{Op: opAnswered, Job: j.name})
	}
	return err
}

// cancel cancels the task.
func (j *job) cancel(ctx context.Context) error {
	var got taskJSON
	err := hubtest.Call(ctx, hubtest.Request{URL: j.url + "/v1/a2a/tasks/" + j.id + ":cancel", Body: "{}"}, &got)
	switch code := hubtest.Status(err); {
	case err == nil && got.state() != "CANCELED":
		return wrong("task %s is canceled, and %s", j.id, got.state())
	case code == http.StatusConflict || code == http.StatusBadRequest:
		j.done, j.refusal = true, err
		return nil
	case code/100 == 4:
		return wrong("task %s cannot be canceled: %v", j.id, err)
	}
	if j.canceled, j.blind = err == nil, j.blind || err != nil; j.canceled {
		j.book.write(&line{Op: opCanceled, Job: j.name})
	}
	return err
}

// check compares the events that the caller has read with the stored task.
func (j *job) check(ctx context.Context, url string) error {
	var got taskJSON
	if err := hubtest.Call(ctx, hubtest.Request{URL: url + "/v1/a2a/tasks/" + j.id}, &got); err != nil {
		if hubtest.Status(err) == 0 {
			return err // the hub was killed
		}
		return wrong("get task %s: %v", j.id, err)
	}
	if got.state() != j.state || got.text() != j.words {
		return flawed(lost, "task %s is %s with %q, its reader got %s with %q", j.id, got.state(), got.text(), j.state, j.words)
	}
	return nil
}

// crowd runs the callers.
type crowd struct {
	// url is the address that callers use, direct the address of the hub itself.
	url, direct string
	back        func() <-chan struct{}
	// next creates the ith job of a caller.
	next func(name string, i int) *job
	// prefix begins the names of callers.
	prefix string
	// check is an additional check of a job's result.
	check func(context.Context, *job) error

	mu     sync.Mutex // guards the fields below
	jobs   []*job
	active map[*job]bool
	errs   []error
	shown  int // the number of errs that the owner has reported
}

// run begins tasks until begin ends. The tasks must end before ctx does.
func (c *crowd) run(ctx, begin context.Context, n int) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for k := 0; begin.Err() == nil; k++ {
				name := fmt.Sprintf("%sc%d-%d", c.prefix, i, k)
				j := c.next(name, i+k)
				j.url, j.name = c.url, name
				c.one(ctx, j)
			}
		})
	}
	wg.Wait()
}

func (c *crowd) one(ctx context.Context, j *job) {
	c.mu.Lock()
	if c.active == nil {
		c.active = map[*job]bool{}
	}
	c.active[j] = true
	c.mu.Unlock()
	err := j.run(ctx, c.back)
	if err == nil {
		err = c.insist(ctx, j)
	}
	c.note(j, err)
}

// note notes the end of a job, and its violation.
func (c *crowd) note(j *job, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.active, j)
	c.jobs = append(c.jobs, j)
	if err != nil {
		c.errs = append(c.errs, err)
	}
}

// insist checks j, and tries again while the hub is down.
func (c *crowd) insist(ctx context.Context, j *job) error {
	alive := func() error { return hubtest.Call(ctx, hubtest.Request{URL: c.direct + "/healthz"}, nil) }
	for {
		err := alive()
		if err == nil {
			if err = errors.Join(j.check(ctx, c.direct), c.check(ctx, j)); err == nil || isViolation(err) && alive() == nil {
				return err
			}
		}
		if pause(ctx, c.back()) != nil {
			return fmt.Errorf("check task %s of %s: %w: %w", j.id, j.name, context.Cause(ctx), err)
		}
	}
}

// violations returns the violations so far.
func (c *crowd) violations() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.errs)
}
