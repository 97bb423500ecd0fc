package dirstore_test

import (
	"testing"

	"github.com/parley-a2a/parley/internal/directory/dirstore"
	"github.com/parley-a2a/parley/internal/testing/suite/dirstoretest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	dirstoretest.Test(t, func(*testing.T) dirstoretest.AgentStore { return new(dirstore.Memory) })
}
