package mcpserver

import (
	"crypto/rand"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// resultPrefix is the prefix of the addresses of stored results.
const resultPrefix = "parley://results/"

// resultStore stores results that were too large for a response. It drops the oldest when it
// has no more room.
type resultStore struct {
	max int

	mu    sync.Mutex // guards the fields below
	items map[string]*mcp.ResourceContents
	order []string
	size  int
}

// add stores an item and returns its address. It returns false if the item exceeds the total
// room.
func (k *resultStore) add(item *mcp.ResourceContents) (uri string, ok bool) {
	size := len(item.Text) + len(item.Blob)
	if size > k.max {
		return "", false
	}
	item.URI = resultPrefix + rand.Text()
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

// item returns an item that is still stored, or nil.
func (k *resultStore) item(uri string) *mcp.ResourceContents {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.items[uri]
}
