package queue

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/parley-a2a/parley/internal/session"
	"github.com/parley-a2a/parley/internal/task"
)

// dispatchState is the checkpoint of a task: its state on the bus.
type dispatchState struct {
	// Key is agent.Call.Key of the message that the other fields describe. Delivery and Epoch
	// increase over all messages of a task.
	Key string `json:"key"`
	// Delivery is the number of the work that was published last, or is about to be.
	Delivery int64 `json:"delivery"`
	// Hub is the ID of the hub that has published the work, if another hub may take the task over.
	Hub string `json:"hub,omitempty"`
	// Published is the time when it was first published, if that is certain.
	Published task.Millis `json:"published,omitempty"`
	// Deadline is when the message becomes useless; zero means never.
	Deadline task.Millis `json:"deadline,omitempty"`
	// Tries is the number of workers that have claimed the message.
	Tries int `json:"tries,omitempty"`
	// Epoch is that of the last grant.
	Epoch int64 `json:"epoch,omitempty"`
	// Worker is the worker that has the job; empty if there is none. Nonce is that of its
	// claim.
	Worker string `json:"worker,omitempty"`
	Nonce  string `json:"nonce,omitempty"`
	// Token is the SHA-256 of the token of the grant.
	Token []byte `json:"token,omitempty"`
	// Seq is the number of the last accepted event.
	Seq int64 `json:"seq,omitempty"`
	// Idempotent is set if another worker may have the job after the loss of this one.
	Idempotent bool `json:"idempotent,omitempty"`
	// Working is set once the task was shown as WORKING, Disclosed once any further state or event
	// was shown.
	Working   bool `json:"working,omitempty"`
	Disclosed bool `json:"disclosed,omitempty"`

	// Ahead is the number of pieces of a large event that were accepted after Seq. They are in
	// memory only.
	Ahead int64 `json:"-"`
}

// loadState returns the place of a task for the message with a key, from the saved checkpoint.
func loadState(saved []byte, key string) (dispatchState, error) {
	var p dispatchState
	if len(saved) > 0 {
		// The first name of disclosed was told: checkpoints of unfinished tasks may have it.
		first := struct {
			*dispatchState
			Told bool `json:"told"`
		}{dispatchState: &p}
		if err := json.Unmarshal(saved, &first); err != nil {
			return dispatchState{}, fmt.Errorf("decode checkpoint: %w", err)
		}
		p.Disclosed = p.Disclosed || first.Told
	}
	if p.Key != key { // of an earlier message: this one is published under the hub's own name
		p = dispatchState{Key: key, Delivery: p.Delivery + 1, Epoch: p.Epoch}
	}
	return p, nil
}

func (s *dispatchState) encode() []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings and numbers can be encoded
	}
	return b
}

func (s *dispatchState) claimed() bool { return s.Worker != "" }

// claim assigns the job to a worker.
func (s *dispatchState) claim(worker, nonce, token string) {
	s.Epoch++
	s.Tries++
	s.Worker, s.Nonce, s.Seq, s.Ahead = worker, nonce, 0, 0
	s.Token = hashed(token)
}

// release takes the job from its worker: it is to be published again.
func (s *dispatchState) release() {
	s.Delivery++
	s.Worker, s.Nonce, s.Token, s.Published, s.Seq, s.Ahead = "", "", nil, 0, 0, 0
}

// validToken reports whether a token is that of the grant.
func (s *dispatchState) validToken(token string) bool {
	return s.claimed() && hmac.Equal(s.Token, hashed(token))
}

func hashed(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// next returns the number of the next event or piece to accept.
func (s *dispatchState) next() int64 { return s.Seq + s.Ahead + 1 }

// classify returns the class of n events of an epoch whose numbers begin with first, and the
// number of those that were accepted before.
func (s *dispatchState) classify(epoch, first int64, n int) (c session.Class, skip int) {
	if !s.claimed() {
		return session.Stale, 0
	}
	return session.Place{Epoch: s.Epoch, Seq: s.Seq + s.Ahead}.Classify(epoch, first, n)
}
