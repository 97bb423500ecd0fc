// The agent of internal/bus/transcripts: node transcript_agent.mjs URL NAME KEY…

import { once } from "node:events";
import { artifact, completed, Failed, Question, Refused, status, Worker, working } from "../dist/index.js";

const [url, name, ...hubs] = process.argv.slice(2);
const howMany = new Question("how-many", "how many?", Number);

async function* agent(job) {
  if (job.task) return yield completed(`${job.text} it is`);
  const [word, ...words] = job.text.split(" ");
  const rest = words.join(" ");
  switch (word) {
    case "echo":
      return yield completed(rest);
    case "progress":
      yield "halfway";
      return yield completed("done");
    case "stream":
      for (let n = 0; n < Number(rest); n++) yield artifact("numbers", `${n} `, { append: n > 0, last: n === Number(rest) - 1 });
      return yield completed();
    case "ask":
      return yield howMany;
    case "whoami":
      return yield completed(job.caller.id);
    case "length":
      return yield completed(String(job.text.length));
    case "large":
      yield artifact("large", "x".repeat(Number(rest)));
      return yield completed();
    case "fail":
      throw new Failed(rest);
    case "crash":
      throw new TypeError(rest);
    case "late":
      yield completed();
      return yield working();
    case "signin":
      return yield status("AUTH_REQUIRED");
    case "wait":
    case "stubborn":
      yield "waiting";
      await once(job.signal, "abort");
  }
}

const onCancel = (job) => {
  if (job.text === "stubborn") throw new Refused("the ship has sailed");
};

await new Worker(name, agent, { url, hubs, idempotent: true, drain: 0, onCancel }).run();
