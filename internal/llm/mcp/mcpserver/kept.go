package mcpserver

import (
	"crypto/rand"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// keptPrefix is what the addresses of kept results begin with.
const keptPrefix = "parley://results/"

// kept holds results that were too large for an answer, for a while: the oldest go when
// there is no more room.
type kept struct {
	max int

	mu    sync.Mutex // guards the fields below
	items map[string]*mcp.ResourceContents
	order []string
	size  int
}

// add keeps an item and returns its address, unless it is larger than all the room.
func (k *kept) add(item *mcp.ResourceContents) (uri string, ok bool) {
	size := len(item.Text) + len(item.Blob)
	if size > k.max {
		return "", false
	}
	item.URI = keptPrefix + rand.Text()
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.size+size > k.max {
		oldest := k.items[k.order[0]]
		k.size -= len(oldest.Text) + len(oldest.Blob)
		delete(k.items, oldest.URI)
		k.order = k.order[1:]
	}
	if k.items == nil {
		k.items = make(map[string]*mcp.ResourceContents)
	}
	k.items[item.URI] = item
	k.order = append(k.order, item.URI)
	k.size += size
	return item.URI, true
}

// get returns an item that is still there, or nil.
func (k *kept) get(uri string) *mcp.ResourceContents {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.items[uri]
}
