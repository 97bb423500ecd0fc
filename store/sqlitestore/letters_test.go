package sqlitestore

import (
	"testing"

	"github.com/parley-a2a/parley/bus/dead"
	"github.com/parley-a2a/parley/bus/dead/deadtest"
)

func TestLetters(t *testing.T) {
	t.Parallel()
	deadtest.Test(t, func(t *testing.T) dead.Store { return newTest(t).Letters() })
}
