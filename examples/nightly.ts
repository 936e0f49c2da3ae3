/** A nightly job that reports. Its due times are in the store: a program that was down at three runs the job when it is back. */
import { createRookery } from "rookery";
import { scripted } from "rookery/testing";

await using rookery = await createRookery({ home: "memory", model: scripted("12 new orders, nothing is stuck.") });
const job = await rookery.schedule.add({
  name: "nightly report",
  schedule: { kind: "cron", expr: "0 3 * * *", tz: "Europe/Rome" },
  payload: { kind: "agentTurn", message: "Report on the orders of the last day." },
});
console.log(`${job.name}: ${job.when}`);
await rookery.schedule.run(job.id); // Now, outside of its schedule.
await rookery.settled();
const { items: runs } = await rookery.schedule.runs(job.id);
console.log(`${runs.length} run, and the agent said:`);
const { items } = await rookery.agent(`cron:${job.id}`).history();
const answer = items.find(({ entry }) => entry?.role === "assistant")?.entry;
console.log((answer?.content as { text: string }[] | undefined)?.[0]?.text);
