// src/app/cli/commands/greet.ts
import { defineAction } from "../../../src/app/cli/command.ts";
import { printResult } from "../../../src/app/cli/print.ts";

export const greetCommand = defineAction({
  summary: "greet a person",
  usage: "<name>",
  arguments: { min: 1, max: 1 },
  options: { loud: { type: "boolean", description: "in capitals" } },
  run(context) {
    const { args: [name], flags } = context;
    const text = flags.loud ? `HELLO ${name}` : `hello ${name}`;
    return printResult(context, { text }, text);
  },
});