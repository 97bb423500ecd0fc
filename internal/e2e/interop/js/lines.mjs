// The line protocol that doc.go of this folder's parent describes.

import { createInterface } from 'node:readline';

const print = (o) => process.stdout.write(JSON.stringify(o) + '\n');

/**
 * Takes steps until the input ends. Calls return promises of results, streams return
 * async iterators of events and are given a signal that ends them. What a call throws
 * is explained by refusal, with the reason or the code of the protocol.
 */
export async function takeSteps({ calls, streams, refusal }) {
  const running = new Map();

  async function follow(step) {
    const stop = new AbortController();
    running.set(step.id, stop);
    try {
      for await (const event of streams[step.op](step, stop.signal)) print({ id: step.id, event });
      print({ id: step.id, end: true });
    } finally {
      running.delete(step.id);
    }
  }

  async function take(step) {
    if (step.op === 'stop') {
      running.get(step.params)?.abort();
      return;
    }
    try {
      if (streams[step.op]) await follow(step);
      else print({ id: step.id, result: await calls[step.op](step) });
    } catch (err) {
      print({ id: step.id, error: { message: `${err.name}: ${err.message}`, ...refusal(err) } });
    }
  }

  for await (const line of createInterface({ input: process.stdin })) void take(JSON.parse(line));
  process.exit(0);
}
