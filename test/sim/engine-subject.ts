/** The real engine as the subject of the simulated world. */
import { AgentSystem } from "../../src/agents/agent-system.ts";
import { configDefaults } from "../../src/config/config-schema.ts";
import type { SubjectUnderTest } from "./subject.ts";

export const engine: SubjectUnderTest = {
  name: "engine",
  features: [
    "tools",
    "files",
    "timeouts",
    "model-errors",
    "silent-messages",
    "commands",
    "abort",
    "attempts",
    "discard",
    "queue-modes",
  ],
  async start(ports, { name, leaseMs, alone, restore, queue }) {
    const system = new AgentSystem(ports, {
      nodeName: name,
      ...(alone ? {} : { leaseMs }),
      restore,
      ...(queue ? { queue: { ...configDefaults.queue, byChannel: {}, ...queue } } : {}),
      runs: { timeoutMs: 30_000 },
      voice: () => ({ model: "scripted", system: "You are simulated." }),
    });
    await system.load();
    await system.start();
    return { drain: () => system.drain(), abort: (runId) => system.abort(runId) };
  },
};
