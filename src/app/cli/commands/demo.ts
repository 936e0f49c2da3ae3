/** `rookery demo`: shows in twenty seconds what Rookery does, with a real engine that is really killed. */
import { fileURLToPath } from "node:url";
import { themeOf } from "../chat/theme.ts";
import { defineAction } from "../command.ts";
import { printResult } from "../print.ts";

export const demoCommand = defineAction({
  summary: "show in twenty seconds what it does: work, schedules, budgets, a kill -9 and the answers after it",
  description:
    "Starts a real engine on a scratch home with the offline model, sends messages, kills the engine with kill -9 while messages wait, starts it again and counts. Nothing leaves this computer, your home is not touched, and the scratch home is removed at the end. Exits with 1 if a message is lost or doubled.",
  async run(context) {
    const { runDemo } = await import("../demo/run-demo.ts");
    const { env, stdout, json, here } = context;
    const isPlain = json || !process.stdout.isTTY;
    // Its colours are its own; what agents say is cleaned before.
    const output = isPlain ? stdout : process.stdout;
    const counts = await runDemo({
      write: (text) => (json ? undefined : output.write(text)),
      theme: themeOf(isPlain ? { NO_COLOR: "1", FORCE_PLAIN: "1" } : env),
      file: fileURLToPath(
        new URL(import.meta.url.endsWith(".ts") ? "../../../main.ts" : "../../../bin.js", import.meta.url),
      ),
      command: here("`rookery`").slice(1, -1),
    });
    if (json) printResult(context, counts, "");
    return counts.lost + counts.doubled > 0 ? 1 : undefined;
  },
});
