// Runs agents of a hub with AG-UI's own client, and prints what it sees.
// Its arguments are the base URL and a key of the hub. It prints one JSON object.
import { HttpAgent } from "@ag-ui/client";

const [base, key] = process.argv.slice(2);
const seen = {};

function agent(name, more = {}) {
  return new HttpAgent({ url: `${base}/ag-ui/${name}`, headers: { Authorization: `Bearer ${key}` }, ...more });
}

// run runs an agent and returns its events, in short, and the messages that are new.
async function run(a, parameters = {}) {
  const events = [];
  let outcome = null, error = "";
  const result = await a.runAgent(parameters, {
    onEvent: ({ event }) => {
      if (events.at(-1) !== event.type) events.push(event.type);
      if (event.type === "RUN_FINISHED") outcome = event.outcome?.type;
      if (event.type === "RUN_ERROR") error = event.code;
    },
  });
  if (error) return { error };
  return { events, outcome, said: result.newMessages.filter((m) => m.role === "assistant").map((m) => m.content) };
}

function says(a, text) {
  a.addMessage({ id: crypto.randomUUID(), role: "user", content: text });
}

const echo = agent("echo");
says(echo, "good day to you");
seen.echo = await run(echo);
says(echo, "and again");
seen.again = (await run(echo)).said;

const interview = agent("interview");
says(interview, "begin");
seen.question = await run(interview);
const answer = async (payload) => {
  const [open] = interview.pendingInterrupts;
  return run(interview, { resume: [{ interruptId: open.id, status: "resolved", payload }] });
};
seen.second = (await answer("one")).outcome;
seen.done = await answer("two");

const declined = agent("interview");
says(declined, "begin");
await run(declined);
seen.declined = (await run(declined, { resume: [{ interruptId: declined.pendingInterrupts[0].id, status: "cancelled" }] })).outcome;

const report = agent("report");
says(report, "sales");
seen.report = (await run(report)).events;

const back = agent("echo", { threadId: echo.threadId });
await run(back);
seen.recalled = back.messages.map((m) => `${m.role}: ${m.content}`);

const failing = async (a) => {
  says(a, "x");
  try {
    return (await run(a)).error;
  } catch (e) {
    return e.message;
  }
};
seen.failed = await failing(agent("breaker"));
seen.nobody = (await failing(agent("nobody"))).slice(0, 8);
seen.stranger = (await failing(new HttpAgent({ url: `${base}/ag-ui/echo`, headers: { Authorization: "Bearer nobody" } }))).slice(0, 8);
console.log(JSON.stringify(seen));
