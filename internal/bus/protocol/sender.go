package protocol

import (
	"fmt"
	"strings"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/task"
)

// CheckSender returns nil if the sender that an envelope names agrees with the one that the
// broker authenticated, or if the broker authenticates none. Otherwise the error, which is
// bus.ErrInvalid, names the forged member: source, agent or worker.
func CheckSender(d *bus.Delivery) error {
	if d.From == "" {
		return nil
	}
	agent := task.Agent(d.From)
	worker, isWorker := strings.CutPrefix(d.Source, "worker/")
	if d.Source != "agent/"+d.From && !(isWorker && WorksFor(worker, agent)) {
		return forged(d, "source", d.Source)
	}
	var named struct {
		Agent  *task.Agent `json:"agent"`
		Worker *string     `json:"worker"`
	}
	if err := Decode(d.Body, &named); err != nil {
		return fmt.Errorf("body: %w: %w", err, bus.ErrInvalid)
	}
	switch {
	case named.Agent != nil && *named.Agent != agent:
		return forged(d, "agent", string(*named.Agent))
	case named.Worker != nil && !WorksFor(*named.Worker, agent):
		return forged(d, "worker", *named.Worker)
	}
	return nil
}

func forged(d *bus.Delivery, member, value string) error {
	return fmt.Errorf("%s %.100q is forged: it comes from a worker of agent %q: %w", member, value, d.From, bus.ErrInvalid)
}

// WorksFor reports whether the id of a worker is one for an agent: its name, a dot and a word.
func WorksFor(worker string, agent task.Agent) bool {
	word, ok := strings.CutPrefix(worker, string(agent)+".")
	return ok && !strings.Contains(word, ".") && WorkerAt(worker).Check() == nil
}
