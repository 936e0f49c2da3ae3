import { createRookery } from "rookery";

await using rookery = await createRookery({ home: "memory" });
const clerk = await rookery.permanent("clerk", { description: "Files letters", systemPrompt: "You file letters." });
console.log(await clerk.ask("File this: …"));
await rookery.people.add({ id: "ann", accounts: ["telegram:42"] });
await rookery.people.grant("ann", "cron_add", { verdict: "ask" });