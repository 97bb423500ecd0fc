package queue

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/parley-a2a/parley/internal/json/structjson"
	"github.com/parley-a2a/parley/task"
)

// place is the checkpoint of a task: its state on the bus.
type place struct {
	// Key is agent.Call.Key of the message that the other fields describe. Delivery and Epoch
	// increase over all messages of a task.
	Key string `json:"key"`
	// Delivery is the number of the work that was published last, or is about to be.
	Delivery int64 `json:"delivery"`
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
	// Working is set once the task was shown as WORKING, Told once any further state or event
	// was shown.
	Working bool `json:"working,omitempty"`
	Told    bool `json:"told,omitempty"`

	// Ahead is the number of pieces of a large event that were accepted after Seq. They are in
	// memory only.
	Ahead int64 `json:"-"`
}

// places lists the members of a place, in agreement with its tags.
var places = structjson.Of(
	structjson.Text("key", func(p *place) *string { return &p.Key }).Always(),
	structjson.Int("delivery", func(p *place) *int64 { return &p.Delivery }).Always(),
	structjson.Int("published", func(p *place) *task.Millis { return &p.Published }),
	structjson.Int("deadline", func(p *place) *task.Millis { return &p.Deadline }),
	structjson.Int("tries", func(p *place) *int { return &p.Tries }),
	structjson.Int("epoch", func(p *place) *int64 { return &p.Epoch }),
	structjson.Text("worker", func(p *place) *string { return &p.Worker }),
	structjson.Text("nonce", func(p *place) *string { return &p.Nonce }),
	structjson.Bytes("token", func(p *place) *[]byte { return &p.Token }),
	structjson.Int("seq", func(p *place) *int64 { return &p.Seq }),
	structjson.Bool("idempotent", func(p *place) *bool { return &p.Idempotent }),
	structjson.Bool("working", func(p *place) *bool { return &p.Working }),
	structjson.Bool("told", func(p *place) *bool { return &p.Told }),
)

// placeOf returns the place of a task for the message with a key, from the saved checkpoint.
func placeOf(saved []byte, key string) (place, error) {
	var p place
	if len(saved) > 0 {
		if err := json.Unmarshal(saved, &p); err != nil {
			return place{}, fmt.Errorf("decode checkpoint: %w", err)
		}
	}
	if p.Key != key {
		p = place{Key: key, Delivery: p.Delivery + 1, Epoch: p.Epoch}
	}
	return p, nil
}

func (p *place) encode() []byte {
	if b, ok := places.Append(make([]byte, 0, len(p.Key)+len(p.Worker)+256), p); ok {
		return b
	}
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and numbers can be encoded
	}
	return b
}

// claimed reports whether a worker has the job.
func (p *place) claimed() bool { return p.Worker != "" }

// claim assigns the job to a worker.
func (p *place) claim(worker, nonce, token string) {
	p.Epoch++
	p.Tries++
	p.Worker, p.Nonce, p.Seq, p.Ahead = worker, nonce, 0, 0
	p.Token = hashed(token)
}

// free takes the job from its worker: it is to be published again.
func (p *place) free() {
	p.Delivery++
	p.Worker, p.Nonce, p.Token, p.Published, p.Seq, p.Ahead = "", "", nil, 0, 0, 0
}

// renew resets the place of a message that is dispatched anew: earlier publications and grants
// do not count. It does nothing if there was none.
func (p *place) renew() {
	if p.Tries > 0 || p.Published != 0 {
		*p = place{Key: p.Key, Delivery: p.Delivery + 1, Epoch: p.Epoch}
	}
}

// vouches reports whether a token is that of the grant.
func (p *place) vouches(token string) bool {
	return p.claimed() && hmac.Equal(p.Token, hashed(token))
}

func hashed(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// next returns the number of the next event or piece to accept.
func (p *place) next() int64 { return p.Seq + p.Ahead + 1 }

// verdict is the decision about a report.
type verdict uint8

const (
	takes  verdict = iota + 1
	known          // all events were accepted before
	gap            // earlier events are missing
	stale          // from a run that does not count
	forged         // without a valid token
)

// judge returns the verdict on n events of an epoch whose numbers begin with first, and the
// number of those that were accepted before.
func (p *place) judge(epoch int64, token string, first int64, n int) (v verdict, skip int) {
	switch {
	case !p.claimed() || epoch != p.Epoch:
		return stale, 0
	case !p.vouches(token):
		return forged, 0
	case first < 1 || first > p.next():
		return gap, 0
	}
	skip = int(min(p.next()-first, int64(n)))
	if skip == n {
		return known, n
	}
	return takes, skip
}
