// Package interop tests Parley with the official SDKs, and with other A2A programs, over real
// connections.
//
// # Overview
//
// The tests build the real binary, start it with its built-in agents, and connect foreign
// clients to it: the peers. Each uses every binding that it supports, and finds the agents by
// their cards. All of them run one table of scenarios; a scenario is a subtest with the name
// peer/binding/scenario. The hub sends notifications to webhooks that the peers register, and
// the types of the SDK decode these. In the other direction, the command calls servers that are
// built with the SDKs.
//
// The SDKs are pinned and unmodified. The package is a module of its own, so that users of
// Parley do not inherit them.
//
// # Peers
//
// A peer is a row of the table peers and a program in a folder of its own, which implements the
// line protocol below. Its row states its version of the protocol, its bindings, and the calls
// that its SDK does not offer. Scenarios are written in v1.0. Each states the calls that it
// needs, and its version if it is not meaningful in all; a peer that lacks one of the calls
// skips it. For a peer of v0.3 the test converts the params to v0.3 in JSON-RPC, and the
// results to v1.0. So its program has nothing to convert, and may omit the kinds of objects.
// PromptKit, which has a dialect of its own, is handled in the same way. Its executor, its
// bridge and its mock have separate scenarios and TestPromptKitMock.
//
// Peers in Go are modules of their own as well, with the versions that their makers chose, and
// are built by the tests. Package driver is their side of the line protocol.
//
// # Servers
//
// Agents that are served with foreign SDKs alone are rows of the table servers. Such a program
// prints the URL above its card as its first line, and exits with code 0 at the end of its
// input. TestServers runs parley check on it: testdata/servers/NAME.yaml lists the expected
// findings, with reasons, and there must be no others. Then the other commands call it over
// each of its bindings; testdata/commands/NAME.yaml lists those that fail, with reasons. The
// agents behave alike, so that one table of commands fits them all; see goserver.
//
// TestBehindHub runs the same servers, and an agent in RockBot's dialect (rockbot), behind one
// hub. A proxy before each records the ids of its tasks, so that the test can compare the
// agent's own state with the hub's at the end.
//
// TestGuessing plays a game of many turns with an agent of the JavaScript SDK behind a hub
// (js/guess.mjs): each of its answers is an artifact, and its status requests the next guess
// without text.
//
// # Samples
//
// TestSamples and TestSamplesGame have agents and clients that behave like the samples of the
// protocol's makers (a2a-samples: helloworld, multitenancy, number_guessing_game), rewritten
// from scratch. python/v1/samples.py, js/hello.mjs and a greeter of the Go SDK are greeted
// through a hub by python/v1/greet.py, js/greet.mjs and the Go SDK, in all combinations.
// Clients of four SDKs play through a hub with the players of python/v03/players.py.
//
// # Clients of other protocols
//
// The official clients of OpenAI, for Python and JavaScript, and that of AG-UI call a hub in
// programs of their own (openai, agui), which print their results once.
//
// # The line protocol
//
// The program is started once for each binding, with the hub's URL and the binding (JSONRPC,
// HTTP+JSON or GRPC) as its last two arguments. It reads steps from its standard input, one
// JSON object in each line, and prints results, one JSON object in each line. It must handle
// steps concurrently: a step must not wait for the one before. It exits with code 0 at the end
// of its input. Its standard error is shown when a test fails.
//
//	{"id": 7, "op": "send", "agent": "echo", "params": {…}, "version": "1.9"}
//
// Agent is the name of the agent. Its card is at URL/a2a/AGENT/.well-known/agent-card.json for
// v1.0, and URL/a2a/AGENT/.well-known/agent.json for v0.3. gRPC of v0.3 has no name for an
// agent: there the card is at URL/.well-known/agent.json, and the message names the skill in
// its metadata. Only peers of v1.0 get a version; the client must send this version in place of
// its own.
//
// The ops, with their params in v1.0 and in v0.3, and the printed result:
//
//	send        SendMessageRequest             MessageSendParams           v1.0: {"task": …} or {"message": …}; v0.3: either one, bare
//	stream      SendMessageRequest             MessageSendParams           events
//	get         GetTaskRequest                 TaskQueryParams             the task
//	cancel      CancelTaskRequest              TaskIdParams                the task
//	subscribe   SubscribeToTaskRequest         TaskIdParams                events
//	list        ListTasksRequest               –                           ListTasksResponse
//	createPush  TaskPushNotificationConfig     TaskPushNotificationConfig  the config
//	getPush     GetTaskPushNotification…       {id, pushNotification…Id}   the config
//	listPush    ListTaskPushNotification…      TaskIdParams                v1.0: {"configs": […]}; v0.3: the bare list
//	deletePush  DeleteTaskPushNotification…    {id, pushNotification…Id}   {}
//	read        the body of a notification     the same (a task)           that, read and written by the types of the SDK, without a call
//	stop        the id of a stream's step      the same                    nothing: the client closes that stream
//
// Lines carry the id of their step:
//
//	{"id": 7, "result": {…}}                        the answer of a call
//	{"id": 7, "event": {…}}                         of a stream: StreamResponse in v1.0; in v0.3 a task, message or event, bare
//	{"id": 7, "end": true}                          the end of a stream; optional for a stream that was stopped
//	{"id": 7, "error": {"reason": "TASK_NOT_FOUND", "code": -32001, "status": "404", "message": "…"}}
//
// An error has the reason of the protocol (specification §5.4), or else its code in JSON-RPC,
// or else the status of HTTP or gRPC ("NOT_FOUND"), depending on the SDK. A failure without any
// of them has only a message.
//
// # The page
//
// README.md shows the results of the tests: tables of clients and servers, and the
// findings of parley check in servers of the official SDKs with curl commands, which
// TestFindings runs from testdata/curl. The tests fail if the page differs, and -update
// rewrites it. If some peers are not installed, the page is not compared; with PARLEY_CI=1 this
// is a failure.
//
// # Accepted failures
//
// testdata/known/PEER.yaml lists the scenarios that a peer fails although Parley is right, with
// the reason. A failure that is not listed fails the test, and so does a listed one that
// passes. A whole binding that Parley lacks for a peer is missing in its row; then the first
// scenario has to fail.
//
// # Non-guarantees
//
// The tests show that the SDKs understand Parley, not that Parley follows every rule of the
// specification; the suites beside this one do that.
//
// # Running
//
//	for d in js js03 agui openai/js; do (cd internal/e2e/interop/$d && npm ci); done
//	.ci/venvs
//	.ci/classes
//	cd internal/e2e/interop && go test ./...
//
// Peers whose programs are not installed are skipped, and fail with PARLEY_CI=1.
package interop
