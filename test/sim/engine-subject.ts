/** The real engine as the subject of the simulated world. */
import { AgentSystem } from "../../src/agents/agent-system.ts";
import type { SubjectUnderTest } from "./subject.ts";

export const engine: SubjectUnderTest = {
  name: "engine",
  features: ["tools", "files", "silent-messages", "commands"],
  async start(ports, { name, leaseMs }) {
    const system = new AgentSystem(ports, {
      nodeName: name,
      leaseMs,
      runs: { timeoutMs: 60_000 },
      voice: () => ({ model: "scripted", system: "You are simulated." }),
    });
    await system.load();
    await system.start();
    return { drain: () => system.drain() };
  },
};
