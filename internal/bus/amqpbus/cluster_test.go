package amqpbus_test

import (
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
	"github.com/parley-a2a/parley/internal/testing/suite/bustest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// TestCluster: the queues of a cluster survive each of its nodes.
func TestCluster(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "a cluster of RabbitMQ")
	servers := rabbittest.StartCluster(t)
	var urls []string
	var nodes []bustest.Node
	for _, s := range servers {
		urls = append(urls, s.URL("/"))
		nodes = append(nodes, bustest.Node{
			Kill:  func(t *testing.T) { s.Sync(t); s.Kill() },
			Start: func(t *testing.T) { s.Launch(t) },
		})
	}
	url := strings.Join(urls, ",")
	bustest.Cluster(t, &amqpbus.Bus{URL: url}, &amqpbus.Bus{URL: url}, nodes)
}
