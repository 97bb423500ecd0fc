// An agent beside others at one queue: node beside_agent.mjs URL NAME KEY…
// The variable BROKER_CA has the file of an authority for TLS.

import { once } from "node:events";
import { Worker } from "parley-worker";

const [url, name, ...hubs] = process.argv.slice(2);

async function agent(job) {
  if (job.text === "hold") {
    console.log("holding");
    await once(job.signal, "abort");
  }
  return `TypeScript: ${job.text}`;
}

await new Worker(name, agent, { url, hubs, ca: process.env.BROKER_CA, idempotent: true }).run();
