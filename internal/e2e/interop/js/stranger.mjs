// What the agents that are served with the JavaScript SDKs have in common.

import { createServer } from 'node:http';

/** Whether a message begins with one of these words, in its text or in its id. */
export const told = (messageId, text, ...words) => words.some((w) => text.startsWith(w) || messageId.startsWith(w));

/** What to do when a task is canceled, by the ids of the open tasks. */
export const open = new Map();

/** Listens on a free port and returns the server and the URL that it is reached by. */
export async function listen() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${server.address().port}` };
}

/** Serves an application until the input ends. */
export function serve(server, url, app) {
  server.on('request', app);
  process.stdout.write(url + '\n');
  process.stdin.resume();
  process.stdin.on('end', () => process.exit(0));
}

/** Binds a gRPC server to a free port and returns its address. */
export function bind(rpc, credentials) {
  return new Promise((resolve, reject) => {
    rpc.bindAsync('127.0.0.1:0', credentials, (err, port) => (err ? reject(err) : resolve(`127.0.0.1:${port}`)));
  });
}
