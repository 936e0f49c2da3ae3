/** `rookery status`: what an engine does now: its model, today's cost, what works, what waits, and what it asks. */
import { EngineApi } from "../../client/engine-api.ts";
import { reachEngine } from "../chat/reach-engine.ts";
import { defineAction } from "../command.ts";
import { oneLine } from "../plain-text.ts";
import { printResult } from "../print.ts";
import { REMOTE_OPTIONS } from "../remotes.ts";

interface Info {
  readonly version: string;
  readonly startedAt: number;
  readonly model: string | null;
  readonly why: string | null;
  readonly today: { readonly tokens: number; readonly dollars: number };
}

interface Diagnosed {
  readonly busy: readonly { readonly label?: string; readonly agentId?: string; readonly waiting?: number }[];
}

export const statusCommand = defineAction({
  summary: "show what an engine does: model, cost today, what works and what waits",
  options: REMOTE_OPTIONS,
  async run(context) {
    const { stderr } = context;
    const engine = await reachEngine(context, (error) => stderr.write(`${String(error)}\n`), { work: false });
    try {
      const api = new EngineApi(engine.transport);
      const [info, diagnosis, approvals, outbox] = await Promise.all([
        api.get<Info>("/api/terminal", { user: "owner" }),
        api.get<Diagnosed>("/api/diagnosis"),
        api.get<{ items: readonly { id: string; tool: string }[] }>("/api/approvals", { state: "pending" }),
        api.get<{ items: readonly unknown[] }>("/api/outbox", { limit: 500 }),
      ]);
      const facts = { isRunning: engine.isAttached, ...info, busy: diagnosis.busy, approvals: approvals.items };
      const running = engine.isAttached
        ? `running since ${new Date(info.startedAt).toISOString()}`
        : "not running; `rookery serve` or `rookery` starts it";
      const lines = [
        `Engine    ${running} (Rookery ${info.version})`,
        `Model     ${oneLine(info.model ?? "none", 80)}${info.why ? ` (${oneLine(info.why, 120)})` : ""}`,
        `Today     $${info.today.dollars.toFixed(2)}, ${info.today.tokens} tokens`,
        `Working   ${diagnosis.busy.length === 0 ? "nothing" : `${diagnosis.busy.length} agents`}`,
        `Waiting   ${approvals.items.length} to approve, ${outbox.items.length} to deliver`,
        ...approvals.items.map(
          ({ id, tool }) => `          ${oneLine(tool, 60)}: \`rookery approvals yes ${oneLine(id, 8)}\``,
        ),
      ];
      return printResult(context, { ...facts, undelivered: outbox.items.length }, context.here(lines.join("\n")));
    } finally {
      await engine.close();
    }
  },
});
