package sqlitestore

import (
	"testing"

	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/testing/suite/deadlettertest"
)

func TestLetters(t *testing.T) {
	t.Parallel()
	deadlettertest.Test(t, func(t *testing.T) queue.LetterStore { return newTest(t).Letters() })
}
