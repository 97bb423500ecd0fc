// Package interop holds Parley against the official SDKs, and other programs that speak
// A2A, as strangers on the other side of a socket.
//
// # What it is
//
// The tests build the real binary, start it with its built-in agents, and let the
// clients of strangers speak to it: the peers. Each speaks over every binding that it
// offers, and finds the agents by their cards. All of them go through one table of
// scenarios; a scenario is a subtest with the name peer/binding/scenario. Webhooks that
// they register are told what happens, and what they are told is read by the types of
// the SDK. In the other direction, servers made with the SDKs are called by the
// command.
//
// The SDKs are pinned and untouched. The module is one of its own, so that nobody who
// uses Parley inherits them.
//
// # Peers
//
// A peer is a row of the table peers and a program in a folder of its own, which speaks
// the line protocol below. Its row says which version of the protocol it speaks, over
// which bindings, and which calls its SDK does not offer. Scenarios are written in v1.0.
// Each says which calls it needs, and in which version it makes sense if not in all; a
// peer that lacks one of them does not take it. For a peer of v0.3 the test writes the
// params as v0.3 has them in JSON-RPC, and reads what comes back as v1.0; so its program
// has nothing to translate, and may leave out the kinds of objects. PromptKit, which has
// a shape of the protocol of its own, is treated alike; what only its executor, its
// bridge and its mock do is in scenarios of its own and in TestPromptKitMock.
//
// Peers in Go are modules of their own as well, so that their versions are the ones that
// their makers chose, and are built by the tests. Package driver is their side of the
// line protocol.
//
// # Servers
//
// Agents that are served with foreign SDKs alone are rows of the table servers. Such a
// program prints the URL above its card as its first line, and ends with code 0 when its
// input does. TestServers lets parley check ask it: testdata/servers/NAME.yaml lists what
// it has to find, with reasons, and nothing else may be found. Then the other commands
// call it over each of its bindings; testdata/commands/NAME.yaml has those that fail, with
// reasons. What the agents do is alike, so that one table of
// commands fits them all; see goserver.
//
// The same servers, and an agent in RockBot's shape (rockbot), are put behind one hub by
// TestBehindHub. A proxy before each hears of which tasks it speaks, so that the agent
// itself can be asked in the end whether it agrees with the hub.
//
// TestGuessing plays a game of many turns with an agent of the JavaScript SDK behind a hub
// (js/guess.mjs): each of its answers is an artifact, and its status asks for the next guess
// without a word.
//
// # Samples
//
// TestSamples and TestSamplesGame have agents and clients that behave like the samples of
// the protocol's makers (a2a-samples: helloworld, multitenancy, number_guessing_game), in
// words of their own: python/v1/samples.py, js/hello.mjs and a greeter of the Go SDK are
// greeted through a hub by python/v1/greet.py, js/greet.mjs and the Go SDK, each of all; and
// clients of four SDKs play through a hub with the players of python/v03/players.py.
//
// # Clients of other protocols
//
// The official clients of OpenAI, for Python and JavaScript, and that of AG-UI talk to a hub
// in programs of their own (openai, agui), which print once what they have seen.
//
// # The line protocol
//
// The program is started once for each binding, with the hub's URL and the binding
// (JSONRPC, HTTP+JSON or GRPC) as its last two arguments. It takes steps from its
// standard input, one JSON object in each line, and prints what it sees, one JSON object
// in each line. It takes many steps at once: a step must not wait for the one before. It
// ends with code 0 when its input does. What it says to standard error is shown when a
// test fails.
//
//	{"id": 7, "op": "send", "agent": "echo", "params": {…}, "version": "1.9"}
//
// Agent is the name of the agent. Its card is at URL/a2a/AGENT/.well-known/agent-card.json
// for v1.0, and URL/a2a/AGENT/.well-known/agent.json for v0.3. gRPC of v0.3 has no name for
// an agent: there the card is at URL/.well-known/agent.json, and the message names the skill
// in its metadata. A version is there only for peers of v1.0: then the client has to name
// this version in place of its own.
//
// The ops, with their params in v1.0 and in v0.3, and what is printed as the result:
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
//	stop        the id of a stream's step      the same                    nothing: the client leaves that stream
//
// Lines carry the id of their step:
//
//	{"id": 7, "result": {…}}                        the answer of a call
//	{"id": 7, "event": {…}}                         of a stream: StreamResponse in v1.0; in v0.3 a task, message or event, bare
//	{"id": 7, "end": true}                          the end of a stream; one that was left need not say it
//	{"id": 7, "error": {"reason": "TASK_NOT_FOUND", "code": -32001, "status": "404", "message": "…"}}
//
// An error has the reason of the protocol (specification §5.4), or else its code in
// JSON-RPC, or else the status of HTTP or gRPC ("NOT_FOUND"), whatever the SDK gives. A
// failure that has none of them has only a message.
//
// # The page
//
// docs/interop.md shows what the tests came to: tables of clients and servers, and the
// findings of parley check in servers of the official SDKs with curl commands, which
// TestFindings runs from testdata/curl. The tests fail where the page says something else,
// and -update writes it. Where some peers are not installed it is not compared, and with
// PARLEY_CI=1 that is a failure.
//
// # Accepted failures
//
// testdata/known/PEER.yaml lists the scenarios that a peer fails although Parley is
// right, with the reason. A failure that is not listed fails the test, and so does a
// listed one that passes. A whole binding that Parley lacks for a peer is missing in its
// row; then the first scenario has to fail.
//
// # What it does not promise
//
// The tests show that the SDKs understand Parley, not that Parley follows every rule
// of the specification; the suites beside this one do that.
//
// # Running
//
//	for d in js js03 agui openai/js; do (cd internal/e2e/interop/$d && npm ci); done
//	.ci/venvs
//	.ci/classes
//	cd internal/e2e/interop && go test ./...
//
// Peers whose programs are not installed are skipped, and fail where PARLEY_CI=1.
package interop
