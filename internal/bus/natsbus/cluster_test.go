package natsbus_test

import (
	"testing"

	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/testing/natstest"
	"github.com/parley-a2a/parley/internal/testing/suite/bustest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// TestCluster: the queues of a cluster survive each of its servers.
func TestCluster(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "a cluster of NATS")
	c := natstest.StartCluster(t, natstest.Current(t), 3)
	var nodes []bustest.Node
	for _, s := range c.Servers {
		nodes = append(nodes, bustest.Node{Kill: func(t *testing.T) { s.Stop(t) }, Start: func(t *testing.T) { s.Start(t) }})
	}
	bustest.Cluster(t, open(t, c.URL, natsbus.Options{}), open(t, c.URL, natsbus.Options{}), nodes)
	_, js := connect(t, c.URL)
	s, err := js.Stream(t.Context(), natsbus.DefaultStream)
	if err != nil || s.CachedInfo().Config.Replicas != 3 {
		t.Errorf("stream = %+v, %v; want 3 replicas", s, err)
	}
}

// TestSmallCluster: two servers cannot keep three replicas, and one of them keeps the queues.
func TestSmallCluster(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "a cluster of NATS")
	c := natstest.StartCluster(t, natstest.Current(t), 2)
	bustest.Cluster(t, open(t, c.URL, natsbus.Options{}), open(t, c.URL, natsbus.Options{}), nil)
}
