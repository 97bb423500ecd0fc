package assistant

import (
	"context"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/memory"
)

// Beginnings of the desk's texts, by which it recognizes them later.
const (
	prefixOffer  = "That does not work."
	prefixAgreed = "Agreed: "
	prefixNone   = "No time was found."
)

// earlierTurns returns the earlier turns of the negotiation: those of this agent's tasks in the
// context.
func (a *Assistant) earlierTurns(ctx context.Context, v *caller) ([]memory.Turn, error) {
	if a.History == nil || v.ec.ContextID == "" {
		return nil, nil
	}
	turns, err := a.History.Continue(ctx, v.owner, v.ec.ContextID)
	if err != nil {
		return nil, err
	}
	taskOf := func(t memory.Turn) string { return t.ID[:max(0, strings.LastIndexByte(t.ID, '/'))] }
	mine := map[string]bool{string(v.ec.TaskID): true}
	for _, t := range turns {
		if t.Role == memory.RoleAgent && t.Name == string(v.agent) {
			mine[taskOf(t)] = true
		}
	}
	return slices.DeleteFunc(turns, func(t memory.Turn) bool {
		return !mine[taskOf(t)] || t.ID == memory.TurnID(v.ec.TaskID, v.version)
	}), nil
}

// remember restores a negotiation that the calendar has dropped.
func (a *Assistant) remember(b *calendar, key string, text []memory.Turn) {
	if slices.ContainsFunc(b.Negotiations, func(t negotiation) bool { return t.Key == key }) {
		return
	}
	t := negotiation{Key: key, Length: lengthDefault}
	for _, turn := range text {
		switch {
		case turn.Role == memory.RoleCaller:
			t.Rounds++
			if length := lengthOf(turn.Text); length > 0 {
				t.Length = length
			}
		case strings.HasPrefix(turn.Text, prefixAgreed), strings.HasPrefix(turn.Text, prefixNone):
			t = negotiation{Key: key, Length: lengthDefault} // a new negotiation follows
		case strings.HasPrefix(turn.Text, prefixOffer):
			if times := a.Hours.proposals(turn.Text); len(times) > 0 {
				t.Offered = times[0]
			}
		}
	}
	if t.Rounds > 0 {
		b.Negotiations = append(b.Negotiations, t)
	}
}
