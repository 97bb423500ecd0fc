package cluster

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// local is the script that runs two hubs without containers.
var local = filepath.Join("..", "..", "..", "deploy", "cluster", "local.sh")

// The script starts two hubs behind one address. Tasks of either are answered there, also after one of
// the hubs was killed, and an interrupt ends all of its processes.
func TestLocalScript(t *testing.T) {
	t.Parallel()
	testenv.Tool(t, "nats-server")
	testenv.Tool(t, "socat")
	testenv.Tool(t, "openssl")
	dir := t.TempDir()
	port, ports := testenv.Port(t), []int{testenv.Port(t), testenv.Port(t)}
	env := []string{
		"PARLEY=" + hubtest.Binary(t), "PARLEY_STORE=" + pgtest.Shared(t).Database(t), fmt.Sprint("PORT=", port),
		fmt.Sprint("PORT_ONE=", ports[0]), fmt.Sprint("PORT_TWO=", ports[1]), fmt.Sprint("PORT_NATS=", testenv.Port(t)),
	}
	script := hubtest.Launch(t, hubtest.Command{Path: "/bin/sh", Args: []string{local, dir}, Env: env})
	t.Cleanup(func() { _ = script.Interrupt() }) // before it is killed
	if err := script.Await(t.Context(), "ready: "); err != nil {
		t.Fatalf("%v\n%s\n%s", err, logOf(dir, "one"), logOf(dir, "two"))
	}
	key, err := os.ReadFile(filepath.Join(dir, "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprint("http://127.0.0.1:", port)
	send := func(n int) (id string) {
		t.Helper()
		var got struct{ Task shownTask }
		err := hubtest.Call(t.Context(), hubtest.Request{
			URL:    address + "/v1/a2a/echo/message:send",
			Header: []string{"Authorization", "Bearer " + strings.TrimSpace(string(key)), "Connection", "close"},
			Body:   fmt.Sprintf(`{"message": {"messageId": "m%d", "role": "ROLE_USER", "parts": [{"text": "hello"}]}}`, n),
		}, &got)
		if err != nil || got.Task.Status.State != "TASK_STATE_COMPLETED" {
			t.Errorf("message %d: %+v, %v", n, got, err)
		}
		return got.Task.ID
	}
	for n := range 4 {
		send(n)
	}
	pids := make(map[string]int)
	for _, hub := range []string{"one", "two"} {
		b, err := os.ReadFile(filepath.Join(dir, hub+".pid"))
		if err == nil {
			pids[hub], err = strconv.Atoi(strings.TrimSpace(string(b)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Kill(pids["one"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for { // until the system has closed its port
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", fmt.Sprint("127.0.0.1:", ports[0]))
		if err != nil {
			break
		}
		c.Close()
	}
	for n := range 4 {
		send(10 + n)
	}
	if err := script.Interrupt(); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(pids["two"], 0); err == nil {
		t.Error("a hub runs after the end of the script")
	}
}

func logOf(dir, hub string) string {
	b, err := os.ReadFile(filepath.Join(dir, hub+".log"))
	if err != nil {
		return err.Error()
	}
	return string(b)
}
