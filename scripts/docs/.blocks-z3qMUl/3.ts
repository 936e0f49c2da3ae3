import { DefaultChatTransport } from "ai";

const transport = new DefaultChatTransport({
  api: "http://127.0.0.1:7717/api/chat",
  headers: { authorization: `Bearer ${process.env.ROOKERY_TOKEN}` },
  // The agent has the earlier messages already.
  prepareSendMessagesRequest: ({ id, messages }) => ({ body: { id, messages: messages.slice(-1), model: "main" } }),
});
console.log(transport);