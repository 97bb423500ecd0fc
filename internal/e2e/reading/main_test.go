package reading_test

import (
	"os"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

func TestMain(m *testing.M) { os.Exit(hubtest.M{M: m}.Run()) }
