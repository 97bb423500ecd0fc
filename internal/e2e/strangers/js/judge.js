// a2a-ai-provider, a provider of the AI SDK over the official JavaScript SDK of v0.3, calls the hub.
//
//	node judge.js <hub's URL>
//
// Prints a JSON object: the texts that each call has shown, by call.
import { a2a } from "a2a-ai-provider";
import { generateText, streamText } from "ai";

const card = process.argv[2] + "/.well-known/agent-card.json";
const prompt = "one two three";
const sent = await generateText({ model: a2a(card), prompt });
const stream = streamText({ model: a2a(card), prompt });
let streamed = "";
for await (const piece of stream.textStream) streamed += piece;
console.log(JSON.stringify({ send: [sent.text], stream: [streamed] }));
