package adminapi_test

import (
	"reflect"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/events"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/inbox"
)

// operation describes a route beyond its types and its access.
type operation struct {
	// id is the name for generated clients, text one line about it, and more a further
	// paragraph.
	id, text, more string
	// params are the parameters of the query; those of the path come from the path.
	params []string
	// errors are "status REASON" of the errors that not every operation has.
	errors []string
	// event is the type of the events of a stream; ended is set if the event "end" ends it.
	event reflect.Type
	ended bool
}

// errors of several operations.
const (
	noTask   = "404 TASK_NOT_FOUND"
	noAgent  = "404 AGENT_NOT_FOUND"
	noItem   = "404 ITEM_NOT_FOUND"
	noLetter = "404 LETTER_NOT_FOUND"
	noNote   = "404 NOTE_NOT_FOUND"
	conflict = "409 NOT_POSSIBLE"
	changed  = "409 TASK_CHANGED"
	settled  = "409 ITEM_SETTLED"
	inFile   = "409 AGENT_CONFIGURED"
)

// operations are the operations by their routes.
var operations = map[string]operation{
	"GET /status": {id: "getStatus", text: "Returns the version, the readiness and the parts of the hub, and the numbers of the caller's tasks."},
	"GET /caller": {id: "getCaller", text: "Returns the caller's own identity."},

	"GET /agents":                 {id: "listAgents", text: "Lists the agents in the order of their registration."},
	"POST /agents":                {id: "addAgent", text: "Registers a remote agent under the name in the body, or under one that is derived from its title.", errors: []string{inFile}},
	"POST /agents/review":         {id: "reviewAgent", text: "Fetches the card of an agent that is not registered, for a review, and registers nothing."},
	"POST /conformance":           {id: "checkAgent", text: "Checks whether an agent complies with the specification, from its card, and returns the report.", more: "The hub sends about eighty messages for each interface, to addresses that the configuration of the directory allows. It checks one agent at a time, for at most two minutes; a caller that disconnects ends the check."},
	"GET /agents/{id}":            {id: "getAgent", text: "Returns one agent with its card.", errors: []string{noAgent}},
	"PUT /agents/{id}":            {id: "putAgent", text: "Registers a remote agent under this name, or changes its registration.", errors: []string{inFile}},
	"DELETE /agents/{id}":         {id: "removeAgent", text: "Removes an agent that was registered.", errors: []string{noAgent, inFile}},
	"POST /agents/{id}/probe":     {id: "probeAgent", text: "Checks whether an agent answers.", errors: []string{noAgent}},
	"POST /agents/{id}/refresh":   {id: "refreshAgent", text: "Reads the card of an agent again.", errors: []string{noAgent}},
	"POST /agents/{id}/pause":     {id: "pauseAgent", text: "Holds back further messages to an agent.", errors: []string{noAgent}},
	"POST /agents/{id}/resume":    {id: "resumeAgent", text: "Sends messages to an agent again."},
	"GET /search":                 {id: "searchAgents", text: "Finds agents and MCP servers, the best first.", params: []string{"q!", "limit=5..20"}},
	"GET /costs":                  {id: "listCosts", text: "Returns the costs of tasks by agent and skill.", params: []string{"agent", "skill", "minSamples"}},
	"GET /confidences":            {id: "listConfidences", text: "Returns the confidences that agents reported, by agent and skill.", params: []string{"agent", "skill", "minSamples"}},
	"GET /keys":                   {id: "listKeys", text: "Lists the API keys without their texts."},
	"POST /keys":                  {id: "addKey", text: "Creates an API key. Its text is in the answer and nowhere else.", errors: []string{"409 FIRST_KEY_NOT_ADMIN"}},
	"DELETE /keys/{id}":           {id: "revokeKey", text: "Revokes an API key, at once or after a time.", params: []string{"after:duration"}, errors: []string{"404 KEY_NOT_FOUND", "409 KEY_CONFIGURED"}},
	"GET /trust":                  {id: "listTrust", text: "Lists the trust levels of callers and agents."},
	"POST /trust":                 {id: "setTrust", text: "Changes the trust level or the approved skills of a caller or an agent."},
	"GET /permissions":            {id: "listPermissions", text: "Returns what callers with keys may do with agents, and why.", more: "At most 50 callers and 24 agents; the filters select others.", params: []string{"op", "agent:operations", "caller", "find"}},
	"GET /audit":                  {id: "listAudit", text: "Lists entries of the audit log, the oldest first.", params: []string{"actor", "action", "task", "agent", "since", "until", "after:number", "limit=100..1000"}},
	"GET /audit/verify":           {id: "verifyAudit", text: "Verifies the audit log with the key of the hub. One request at a time may do so."},
	"GET /graph":                  {id: "getGraph", text: "Counts the calls between callers and agents, and their cost, in the newest 10,000 tasks.", more: "It may be ten seconds old.", params: []string{"last"}},
	"GET /samples":                {id: "listSamples", text: "Returns the samples of the last hour, for curves.", params: []string{"after:moment"}},
	"GET /push":                   {id: "listWebhooks", text: "Lists the webhooks of all callers, without their secrets.", params: []string{"task", "dead", "pageSize=50..200", "pageToken"}},
	"POST /push/{id}/redeliver":   {id: "redeliver", text: "Sends the webhooks of a task their undelivered notifications again.", errors: []string{"404 WEBHOOK_NOT_FOUND"}},
	"GET /dead":                   {id: "listDeadLetters", text: "Lists the dead letters of queues, the newest first.", params: []string{"queue", "task", "pageSize=100..1000", "pageToken"}},
	"GET /dead/{id}":              {id: "getDeadLetter", text: "Returns one dead letter with its envelope.", errors: []string{noLetter}},
	"DELETE /dead/{id}":           {id: "dropDeadLetter", text: "Deletes a dead letter.", errors: []string{noLetter}},
	"POST /dead/{id}/replay":      {id: "replayDeadLetter", text: "Publishes a dead letter to its queue again, and deletes it.", errors: []string{noLetter, conflict, "503 BROKER_UNAVAILABLE"}},
	"GET /tasks":                  {id: "listTasks", text: "Lists the caller's tasks, the last changed first.", more: "With `idPrefix` they are ordered by id, with `q` by their creation.", params: []string{"q:tasks", "agent", "context", "state", "idPrefix", "since:tasks", "until:tasks", "owner", "pageSize=50..100", "pageToken"}},
	"GET /tasks/{id}":             {id: "getTask", text: "Returns one of the caller's tasks with its agent. With scope=all it is a task of any owner, with its messages.", params: []string{"owner"}, errors: []string{noTask}},
	"GET /counts":                 {id: "countTasks", text: "Returns the numbers of the caller's tasks by state.", params: []string{"agent", "owner"}},
	"GET /tasks/{id}/tree":        {id: "getTree", text: "Returns a task of the caller and those that it has delegated. With scope=all it is a task of any owner, without the tasks at other servers.", params: []string{"owner"}, errors: []string{noTask}},
	"GET /tasks/{id}/log":         {id: "getLog", text: "Returns the entries of the log of a task with their times.", params: []string{"after:version", "limit=1000..1000", "owner", "frames"}, errors: []string{noTask}},
	"POST /tasks/{id}/redrive":    {id: "redriveTask", text: "Dispatches the message of a task again.", errors: []string{noTask, conflict, changed}},
	"POST /tasks/{id}/cancel":     {id: "cancelTask", text: "Cancels a task as its caller may, and waits until its agent has confirmed or refused.", errors: []string{noTask, changed}},
	"POST /tasks/{id}/fail":       {id: "failTask", text: "Ends a task as failed, with a reason for its caller.", errors: []string{noTask, conflict, changed}},
	"POST /tasks/{id}/reassign":   {id: "reassignTask", text: "Assigns a waiting task to another agent.", errors: []string{noTask, noAgent, conflict, changed}},
	"GET /inbox":                  {id: "listInbox", text: "Lists the items that wait for a person.", more: "An administrator sees all items, other callers the questions about their own tasks.", params: []string{"state:inbox", "kind*", "pageSize=50..200", "pageToken"}},
	"POST /inbox":                 {id: "askPerson", text: "Adds a question of the caller to the inbox."},
	"GET /inbox/{id}":             {id: "getItem", text: "Returns one item of the inbox.", errors: []string{noItem}},
	"POST /inbox/{id}/answer":     {id: "answerItem", text: "Answers a question.", errors: []string{noItem, settled}},
	"POST /inbox/{id}/approve":    {id: "approveItem", text: "Approves an action.", errors: []string{noItem, settled}},
	"POST /inbox/{id}/refuse":     {id: "refuseItem", text: "Refuses an action, or declines to answer a question.", errors: []string{noItem, settled}},
	"GET /memory":                 {id: "listNotes", text: "Lists the caller's notes by their keys.", params: []string{"prefix", "category", "after:key", "limit=1.."}},
	"GET /memory/search":          {id: "searchNotes", text: "Finds the caller's notes, the best first.", params: []string{"q", "category", "tag*", "namespace", "limit=1.."}},
	"GET /memory/note":            {id: "getNote", text: "Returns a note with its text.", params: []string{"key!"}, errors: []string{noNote}},
	"PUT /memory/note":            {id: "setNote", text: "Sets a note.", params: []string{"key!"}},
	"DELETE /memory/note":         {id: "deleteNotes", text: "Deletes one note by its key, or all notes whose keys begin with a prefix.", params: []string{"key", "prefix"}, errors: []string{noNote}},
	"DELETE /memory/session":      {id: "closeSession", text: "Ends a session: deletes its notes.", params: []string{"id:session!"}},
	"GET /memory/conversation":    {id: "getConversation", text: "Returns the turns of a context.", params: []string{"context:turns!"}},
	"GET /memory/events":          {id: "streamNotes", text: "Streams the caller's notes and each note that is set.", params: []string{"prefix", "category"}, event: reflect.TypeFor[adminjson.Note]()},
	"GET /attention":              {id: "listAttention", text: "Lists the reasons for which tasks of the caller wait for a person, and the failures of the last hour, by agent and reason."},
	"GET /attention/events":       {id: "streamAttention", text: "Streams the same list, and again after changes, every five seconds at most.", event: reflect.TypeFor[adminjson.AttentionList]()},
	"GET /counts/events":          {id: "streamCounts", text: "Streams the numbers of tasks by state, and again after changes, once a second at most.", params: []string{"agent", "owner"}, event: reflect.TypeFor[adminjson.TaskCounts]()},
	"GET /inbox/events":           {id: "streamInbox", text: "Streams the items that are added or settled, as far as the caller may see them.", more: "The event `behind` ends the stream of a reader that was too slow; it lists the inbox again.", event: reflect.TypeFor[inbox.Item]()},
	"GET /tasks/{id}/tree/events": {id: "streamTree", text: "Streams the tasks of a tree, and each change of a status.", errors: []string{noTask}, event: reflect.TypeFor[adminapi.TreeTask](), ended: true},
	"GET /tasks/{id}/log/events":  {id: "streamLog", text: "Streams the entries of the log of a task, and each that is added. The id of an event is its version.", params: []string{"after:version", "owner"}, errors: []string{noTask}, event: reflect.TypeFor[adminjson.LogEntry](), ended: true},
	"GET /events":                 {id: "streamEvents", text: "Streams all events of the hub. The id of an event continues the stream after it.", params: []string{"after:event", "since:events", "follow", "agent", "owner:events", "task", "context", "kind:event*"}, event: reflect.TypeFor[events.Event]()},
}

// parameter is a parameter of the query.
type parameter struct {
	text   string
	schema map[string]any
}

// parameters are the parameters of the query by their names. A name after a colon selects one of
// several meanings.
var parameters = map[string]parameter{
	"action":           {text: "Only entries of this action, or of those below it, such as `key`."},
	"actor":            {text: "Only entries of this principal."},
	"after:duration":   {text: "The key remains valid for this duration, such as `24h`; without it, the key is revoked immediately."},
	"after:event":      {text: "The id of the last event that the caller has; `first` begins with the oldest stored event. Without it, the stream begins with the next event. The header `Last-Event-ID` takes precedence."},
	"after:key":        {text: "The list begins behind this key: `after` of the page before."},
	"after:number":     {text: "The page begins behind this entry: `next` of the page before.", schema: integer(0)},
	"after:moment":     {text: "Only samples after this time, in milliseconds since 1970.", schema: integer(0)},
	"after:version":    {text: "The first entry has a higher version; `next` of the page before. For a stream, the header `Last-Event-ID` takes precedence.", schema: integer(0)},
	"agent":            {text: "Only those of this agent."},
	"agent:operations": {text: "The answer is about all operations with this agent."},
	"caller":           {text: "Only callers whose ids contain this text."},
	"find":             {text: "Only agents whose names contain this text."},
	"op":               {text: "The operation, such as `send`, which is the default."},
	"category":         {text: "Only notes whose category begins with this text."},
	"context":          {text: "Only those of this context."},
	"context:turns":    {text: "The context of the conversation."},
	"dead":             {text: "Only webhooks with dead letters, which are included.", schema: map[string]any{"type": "boolean"}},
	"follow":           {text: "`false` ends the stream after the stored events.", schema: map[string]any{"type": "boolean"}},
	"id:session":       {text: "The id of the session."},
	"frames":           {text: "The name of a dialect, such as `v0.3`: each entry has the frames in which streams of the dialect show it.", schema: map[string]any{"type": "string"}},
	"idPrefix":         {text: "Only tasks whose id begins with this text; it goes with none of context, since and until.", schema: map[string]any{"type": "string", "minLength": 4}},
	"key":              {text: "The key of the note."},
	"kind":             {text: "Only items of this kind.", schema: map[string]any{"enum": []any{"question", "approval", "notice"}}},
	"kind:event":       {text: "Only events of these types or families of types, separated by commas."},
	"last":             {text: "The time of the graph.", schema: map[string]any{"enum": []any{"hour", "day", "week"}, "default": "day"}},
	"limit":            {text: "The maximum number of results."},
	"minSamples":       {text: "Only summaries of at least this number of tasks.", schema: integer(0)},
	"namespace":        {text: "Only notes of this namespace."},
	"owner":            {text: "With `scope=all`: only the tasks of this owner."},
	"owner:events":     {text: "Only events of the tasks of this owner."},
	"pageSize":         {text: "The maximum number of results of a page."},
	"pageToken":        {text: "`nextPageToken` of the page before."},
	"prefix":           {text: "Only notes whose keys begin with this text."},
	"q":                {text: "The words to find."},
	"queue":            {text: "Only letters of this queue."},
	"scope":            {text: "`all` selects the tasks of all owners, for administrators. The hub records the request in its audit log.", schema: map[string]any{"enum": []any{"all"}}},
	"since":            {text: "Only entries from this time on.", schema: map[string]any{"type": "string", "format": "date-time"}},
	"since:events":     {text: "Without `after`, the stream begins with the first event stored from about this time on.", schema: map[string]any{"type": "string", "format": "date-time"}},
	"since:tasks":      {text: "Only tasks whose state has changed at this time or later.", schema: map[string]any{"type": "string", "format": "date-time"}},
	"skill":            {text: "Only those of this skill."},
	"state":            {text: "Only tasks in this state.", schema: map[string]any{"$ref": "#/components/schemas/TaskState"}},
	"state:inbox":      {text: "Only items in this state; open ones by default.", schema: map[string]any{"enum": []any{"all", "open", "answered", "approved", "refused", "expired"}}},
	"tag":              {text: "Only notes with this tag."},
	"task":             {text: "Only those of this task."},
	"until:tasks":      {text: "Only tasks whose state has changed before this time.", schema: map[string]any{"type": "string", "format": "date-time"}},
	"until":            {text: "Only entries before this time.", schema: map[string]any{"type": "string", "format": "date-time"}},
	"q:tasks":          {text: "Only tasks with all these words in their messages and results; it does not go with idPrefix.", schema: map[string]any{"type": "string", "maxLength": 1024}},
}

func integer(least int) map[string]any { return map[string]any{"type": "integer", "minimum": least} }

// statuses describes the errors of single operations by their HTTP status.
var statuses = map[string]string{
	"404": "The subject does not exist",
	"409": "The state of the subject does not allow it",
	"503": "The hub cannot do this now",
}

// commonErrors describes the errors of all operations.
const commonErrors = "An error. `details[0].reason` names it: " +
	"400 `INVALID_PARAMS` (a parameter or a member is invalid), `PARSE_ERROR` (the body is not JSON), `INVALID_REQUEST`, `UNSUPPORTED_OPERATION`; " +
	"401 `UNAUTHENTICATED`; 403 `UNAUTHORIZED`; 404 `METHOD_NOT_FOUND` (the hub has no such part); 413 `REQUEST_TOO_LARGE`; " +
	"415 `CONTENT_TYPE_NOT_SUPPORTED` (the body must be `application/json`); 429 `RESOURCE_EXHAUSTED` (the caller is over its limits; Retry-After is set); " +
	"500 `INTERNAL_ERROR` (the message has a reference to the log of the hub) or `DATA_LOSS`; 503 `UNAVAILABLE` (the request may be repeated)."

// taskStates are the states of a task.
var taskStates = []any{
	"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED",
	"TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED",
}
