package sqlitestore

import (
	"testing"

	"github.com/parley-a2a/parley/internal/testing/suite/memorytest"
)

// labelled is the folder of the labelled set of the search index.
const labelled = "../../internal/bm25/testdata"

func TestFinder(t *testing.T) {
	t.Parallel()
	memorytest.TestFinder(t, labelled, func(t *testing.T) memorytest.FinderStore { return newTest(t).Notes() })
}

func BenchmarkFindNotes(b *testing.B) { memorytest.BenchmarkFinder(b, newTest(b).Notes(), labelled) }
