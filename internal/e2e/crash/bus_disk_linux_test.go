package crash

import (
	"os"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// smallDisk returns the folder of a small disk, or "" if the test cannot mount one.
func smallDisk(t *testing.T) string {
	if os.Geteuid() != 0 && os.Getenv(testenv.CI) != "1" {
		t.Log("without the superuser's right no disk is full")
		return ""
	}
	return hubtest.Disk(t, "64m")
}
