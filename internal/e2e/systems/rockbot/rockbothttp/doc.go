// Package rockbothttp is RockBot's side of HTTP, for tests: its sample agent, a caller of
// its gateway, and a receiver of its webhooks.
//
// # What it is
//
// An [Agent] is RockBot.SampleAgent.Http: it serves its card and takes jobs as ASP.NET binds
// them, so that a body which System.Text.Json cannot read is answered with 400 and nothing
// else. A [Caller] calls the gateway as its document does, by POST to the root with a key
// and without a version, and refuses each answer that has another shape than the document's.
// A [Webhook] does so with notifications.
//
// The facts and where they were read are in the README of the folder above.
//
// # Guarantees
//
// A member of a wrong type, a state or a role that RockBot does not have, an event with two
// contents or none, and an answer to another call are errors that name the path.
//
// # What it does not promise
//
// The caller knows the names that the document of the gateway has for states and roles. The
// .NET SDK behind the gateway has had other ones.
//
// # Concurrency
//
// Peers are safe for concurrent use. They end with the test.
//
// # Testing
//
// The tests of the package hold the hub to the document's statements about HTTP.
package rockbothttp
