import { connectRookery } from "rookery/client";

const here = connectRookery({ home: "./data" });
console.log(await here.agent("ann").ask("hello"));
const there = connectRookery({ url: "https://agents.example.com", token: "rk_…" });
for (const { id, text } of (await there.mailbox("ann").list()).items) {
  console.log(text);
  await there.mailbox("ann").ack(id);
}