/** Ends the killed program's last life: waits until nothing is left to do, closes, and says so. */
import { createInterface } from "node:readline";
import type { RookeryNode } from "../../../src/app/node/open-node.ts";
import { pass } from "./echo-model.ts";

/** Reads lines until "end". Ends the process. */
export async function untilQuiet(node: RookeryNode, close: () => Promise<void>): Promise<void> {
  process.stdout.write("up\n");
  for await (const line of createInterface({ input: process.stdin })) {
    if (line !== "end") continue;
    for (;;) {
      await node.agents.settled();
      const open = await node.ports.store.deliveries({ limit: 10, states: ["pending", "sending"] });
      const busy = await node.ports.store.busyAgents({ limit: 1 });
      if (open.length === 0 && busy.length === 0) break;
      await pass(50);
    }
    await close();
    process.stdout.write("quiet\n");
    process.exit(0);
  }
}
