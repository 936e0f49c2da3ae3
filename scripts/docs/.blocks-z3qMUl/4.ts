import { createRookery } from "rookery";

const rookery = await createRookery({ home: "./data", model: "anthropic/claude-sonnet-5" });
console.log(await rookery.agent("ann").ask("What is the weather in Rome?"));
for await (const event of rookery.agent("ann").stream("And tomorrow?")) {
  if (event.type === "delta") process.stdout.write(event.text);
}
await rookery.close();