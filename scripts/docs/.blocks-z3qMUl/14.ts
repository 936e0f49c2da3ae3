import { createRookery, type Model } from "rookery";

const echo: Model = {
  async call({ messages, model }) {
    const content = messages.at(-1)?.content ?? [];
    return { content, stopReason: "stop", api: "echo", provider: "echo", model };
  },
};
await using rookery = await createRookery({ home: "memory", model: echo });
console.log(await rookery.agent("ann").ask("hello"));