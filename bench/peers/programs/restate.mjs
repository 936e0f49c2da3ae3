/** A chat agent on Restate: a conversation is a virtual object, and calling the model and sending the answer are its durable steps. */
import * as restate from "@restatedev/restate-sdk";
import { askModel, messagesOf, readTelegram, send, serveChat } from "./bot.mjs";

const chat = restate.object({
  name: "chat",
  handlers: {
    turn: async (ctx, message) => {
      const turns = (await ctx.get("turns")) ?? [];
      const answer = await ctx.run("model", () => askModel(message, messagesOf(turns, message.text)));
      ctx.set("turns", [...turns, { question: message.text, answer }]);
      if (message.isTelegram) await ctx.run("send", () => send(message, answer).then(() => undefined));
    },
  },
});

await restate.serve({ services: [chat], port: Number(process.env.SERVICE_PORT) });

async function call(message, how) {
  const headers = { "content-type": "application/json", "idempotency-key": message.id };
  const path = `${process.env.INGRESS_URL}/chat/${message.chat}/turn${how}`;
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(message) });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  await response.text();
}

serveChat((message) => call(message, ""));
await readTelegram((message) => call(message, "/send"));
