import { createRookery, defineConnector } from "rookery";

const pager = defineConnector({
  name: "pager",
  async start(host) {
    const delivery = { channel: "pager", to: "bob" };
    await host.accept({ connector: "pager", userId: "bob", channelId: "bob", messageId: "1", text: "hello", delivery });
  },
  async send({ id, target, payload }) {
    console.log(`${id} to ${target.to}: ${payload.text}`);
  },
});
await using rookery = await createRookery({ home: "memory", connectors: [pager] });