/**
 * Talks to a running `rookery serve` with the official OpenAI client. Each `user` has a conversation of its own, and the
 * agent remembers it: send only the new message.
 *
 *   npm start -- serve
 *   ROOKERY_TOKEN=$(cat ~/.rookery/token) node_modules/.bin/node examples/openai-client.ts "what time is it"
 */
import OpenAI from "openai";

const { ROOKERY_URL = "http://127.0.0.1:7717", ROOKERY_TOKEN } = process.env;
const [content = "hi"] = process.argv.slice(2);

const client = new OpenAI({ baseURL: `${ROOKERY_URL}/v1`, apiKey: ROOKERY_TOKEN ?? "" });
const answer = await client.chat.completions.create({
  model: "main",
  user: "ann",
  stream: true,
  messages: [{ role: "user", content }],
});
for await (const chunk of answer) process.stdout.write(chunk.choices[0]?.delta.content ?? "");
process.stdout.write("\n");
