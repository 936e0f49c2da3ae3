/** A crash test of your own tool: kills the process around every commit of a call, and shows that no payment is made twice. */
import { defineTool } from "rookery";
import { crashTool } from "rookery/testing";
import { z } from "zod";

const paid = new Map<string, number>();
const pay = defineTool({
  name: "pay",
  description: "Pays an amount",
  input: z.object({ amount: z.number() }),
  replay: "safe", // The effect key is the key of the payment, so the same call may be repeated.
  execute({ amount }, { effectKey }) {
    paid.set(effectKey, amount);
    return `paid ${amount}`;
  },
});
const crashes = await crashTool(pay, { amount: 5 });
const doubled = crashes.filter(({ effectKeys, answers }) => new Set(effectKeys).size !== 1 || answers.length !== 1);
console.log(`${crashes.length} crashes, ${crashes.filter(({ executions }) => executions > 1).length} repeated calls`);
console.log(doubled.length === 0 ? "no payment was made twice, every message was answered once" : doubled);
process.exitCode = doubled.length === 0 ? 0 : 1;
