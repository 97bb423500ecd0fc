package mock

import (
	"testing"

	"go.uber.org/goleak"

	_ "github.com/parley-a2a/parley/internal/testing/dialecttest" // adds the dialects of parts
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
