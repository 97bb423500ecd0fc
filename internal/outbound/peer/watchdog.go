package peer

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errIdle is the cause of the end of a silent stream.
var errIdle = errors.New("the stream is silent")

// watchdog ends the context of a stream that is silent for too long. Only the reader may call its
// methods.
type watchdog struct {
	idle   *time.Timer
	limit  time.Duration
	cancel context.CancelCauseFunc
}

// watch returns the context of a stream. A limit that is not positive is disabled.
func watch(ctx context.Context, idle time.Duration) (context.Context, *watchdog) {
	w := &watchdog{limit: idle}
	ctx, w.cancel = context.WithCancelCause(ctx)
	if idle > 0 {
		w.idle = time.AfterFunc(idle, func() { w.cancel(fmt.Errorf("%w for %v", errIdle, idle)) })
	}
	return ctx, w
}

func (w *watchdog) alive() {
	if w.idle != nil {
		w.idle.Reset(w.limit)
	}
}

func (w *watchdog) stop() {
	if w.idle != nil {
		w.idle.Stop()
	}
	w.cancel(nil)
}
