/** Chat in ten lines: ask, and stream the next answer. Runs offline; name a model to talk to a real one. */
import { createRookery } from "rookery";

await using rookery = await createRookery({ home: "memory", model: process.env.MODEL ?? "offline" });
const ann = rookery.agent("ann");
console.log(await ann.ask("What is the weather in Rome?"));
for await (const event of ann.stream("And tomorrow?")) {
  if (event.type === "delta") process.stdout.write(event.text);
}
console.log();
