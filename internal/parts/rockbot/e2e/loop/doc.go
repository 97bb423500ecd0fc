// Package loop tests RockBot's loop through the binary: a model calls invoke_agent, a strict
// agent of RockBot works at a real RabbitMQ, and the model reads the result from working memory
// by the key in the hub's notification.
//
// # Overview
//
// The parts are a hub with parley.yaml alone, a broker, the peers of package rockbotpeer, and a
// server of chat completions (internal/testing/openaitest). The server's script depends on each
// request alone, so that it may serve a hub that is killed and started again.
package loop
