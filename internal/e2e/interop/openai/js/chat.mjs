// Talks to the agents of a hub with OpenAI's own client, and prints what it sees.
// Its arguments are the base URL and a key of the hub. It prints one JSON object.
import OpenAI from "openai";

const [baseURL, apiKey] = process.argv.slice(2);
let client = new OpenAI({ baseURL, apiKey });
const seen = {};
const user = (content) => ({ role: "user", content });

// refused returns what the client makes of an error.
async function refused(call) {
  try {
    await call();
  } catch (e) {
    if (!(e instanceof OpenAI.APIError)) throw e;
    return { error: e.constructor.name, status: e.status, type: e.type, param: e.param ?? null, code: e.code };
  }
  return { error: null };
}

async function whole(request) {
  const c = await client.chat.completions.create(request);
  return { text: c.choices[0].message.content, finish: c.choices[0].finish_reason, state: c.metadata.state };
}

async function streamed(request) {
  const text = [];
  let finish = null, state = null, usage = null;
  const chunks = await client.chat.completions.create({ ...request, stream: true, stream_options: { include_usage: true } });
  for await (const chunk of chunks) {
    if (chunk.usage) usage = chunk.usage.total_tokens;
    for (const choice of chunk.choices) {
      if (choice.delta.content) text.push(choice.delta.content);
      if (choice.finish_reason) [finish, state] = [choice.finish_reason, chunk.metadata.state];
    }
  }
  return { text, finish, state, usage };
}

seen.models = [];
for await (const m of client.models.list()) seen.models.push(m.id);
seen.model = (await client.models.retrieve("echo")).owned_by;
seen.whole = await whole({ model: "echo", messages: [user("good day")] });
seen.streamed = await streamed({ model: "echo/echo", messages: [user("good day")] });
const odd = 'héllo 🎉👩\u200d👩\u200d👧 \u202e مرحبا 日本語 e\u0301 \\n "q" <b>&amp; \ttab\nline\r\n\r\ndata: [DONE] \u2028.';
const large = Array.from({ length: 1_000 }, (_, i) => `${i}é🎉`.repeat(100)).join(" ");
for (const [name, text] of Object.entries({ odd, large })) {
  const w = await whole({ model: "echo", messages: [user(text)] }), s = await streamed({ model: "echo", messages: [user(text)] });
  seen[name] = [w.text === text, s.text.join("") === text, s.state];
}
const image = { type: "image_url", image_url: { url: "data:image/png;base64,eA==" } };
seen.image = await whole({ model: "echo", messages: [user([{ type: "text", text: "look" }, image])] });
seen.question = await whole({ model: "interview", messages: [user("begin")] });
const asked = [user("begin"), { role: "assistant", content: seen.question.text }, user("one")];
seen.answered = await whole({ model: "interview", messages: asked });
asked.push({ role: "assistant", content: seen.answered.text }, user("two"));
seen.done = (await whole({ model: "interview", messages: asked })).state;
seen.kept = [];
for (const t of ["begin", "one", "two"]) seen.kept.push((await whole({ model: "interview", user: "ann", messages: [user(t)] })).state);
seen.unknown = await refused(() => whole({ model: "ecko", messages: [user("a")] }));
seen.two = await refused(() => whole({ model: "echo", n: 2, messages: [user("a")] }));
seen.failed = await refused(() => whole({ model: "breaker", messages: [user("a")] }));
try {
  await streamed({ model: "breaker", messages: [user("a")] });
} catch (e) {
  seen.broken = { error: e.constructor.name, code: e.code };
}
client = new OpenAI({ baseURL, apiKey: "nobody's" });
seen.stranger = await refused(() => whole({ model: "echo", messages: [user("a")] }));
console.log(JSON.stringify(seen));
