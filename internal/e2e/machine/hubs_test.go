package machine

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
)

// TestHubsStartTogether starts three hubs on one database at the same time, repeatedly. Each finds
// the address of its own embedded broker again, so that its workers reconnect.
func TestHubsStartTogether(t *testing.T) {
	t.Parallel()
	store := pgtest.Start(t).Database(t)
	hubs := make([]*hubtest.Hub, 3)
	for i := range hubs {
		hubs[i] = hubtest.New(t, hubtest.Options{
			Flags:  []string{"--store", store},
			Config: fmt.Sprintf("hub_id: hub-%d\nmaster_key: %064d\n", i, 1),
		})
	}
	brokers := make([]string, len(hubs))
	for round := range 3 {
		var all errgroup.Group
		for _, h := range hubs {
			all.Go(h.Start)
		}
		if err := all.Wait(); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for i, h := range hubs {
			text, err := os.ReadFile(filepath.Join(h.Data(), "bus.json"))
			var contact struct {
				URL string `json:"url"`
			}
			if err != nil || json.Unmarshal(text, &contact) != nil || contact.URL == "" {
				t.Fatalf("bus.json: %v, %s", err, text)
			}
			if round > 0 && contact.URL != brokers[i] {
				t.Errorf("round %d: the broker of hub %d is at %s, and was at %s", round, i, contact.URL, brokers[i])
			}
			brokers[i] = contact.URL
		}
		for _, h := range hubs {
			h.Stop()
		}
	}
}
