package adminapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/parley-a2a/parley/agent/memory"
)

// memoryEvents sends the caller's notes whose keys and categories have the given prefixes: the
// existing ones and each that is set, until the caller disconnects or the hub stops. A slow reader
// may miss intermediate changes, and delays no other caller.
func (h *Handler) memoryEvents(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	prefix, category := q.Get("prefix"), q.Get("category")
	if err := memory.CheckPrefix(prefix); err != nil {
		h.fail(w, r, badNote(r, err))
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stream := openEvents(w, r)
	if r.Method == http.MethodHead {
		return
	}
	defer stream.beating(cancel)()
	for e, err := range h.Memory.Notes.Watch(ctx, ownerOf(r), prefix) {
		if err != nil {
			if !errors.Is(err, memory.ErrEnded) {
				h.log().Error("a stream of notes has ended", "error", err)
			}
			return
		}
		n := entryNote(&e)
		if strings.HasPrefix(e.Category, category) && stream.sendJSON(&n) != nil {
			return
		}
	}
}
