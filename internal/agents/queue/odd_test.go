package queue_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/testing/jsonvalues"
	"github.com/parley-a2a/parley/task"
)

// TestOddNeighbours puts a job with every JSON value in the place of every member into the heartbeats of a worker,
// and such an envelope into its batches. The job beside it keeps its lease.
func TestOddNeighbours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, p := startManual(t)
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		j := p.take().granted(false)
		hub := bus.Topic(j.d.ReplyTo)
		good := fmt.Sprintf(`{"task":%q,"owner":%q,"epoch":%d,"token":%q}`, j.d.Task, j.d.Owner, j.epoch, j.token)
		beat := fmt.Sprintf(`{"type":"job.heartbeat","body":{"worker":%q,"jobs":[%s]}}`, p.id, good)
		send := func(kind bus.Type, what, body string) {
			j.send(hub, kind, 0, json.RawMessage(body))
			time.Sleep(protocol.HeartbeatInterval * 3 / 2)
			synctest.Wait()
			for len(p.received) > 0 {
				<-p.received // about the odd job
			}
			if got, err := h.store.Head(t.Context(), "alice", id); err != nil || got.State.Terminal() {
				t.Fatalf("after %s the task is %v, %v", what, got.State, err)
			}
		}
		for _, v := range jsonvalues.Variants(t, good) {
			send(protocol.TypeHeartbeat, v.Path+" = "+v.Value, fmt.Sprintf(`{"worker":%q,"jobs":[%s,%s]}`, p.id, v.JSON, good))
		}
		odd := `{"type":"job.fetch","correlation":"c","task":"t","owner":"o","epoch":1,"seq":1,"trace":{"a":"b"},"body":{"token":"x","worker":"w","blob":"b","offset":0}}`
		for _, v := range jsonvalues.Variants(t, odd) {
			send(protocol.TypeBatch, v.Path+" = "+v.Value, `{"envelopes":[`+v.JSON+`,`+beat+`]}`)
		}
		j.report(1, completed)
		h.wait(id, task.Completed)
	})
}
