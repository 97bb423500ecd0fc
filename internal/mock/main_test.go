package mock

import (
	"testing"

	"go.uber.org/goleak"

	_ "github.com/parley-a2a/parley/internal/parts/promptkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
