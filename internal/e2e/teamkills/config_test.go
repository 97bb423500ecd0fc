package teamkills

import "strings"

// teamConfig is the team: a planner and its members.
func teamConfig(w *world) string {
	return strings.NewReplacer("MODELS", w.models.URL, "REMOTE", "http://"+w.remote.addr(), "PLANNER", plannerPrompt, "MEMBER", memberPrompt).Replace(`
idempotency: {header: true, message_id: true}
bus: {lease: 2s}
model_providers:
  - {name: test, base_url: MODELS}
agents:
  - name: planner
    model: {model: test, system_prompt: "PLANNER", delegates: [writer, critic, faraway, packer]}
  - name: writer
    model: {model: test, system_prompt: "MEMBERwriter."}
  - name: critic
    model: {model: test, system_prompt: "MEMBERcritic."}
  - name: faraway
    endpoint: {backend: a2a, base_url: REMOTE, options: {idempotent: true}}
  - {name: packer, queue: packer, idempotent: true}
`)
}
