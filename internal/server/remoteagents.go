package server

import (
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/directory"
)

// remoteExecutor returns the executor for an agent of the directory, behind the gate if it is
// gated.
func (h *Hub) remoteExecutor(e *directory.Entry) (a2asrv.AgentExecutor, error) {
	x, err := h.listedExecutor(e)
	if err != nil {
		return nil, err
	}
	configured := h.elsewhere(e.Name())
	if e.Transport() == directory.HTTP {
		configured = h.core.Adopted(e.Name()) != nil
	}
	if configured && e.Spec.Model == nil {
		return h.guardRemote(e.Name(), x), nil
	}
	return h.guardKnown(&e.Spec, x), nil
}

func (h *Hub) listedExecutor(e *directory.Entry) (a2asrv.AgentExecutor, error) {
	switch at := e.Transport(); {
	case e.Spec.Model != nil:
		return h.specThinker(e.Spec.Model)
	case at == directory.RockBot && h.rockBot == nil:
		return nil, fmt.Errorf("the hub has no place on RockBot's exchange, where the agent is %s", e.Spec.RockBot)
	case at == directory.RockBot:
		return h.rockBotAgent(&e.Spec), nil
	case at == directory.HTTP && h.core.Adopted(e.Name()) != nil:
		return h.core.Adopted(e.Name()), nil
	}
	return h.core.Executor(e)
}
