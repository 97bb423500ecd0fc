package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
)

// fetchAgain is the time after which the worker requests a piece again. fetchTries is the
// number of times that it fetches content whose hash is wrong.
const (
	fetchAgain = 2 * time.Second
	fetchTries = 3
)

// errNotFetched is shown to callers.
var errNotFetched = a2a.NewError(a2a.ErrInternalError, "the message changed in transit: its content does not match its SHA-256")

// fetch gets the content of work that is too large for an envelope. The content is used only
// once it is complete and its hash is right.
func (j *job) fetch() error {
	if j.work.Large == nil {
		return nil
	}
	for range fetchTries {
		whole, err := j.fetchAll(j.work.Large)
		if err != nil {
			return err
		}
		if j.work.Large.Matches(whole) {
			var c protocol.Content
			if err := json.Unmarshal(whole, &c); err != nil {
				return fmt.Errorf("decode content of work: %w", err)
			}
			j.mu.Lock()
			defer j.mu.Unlock()
			j.work.Message, j.work.Metadata, j.work.Others, j.work.Stored = c.Message, c.Metadata, c.Others, c.Stored
			return nil
		}
		j.run.Logger.Warn("the fetched content does not match the work", "agent", j.run.Name, "task", j.key.task)
	}
	return errNotFetched
}

// fetchAll requests one piece after the other.
func (j *job) fetchAll(blob *protocol.Blob) ([]byte, error) {
	var whole []byte
	timer := time.NewTimer(0)
	defer timer.Stop()
	for int64(len(whole)) < blob.Size {
		select {
		case <-timer.C:
		case p := <-j.pieces:
			if !p.Follows(blob, len(whole)) {
				continue // of an earlier request
			}
			if whole = append(whole, p.Data...); int64(len(whole)) == blob.Size {
				continue
			}
		case <-j.exec.Done():
			return nil, errors.New("the run has ended before its message was fetched")
		}
		timer.Reset(fetchAgain)
		j.run.trySend(j.exec, j.hubTopic, j.envelope(protocol.TypeFetch), &protocol.Fetch{
			Token: j.currentToken(), Worker: j.run.id, Blob: blob.ID, Offset: int64(len(whole)),
		})
	}
	return whole, nil
}

// handlePiece passes a piece to fetchAll.
func (j *job) handlePiece(e *bus.Envelope) {
	p := new(protocol.Piece)
	if protocol.Decode(e.Body, p) != nil {
		return // it is requested again
	}
	select {
	case j.pieces <- p:
	default:
	}
}

// currentWork returns the work with its fetched content.
func (j *job) currentWork() *protocol.Work {
	j.mu.Lock()
	defer j.mu.Unlock()
	w := j.work
	return &w
}
