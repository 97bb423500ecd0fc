package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/bus/protocol"
)

// fetchAgain is the time after which a piece is asked for once more, and fetchTries how
// often content is fetched that is not what the work says.
const (
	fetchAgain = 2 * time.Second
	fetchTries = 3
)

// errNotFetched is what callers are told.
var errNotFetched = a2a.NewError(a2a.ErrInternalError, "the message has not arrived as it was sent: its content and its SHA-256 differ")

// fetch gets the content of work that is too large for an envelope. Nothing of it is used
// before all of it is there and has the right hash.
func (j *workJob) fetch() error {
	if j.work.Large == nil {
		return nil
	}
	for range fetchTries {
		whole, err := j.fetchAll(j.work.Large)
		if err != nil {
			return err
		}
		if j.work.Large.Matches(whole) {
			return j.fetched(whole)
		}
		j.shift.Logger.Warn("fetched content is not that of the work", "agent", j.shift.Name, "task", j.key.task)
	}
	return errNotFetched
}

// fetchAll asks for one piece after the other.
func (j *workJob) fetchAll(blob *protocol.Blob) ([]byte, error) {
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
		j.shift.say(j.exec, j.hub, j.envelope(protocol.TypeFetch), &protocol.Fetch{
			Token: j.tokenNow(), Worker: j.shift.id, Blob: blob.ID, Offset: int64(len(whole)),
		})
	}
	return whole, nil
}

// fetched takes the content as if it had been in the work.
func (j *workJob) fetched(whole []byte) error {
	var c protocol.Content
	if err := json.Unmarshal(whole, &c); err != nil {
		return fmt.Errorf("decode content of work: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.work.Message, j.work.Metadata, j.work.Others, j.work.Stored = c.Message, c.Metadata, c.Others, c.Stored
	return nil
}

// arrived passes on a piece to who has asked for it.
func (j *workJob) arrived(e *bus.Envelope) {
	p := new(protocol.Piece)
	if protocol.Decode(e.Body, p) != nil {
		return // it is asked for again
	}
	select {
	case j.pieces <- p:
	default:
	}
}

// workNow returns the work, with what was fetched of it.
func (j *workJob) workNow() *protocol.Work {
	j.mu.Lock()
	defer j.mu.Unlock()
	w := j.work
	return &w
}
