/** An application that reads its agents' mailbox. A message is delivered again until it is acknowledged, even after a crash. */
import { createRookery } from "rookery";
import { scripted } from "rookery/testing";

await using rookery = await createRookery({ home: "memory", model: scripted("The report is ready.") });
await rookery.agent("ann").send("Write the report and tell me when it is ready.", { mailbox: true });
const mailbox = rookery.mailbox("ann");
for await (const item of mailbox.items()) {
  console.log(`to ann: ${item.text}`);
  // Store what you do with it under `item.id`, then acknowledge.
  await mailbox.ack(item.id);
  break;
}
console.log(`${(await mailbox.list()).items.length} left`);
