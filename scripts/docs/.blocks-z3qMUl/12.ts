import { defineTool } from "rookery";
import { crashTool } from "rookery/testing";
import { z } from "zod";

const input = z.object({ amount: z.number() });
const pay = defineTool({ name: "pay", description: "Pays an amount", input, execute: ({ amount }) => `paid ${amount}` });
for (const { at, moment, executions, answers } of await crashTool(pay, { amount: 5 })) {
  if (executions > 1 || answers.length !== 1) console.log(`wrong when killed ${moment} ${at}`);
}