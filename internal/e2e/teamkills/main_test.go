package teamkills

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// roleVar says what a process of the test binary is.
const roleVar = "TEAM_ROLE"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(roleVar) {
	case "":
		goleak.VerifyTestMain(hubtest.M{M: m})
		return
	case "remote":
		err = serveRemote(context.Background())
	case "packer":
		err = pack()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
