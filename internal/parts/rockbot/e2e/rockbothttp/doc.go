// Package rockbothttp implements RockBot's side of HTTP for tests: its sample agent, a caller
// of its gateway, and a receiver of its webhooks.
//
// # Overview
//
// An [Agent] behaves like RockBot.SampleAgent.Http: it serves its card and binds jobs like
// ASP.NET, so that a body that System.Text.Json cannot read is answered with an empty 400. A
// [Caller] calls the gateway according to its document, by POST to the root with a key and
// without a version, and refuses each answer whose shape differs from the document's. A
// [Webhook] does the same for notifications.
//
// The README of the parent folder lists the facts with their sources.
//
// # Guarantees
//
// A member of a wrong type, a state or a role that RockBot does not have, an event with two
// contents or none, and an answer to another call are errors that name the path.
//
// # Non-guarantees
//
// The caller uses the names of states and roles in the document of the gateway. The .NET SDK
// behind the gateway has had other ones.
package rockbothttp
