package hub

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/internal/backoff"
)

const (
	// indexBatch is the number of tasks whose texts are indexed at once.
	indexBatch = 64
	// indexDelay is the time from a change to a step, so that a short task is indexed once.
	indexDelay = 250 * time.Millisecond
	// A step of the index is followed by a rest in which the hub has the processor and the store for its
	// tasks: longer if there were any.
	idleRest, busyRest = 3, 40
	// indexRetry is the pause after an error of the store.
	indexRetry = 5 * time.Second
)

// indexSome indexes the texts of some tasks, if this hub does it for all hubs of the store.
func (h *Hub) indexSome(ctx context.Context) (more bool, err error) {
	if h.parts.Peers != nil && !h.parts.Peers.Does("index texts") {
		return false, nil
	}
	return h.parts.Store.IndexTexts(ctx, indexBatch)
}

// indexTexts follows the changes of tasks with the index of their texts until ctx ends.
func (h *Hub) indexTexts(ctx context.Context) error {
	began, failed, many := time.Now(), false, 0
	for ctx.Err() == nil {
		step := time.Now()
		more, err := h.indexSome(ctx)
		rest := time.Duration(idleRest)
		select {
		case <-h.events.Stored:
			rest = busyRest
		default:
		}
		pause := rest * time.Since(step)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			if !failed {
				h.parts.Logger.Error("texts of tasks cannot be indexed; retrying", "error", err)
			}
			failed, pause = true, indexRetry
		case more:
			if many++; many == indexLong {
				h.parts.Logger.Info("indexing the texts of tasks; searches may miss some until it is done")
			}
			failed = false
		default:
			if many >= indexLong {
				h.parts.Logger.Info("the texts of tasks are indexed", "took", time.Since(began).Round(time.Second))
			}
			failed, many = false, 0
			if rest == idleRest { // nothing has changed since the step
				select {
				case <-h.events.Stored:
				case <-ctx.Done():
					return nil
				}
				began = time.Now()
			}
			pause = max(pause, indexDelay)
		}
		_ = backoff.Sleep(ctx, pause) // an error means that ctx has ended
	}
	return nil
}

// indexLong is the number of steps after which the log says that texts are being indexed.
const indexLong = 16
