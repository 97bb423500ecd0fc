package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/adminjson"
)

// agentsView is the page of agents.
type agentsView struct {
	adminjson.AgentList
	Queues []queueView
	// Many is the number of all agents if they are too many for cards; Find selects some of them.
	Many    int
	Find    string
	Choices []*choiceView
	// Reviewed is the card of an agent that may be added.
	Reviewed *reviewView
	URL      string
	// Done and Error are the result of a change.
	Done, Error string
}

// queueView is the queue of an agent with workers.
type queueView struct {
	Agent         string
	Waiting, Held int
	Workers       int
	Oldest        *time.Time
}

// choiceView is the experience by which the broker chooses between agents with the same skill.
type choiceView struct {
	Agent, Skill string
	Samples      int
	SuccessRate  float64
	CostUSD      float64
	P50Ms, P95Ms int64
	Weight       float64
}

// reviewView is a card to review.
type reviewView struct {
	adminjson.Reviewed
	Title, Description, Version string
	cardView
	// Text is the whole card.
	Text string
}

// agents answers with the page of agents.
func agents(p *page) error { return p.showAgents(http.StatusOK, agentsView{}) }

func (p *page) showAgents(code int, v agentsView) error {
	list, err := p.agentList()
	if err != nil {
		return err
	}
	v.AgentList, v.Queues = list, p.queues()
	if n := len(list.Agents); n > maxCards {
		v.Many, v.Find = n, strings.TrimSpace(p.r.FormValue("find"))
		v.Agents = slices.DeleteFunc(list.Agents, func(a adminjson.Agent) bool { return !matches(&a, v.Find) })
	}
	var costs struct{ Costs []*choiceView }
	if err := p.get("/api/v1/costs", &costs); err == nil { // for administrators, of a hub with a broker
		v.Choices = costs.Costs
		slices.SortFunc(v.Choices, func(a, b *choiceView) int { return strings.Compare(a.Skill+"\x00"+a.Agent, b.Skill+"\x00"+b.Agent) })
	}
	p.show(code, "agents", v)
	return nil
}

// maxCards is the number of agents up to which each has a card.
const maxCards = 12

// matches reports whether an agent has all words of a text in its name, kind, state or skills.
func matches(a *adminjson.Agent, text string) bool {
	all := []string{a.Name, a.Title, a.Kind, string(a.State)}
	if a.Paused {
		all = append(all, "paused")
	}
	for _, s := range a.Skills {
		all = append(all, s.ID, s.Name)
	}
	return hasWords(text, all...)
}

// queues returns the queues of agents with workers.
func (p *page) queues() []queueView {
	var status struct{ Bus struct{ Queues []queueView } }
	if err := p.get("/api/v1/status", &status); err != nil {
		return nil // a policy may hide it
	}
	return status.Bus.Queues
}

// queueOf returns the queue of an agent; nil for an agent without one.
func queueOf(all []queueView, agent string) *queueView {
	for i := range all {
		if all[i].Agent == agent {
			return &all[i]
		}
	}
	return nil
}

// changeAgents changes, reviews, adds or removes an agent.
func changeAgents(p *page) error {
	name, verb := p.r.PostFormValue("agent"), p.r.PostFormValue("verb")
	path := "/api/v1/agents/" + segment(name)
	v := agentsView{URL: strings.TrimSpace(p.r.PostFormValue("url"))}
	var err error
	switch verb {
	case "probe", "refresh":
		var answer adminjson.Probe
		if err = p.do(http.MethodPost, path+"/"+verb, nil, &answer); err == nil {
			v.Done = probeText(name, &answer)
		}
	case "pause", "resume":
		body := map[string]any{}
		if reason := strings.TrimSpace(p.r.PostFormValue("reason")); verb == "pause" && reason != "" {
			body["reason"] = reason
		}
		err = p.do(http.MethodPost, path+"/"+verb, body, nil)
		if v.Done = name + " receives messages again."; verb == "pause" {
			v.Done = name + " is paused: further messages wait."
		}
	case "remove":
		err = p.do(http.MethodDelete, path, nil, nil)
		v.Done = name + " was removed."
	case "review":
		v.Reviewed, err = p.review(v.URL)
	case "add":
		err = p.do(http.MethodPost, "/api/v1/agents", p.newAgent(name, v.URL), nil)
		v.Done = name + " was added."
	default:
		return p.showAgents(http.StatusBadRequest, agentsView{Error: "Choose to probe, refresh, pause, resume, add or remove an agent."})
	}
	if refused := refusedBy(err); refused != nil && refused.Code != http.StatusUnauthorized {
		v.Done, v.Error = "", refused.Message
		return p.showAgents(refused.Code, v)
	}
	if err != nil {
		return err
	}
	return p.showAgents(http.StatusOK, v)
}

// newAgent returns the body of a registration by the form of the request.
func (p *page) newAgent(name, address string) map[string]any {
	body := map[string]any{"name": name, "url": address, "trust": "gated"}
	if p.r.PostFormValue("trust") == "open" {
		body["trust"] = "open"
	}
	if name == "" {
		delete(body, "name")
	}
	if secret := strings.TrimSpace(p.r.PostFormValue("bearer")); secret != "" {
		body["credentials"] = map[string]any{"bearer": secret}
	}
	return body
}

// review reads the card of an agent that may be added.
func (p *page) review(address string) (*reviewView, error) {
	v := new(reviewView)
	if err := p.do(http.MethodPost, "/api/v1/agents/review", p.newAgent("", address), &v.Reviewed); err != nil {
		return nil, err
	}
	var head struct {
		Name, Description, Version string
	}
	_ = errors.Join(json.Unmarshal(v.Card, &head), json.Unmarshal(v.Card, &v.cardView)) // the hub has written it
	v.Title, v.Description, v.Version = head.Name, head.Description, head.Version
	v.Text = pretty(v.Card)
	return v, nil
}

// probeText describes the result of a probe.
func probeText(name string, a *adminjson.Probe) string {
	if !a.Reachable {
		return name + " does not answer: " + a.Error
	}
	text := fmt.Sprintf("%s answers in %.0f ms with %d skills.", name, a.LatencyMs, a.SkillCount)
	if a.Changed {
		text += " Its card has changed."
	}
	return text
}
