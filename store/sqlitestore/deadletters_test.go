package sqlitestore

import (
	"testing"

	"github.com/parley-a2a/parley/bus/deadletter"
	"github.com/parley-a2a/parley/internal/testing/suite/deadlettertest"
)

func TestLetters(t *testing.T) {
	t.Parallel()
	deadlettertest.Test(t, func(t *testing.T) deadletter.Store { return newTest(t).Letters() })
}
