package sse

import (
	"sync"
	"time"
)

// Comment is the comment of a quiet stream. It has one line end: after a blank line some readers
// dispatch an empty event.
var Comment = []byte(": keep-alive\n")

// Repeat calls beat after each interval until it returns false, or until stop is called. stop waits for a
// call in progress. It may be called again, but not by beat.
func Repeat(every time.Duration, beat func() bool) (stop func()) {
	stopped := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-stopped:
				return
			case <-tick.C:
				if !beat() {
					return
				}
			}
		}
	})
	end := sync.OnceFunc(func() { close(stopped) })
	return func() {
		end()
		wg.Wait()
	}
}
