package server

import (
	"cmp"

	"github.com/parley-a2a/parley/internal/front/conns"
)

const (
	// mostConnections bounds the default of limits.connections.
	mostConnections = 1 << 16
	// reservedConnections is the number of connections of this machine beyond the limit.
	reservedConnections = 8
)

// connections returns the bounds of the connections of all listeners. The store, the bus and the
// programs of agents keep a third of the descriptors that are left after the start.
func (h *Hub) connections() *conns.Limit {
	l := &h.cfg.Limits
	return &conns.Limit{
		Max: cmp.Or(l.Connections, connectionsFor(freeDescriptors())), Reserve: reservedConnections, Logger: h.logger,
	}
}

// connectionsFor returns the default number of connections for a number of free descriptors; zero
// means unknown, and no limit.
func connectionsFor(free int) int {
	if free <= 0 {
		return 0
	}
	return min(max(1, 2*free/3-reservedConnections), mostConnections)
}
