package adminapi

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/directory/broker"
	"github.com/parley-a2a/parley/task"
)

// Costs are the costs of the tasks of agents, in summary.
type Costs struct {
	Costs []broker.Cost `json:"costs"`
}

// Confidences are the confidences that agents reported, in summary.
type Confidences struct {
	Confidences []broker.Confidence `json:"confidences"`
}

// costs answers with the costs of tasks.
func (h *Handler) costs(r *http.Request) (*Costs, error) {
	filter, err := filterOf(r)
	if err != nil {
		return nil, err
	}
	return &Costs{h.Broker.Costs(filter)}, nil
}

// confidences answers with the confidences of agents.
func (h *Handler) confidences(r *http.Request) (*Confidences, error) {
	filter, err := filterOf(r)
	if err != nil {
		return nil, err
	}
	return &Confidences{h.Broker.Confidences(filter)}, nil
}

func filterOf(r *http.Request) (broker.Filter, error) {
	q := r.URL.Query()
	least, err := strconv.Atoi(cmp.Or(q.Get("minSamples"), "0"))
	if err != nil || least < 0 {
		return broker.Filter{}, apierror.Field(a2a.ErrInvalidParams, "minSamples", "must be a number of at least 0")
	}
	return broker.Filter{Agent: task.Agent(q.Get("agent")), Skill: q.Get("skill"), MinSamples: least}, nil
}
