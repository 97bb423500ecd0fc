package server

import (
	"testing"

	"go.uber.org/goleak"

	_ "github.com/parley-a2a/parley/internal/parts/promptkit"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(pgtest.Exit)) }
