package cluster

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
)

// A hub that starts while the database accepts only some of its connections waits for more, and
// does not end.
func TestStartAtTheConnectionLimit(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	u, err := url.Parse(server.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	const user = "limited"
	server.Exec(t, "postgres", "CREATE ROLE "+user+" LOGIN; GRANT CREATE ON DATABASE "+strings.TrimPrefix(u.Path, "/")+" TO "+user)
	u.User = url.User(user)
	for limit := range 4 {
		server.Exec(t, "postgres", fmt.Sprintf("ALTER ROLE %s CONNECTION LIMIT %d", user, limit))
		h := hubtest.New(t, hubtest.Options{
			Config: fmt.Sprintf("log: {level: info}\nstore: %q\nhub_id: h%d\nmaster_key: %q\nbus: {url: 'off'}\n", u, limit, key),
		})
		started := make(chan error, 1)
		go func() { started <- h.Start() }() // ends with the process
		for h.Process() == nil {
			if err := pause(t.Context(), patience/1000); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.Process().Await(t.Context(), "waiting for it", "retrying", "msg=ready"); err != nil {
			t.Errorf("limit %d: %v", limit, err)
		}
		server.Exec(t, "postgres", "ALTER ROLE "+user+" CONNECTION LIMIT -1")
		if err := <-started; err != nil {
			t.Errorf("limit %d: %v", limit, err)
		}
		h.Stop()
	}
}
