package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// check checks all plans, and returns the number of each outcome.
func (w *team) check() map[string]int {
	ctx, cancel := context.WithTimeout(w.t.Context(), teamPatience)
	defer cancel()
	done, err := w.executions()
	if err != nil {
		w.t.Error(err)
	}
	ends := map[string]int{}
	for _, st := range w.plans {
		if st.err != nil {
			continue
		}
		t, err := st.get(ctx)
		if err == nil {
			ends[t.state()]++
			err = st.check(ctx, t, done)
		}
		if err != nil {
			w.t.Errorf("plan %s, %s at %q: %v", st.key, st.moment.who, st.moment.at, err)
		}
	}
	return ends
}

// executions reads the executions of delegates, by delegate and key.
func (w *team) executions() (map[string][]execution, error) {
	b, err := os.ReadFile(w.log)
	if err != nil {
		return nil, err
	}
	all := map[string][]execution{}
	for line := range bytes.Lines(b) {
		var e execution
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
		all[e.Agent+" "+e.Key] = append(all[e.Agent+" "+e.Key], e)
	}
	return all, nil
}

// delegations returns the expected messages of the planner for a plan, by delegate.
func (st *plan) delegations() map[string][]string {
	all := map[string][]string{}
	for _, who := range members {
		all[who] = append(all[who], st.key)
	}
	if who := st.moment.ask; who != "" {
		all[who] = append(all[who], st.key+"q")
	}
	return all
}

func (st *plan) check(ctx context.Context, t *taskJSON, done map[string][]execution) error {
	if t.state() != "COMPLETED" {
		return fmt.Errorf("the task is %s: %s", t.state(), t.Status.Message.text())
	}
	again, err := st.replay(ctx)
	errs := []error{err}
	if diff := cmp.Diff(again, st.events); diff != "" {
		errs = append(errs, fmt.Errorf("the reader got other entries than there are (-there +got):\n%s", diff))
	}
	lost := 0
	for who, keys := range st.delegations() {
		for _, key := range keys {
			silent, err := st.checkDelegation(ctx, who, key, t.text(), done[who+" "+key])
			if silent {
				lost++
			}
			errs = append(errs, err)
		}
	}
	if n := strings.Count(t.text(), "nothing("); n != lost {
		errs = append(errs, fmt.Errorf("%d members gave nothing, %d have failed without a word: %s", n, lost, t.text()))
	}
	return errors.Join(errs...)
}

// checkDelegation checks the tasks of a delegation. It reports whether the delegation has
// failed without a message.
func (st *plan) checkDelegation(ctx context.Context, who, key, answer string, done []execution) (silent bool, err error) {
	tasks, err := st.tasksOf(ctx, who, key)
	if err != nil {
		return false, err
	}
	if len(tasks) != 1 {
		return false, fmt.Errorf("%s has %d tasks for %s", who, len(tasks), key)
	}
	t := tasks[0]
	var output []string
	for _, s := range tokens.FindAllString(answer, -1) {
		if strings.HasPrefix(s, token(who, key, "")[:len(token(who, key, ""))-1]) {
			output = append(output, s)
		}
	}
	if t.state() != "COMPLETED" {
		if len(output) <= 1 && st.mayFail(who, t) {
			return len(output) == 0, nil
		}
		return false, fmt.Errorf("the task of %s for %s is %s: %s; the answer is %s", who, key, t.state(), t.Status.Message.text(), answer)
	}
	if len(output) != 1 {
		return false, fmt.Errorf("the answer has %v of %s for %s: %s", output, who, key, answer)
	}
	return false, st.checkExecutions(who, key, output[0], t, done)
}

// Reasons for which a delegation to the worker may fail.
const (
	// unknown is part of the reason of a task whose worker was lost after its caller had
	// received output. The message is not given to another worker in this case.
	unknown = "its effects are not known"
	// tired is part of the reason of a task whose message was given to three workers, all of
	// which were lost.
	tired = "it is tried 3 times"
)

// mayFail reports whether the delegation may have failed. The remote agent loses its tasks when
// it is killed. A worker's message is not executed again after its first output, and no message
// is executed a fourth time.
func (st *plan) mayFail(who string, t *taskJSON) bool {
	switch who {
	case "faraway":
		return t.ended() && st.w.p.killed(theRemote) > 0
	case "packer":
		why := t.Status.Message.text()
		return strings.Contains(why, unknown) || strings.Contains(why, tired) && st.w.p.killed(theWorker) >= 3
	}
	return false
}

// checkExecutions checks that nothing was executed after the hub had completed the task.
func (st *plan) checkExecutions(who, key, text string, t *taskJSON, done []execution) error {
	completed, err := time.Parse(time.RFC3339Nano, t.Status.Timestamp)
	if err != nil {
		return err
	}
	completed = completed.Add(time.Millisecond) // timestamps of hubs are truncated
	if done == nil {
		for _, at := range st.w.asks[who+" "+key] {
			if at.After(completed) {
				return fmt.Errorf("%s was asked for %s at %v, and was done at %v", who, key, at, completed)
			}
		}
		return nil
	}
	for _, e := range done {
		if e.What == "begin" && e.At.After(completed) {
			return fmt.Errorf("%s has executed %s at %v, and was done at %v", who, key, e.At, completed)
		}
	}
	if !slices.ContainsFunc(done, func(e execution) bool { return e.What == "end" && text == token(who, key, e.Run) }) {
		return fmt.Errorf("%s never came to the end of %s: %+v", who, text, done)
	}
	return nil
}

// tasksOf returns the tasks of a member for a key. They are in the context of the planner's
// task.
func (st *plan) tasksOf(ctx context.Context, who, key string) ([]*taskJSON, error) {
	var page struct{ Tasks []*taskJSON }
	r := hubtest.Request{URL: "/v1/a2a/" + who + "/tasks?pageSize=100&historyLength=100&contextId=ctx-" + st.key}
	if err := st.w.hub.call(ctx, "", r, &page); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(page.Tasks, func(t *taskJSON) bool {
		return len(t.History) == 0 || !strings.HasSuffix(t.History[0].text(), " "+key)
	}), nil
}
