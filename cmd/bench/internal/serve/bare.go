package serve

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

// bareServer answers SendMessage with a completed task, and does nothing else: no agent, no
// stored task, no checks. It shows the cost of JSON over package net/http alone.
func bareServer() server {
	return handler{http.HandlerFunc(answerBare)}
}

// The shapes have the fields of the task in the other servers' answers. They are plain, so that
// package encoding/json performs best.
type (
	bareRequest struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Params  struct {
			Message bareMessage `json:"message"`
		} `json:"params"`
	}
	bareMessage struct {
		TaskID    string     `json:"taskId,omitempty"`
		ContextID string     `json:"contextId,omitempty"`
		MessageID string     `json:"messageId"`
		Role      string     `json:"role"`
		Parts     []barePart `json:"parts"`
	}
	barePart struct {
		Text string `json:"text"`
	}
	bareAnswer struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  bareResult      `json:"result"`
	}
	bareResult struct {
		Task bareTask `json:"task"`
	}
	bareTask struct {
		ID        string         `json:"id"`
		ContextID string         `json:"contextId"`
		Status    bareStatus     `json:"status"`
		Artifacts []bareArtifact `json:"artifacts"`
		History   []bareMessage  `json:"history"`
	}
	bareStatus struct {
		State     string    `json:"state"`
		Timestamp time.Time `json:"timestamp"`
	}
	bareArtifact struct {
		ArtifactID string     `json:"artifactId"`
		Parts      []barePart `json:"parts"`
	}
)

func answerBare(w http.ResponseWriter, r *http.Request) {
	var q bareRequest
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.Method != "SendMessage" || len(q.Params.Message.Parts) == 0 {
		http.Error(w, "no SendMessage", http.StatusBadRequest)
		return
	}
	m := &q.Params.Message
	m.TaskID, m.ContextID = uuid.NewString(), uuid.NewString()
	_, text, _ := strings.Cut(m.Parts[0].Text, " ")
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(bareAnswer{JSONRPC: "2.0", ID: q.ID, Result: bareResult{bareTask{
		ID: m.TaskID, ContextID: m.ContextID,
		Status:    bareStatus{"TASK_STATE_COMPLETED", time.Now().UTC()},
		Artifacts: []bareArtifact{{string(artifactID), []barePart{{text}}}},
		History:   []bareMessage{*m},
	}}})
}
