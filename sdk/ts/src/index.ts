/** Workers of agents behind a Parley hub, on NATS or RabbitMQ: see Worker. */

export { artifact, completed, Failed, message, Question, Refused, status, Unanswered, working, type Content, type Event } from "./events.js";
export { Job, type Caller } from "./job.js";
export { Worker, type Agent, type Item, type WorkerOptions } from "./worker.js";
