package mcpserver

import (
	"crypto/rand"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// resultPrefix is the prefix of the addresses of stored results.
const resultPrefix = "parley://results/"

// maxResults is the size in bytes of the stored results of all callers.
const maxResults = 32 << 20

// results stores results that were too large for a response. It drops the oldest when it has no more room.
type results struct {
	mu  sync.Mutex // guards the field below
	all []result   // the oldest first
}

type result struct {
	owner *service
	item  *mcp.ResourceContents
}

// add stores an item for a caller and returns its address. It returns false if the item exceeds the total
// room.
func (k *results) add(owner *service, item *mcp.ResourceContents) (uri string, ok bool) {
	size := sizeOfContents(item)
	if size > min(owner.Limits.Kept, maxResults) {
		return "", false
	}
	item.URI = resultPrefix + rand.Text()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dropLocked(owner.Limits.Kept-size, func(r result) bool { return r.owner == owner })
	k.dropLocked(maxResults-size, func(result) bool { return true })
	k.all = append(k.all, result{owner, item})
	return item.URI, true
}

func sizeOfContents(item *mcp.ResourceContents) int { return len(item.Text) + len(item.Blob) }

// dropLocked drops the oldest of the items that belong to a group, until they have at most room bytes.
func (k *results) dropLocked(room int, belongs func(result) bool) {
	size := 0
	for _, r := range k.all {
		if belongs(r) {
			size += sizeOfContents(r.item)
		}
	}
	k.all = slices.DeleteFunc(k.all, func(r result) bool {
		if !belongs(r) || size <= room {
			return false
		}
		size -= sizeOfContents(r.item)
		return true
	})
}

// item returns an item of a caller that is still stored, or nil.
func (k *results) item(owner *service, uri string) *mcp.ResourceContents {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.all, func(r result) bool { return r.owner == owner && r.item.URI == uri })
	if i < 0 {
		return nil
	}
	return k.all[i].item
}
