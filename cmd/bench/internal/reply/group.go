package reply

import (
	"context"
	"errors"
	"sync"
)

// group is a set of goroutines, whose first error is kept.
type group struct {
	sync.WaitGroup

	once   sync.Once
	failed chan error
}

// Go calls f in a goroutine. Wait waits for it.
func (g *group) Go(f func() error) {
	g.WaitGroup.Go(func() {
		if err := f(); err != nil {
			g.fail(err)
		}
	})
}

func (g *group) channel() chan error {
	g.once.Do(func() { g.failed = make(chan error, 1) })
	return g.failed
}

func (g *group) fail(err error) {
	select {
	case g.channel() <- err:
	default: // an earlier error is kept
	}
}

// until waits until ctx ends, which is no error, or one of the goroutines fails.
func (g *group) until(ctx context.Context) error {
	select {
	case err := <-g.channel():
		if ctx.Err() != nil {
			return nil
		}
		return err
	case <-ctx.Done():
		return nil
	}
}

// errEnded is the error of a consumer that ends although its context has not.
var errEnded = errors.New("broker has ended the consumer")
