/** Shared by the programs on DBOS and Restate: the model, Telegram, and chat completions over HTTP. It is copied beside their packages. */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const { MODEL_URL, TELEGRAM_URL, PORT } = process.env;
/** Who waits in this process for the pieces of an answer, by the id of its message. */
const listeners = new Map();

export const messagesOf = (turns, text) => [
  ...turns.flatMap(({ question, answer }) => [
    { role: "user", content: question },
    { role: "assistant", content: answer },
  ]),
  { role: "user", content: text },
];

export async function askModel({ id }, messages) {
  const body = JSON.stringify({ model: "fake", stream: true, messages });
  const response = await fetch(`${MODEL_URL}/chat/completions`, { method: "POST", body });
  let answer = "";
  let rest = "";
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop();
    for (const line of lines.filter((one) => one.startsWith("data: {"))) {
      const text = JSON.parse(line.slice(6)).choices[0].delta.content ?? "";
      answer += text;
      listeners.get(id)?.(text);
    }
  }
  return answer;
}

async function callTelegram(method, args) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${TELEGRAM_URL}/${method}`, { method: "POST", headers, body: JSON.stringify(args) });
  return (await response.json()).result;
}

export const send = ({ chat }, text) => callTelegram("sendMessage", { chat_id: chat, text });

/** Confirms an update after `accept` has stored its message. */
export async function readTelegram(accept) {
  for (let offset; TELEGRAM_URL; ) {
    try {
      for (const { update_id, message } of await callTelegram("getUpdates", { offset, timeout: 10 })) {
        await accept({
          id: `telegram-${update_id}`,
          chat: String(message.chat.id),
          text: message.text,
          isTelegram: true,
        });
        offset = update_id + 1;
      }
    } catch {
      await sleep(100);
    }
  }
}

export function serveChat(answer) {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request.setEncoding("utf8")) body += piece;
    const { user, messages } = JSON.parse(body);
    const id = randomUUID();
    response.writeHead(200, { "content-type": "text/event-stream" });
    listeners.set(id, (content) =>
      response.write(
        `data: ${JSON.stringify({ object: "chat.completion.chunk", choices: [{ index: 0, delta: { content } }] })}\n\n`,
      ),
    );
    await answer({ id, chat: user, text: messages.at(-1).content });
    listeners.delete(id);
    response.end("data: [DONE]\n\n");
  });
  server.keepAliveTimeout = 60_000;
  server.listen(Number(PORT), "127.0.0.1");
}
