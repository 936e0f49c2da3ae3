/** `rookery status`: what an engine does now: its model, today's cost, what works, what waits, and what it asks. */
import { type DescribedLogin, loginStateText } from "../../../adapters/models/logins/describe-logins.ts";
import { costText } from "../../../engine/commands/level-commands.ts";
import { EngineApi } from "../../client/engine-api.ts";
import { reachEngine } from "../chat/reach-engine.ts";
import { defineAction } from "../command.ts";
import { oneLine } from "../plain-text.ts";
import { printResult } from "../print.ts";
import { REMOTE_OPTIONS } from "../remotes.ts";
import { readStatusParts } from "../status-parts.ts";

interface Info {
  readonly version: string;
  readonly startedAt: number;
  readonly url: string | null;
  readonly terminal: string | null;
  readonly model: string | null;
  readonly why: string | null;
  readonly logins?: readonly DescribedLogin[];
  readonly today: { readonly tokens: number; readonly dollars: number };
}

interface Busy {
  readonly label?: string;
  readonly agentId?: string;
  readonly waiting?: number;
}

interface Doing {
  readonly busy: readonly Busy[];
  /** Undefined for a guest, who does not see it. */
  readonly undelivered: number | undefined;
}

export const statusCommand = defineAction({
  summary: "show what an engine does: cost today, what works, failed, comes next and waits",
  options: REMOTE_OPTIONS,
  async run(context) {
    const { stderr } = context;
    const engine = await reachEngine(context, (error) => stderr.write(`${String(error)}\n`), {
      work: false,
      reads: true,
    });
    try {
      const api = new EngineApi(engine.transport);
      const info = await api.get<Info>("/api/terminal");
      const isGuest = info.terminal === null;
      const [{ busy, undelivered }, { items: approvals }] = await Promise.all([
        isGuest ? doingOfGuest(api) : doingOf(api),
        api.get<{ items: readonly { id: string; tool: string }[] }>("/api/approvals", { state: "pending" }),
      ]);
      const more = isGuest ? { facts: {}, lines: [] } : await readStatusParts(api, Date.now());
      const facts = { isRunning: engine.isAttached, ...info, busy, approvals, undelivered, ...more.facts };
      const running = engine.isAttached
        ? `running since ${new Date(info.startedAt).toISOString()}`
        : "not running; `rookery serve` or `rookery` starts it";
      const lines = [
        `Engine    ${running} (Rookery ${info.version})`,
        ...(info.url === null ? [] : [`Address   ${oneLine(info.url, 200)}`]),
        `Model     ${oneLine(info.model ?? "none", 80)}${info.why ? ` (${oneLine(info.why, 120)})` : ""}`,
        ...(info.logins ?? []).map((login) => `Login     ${login.provider}: ${loginStateText(login)}`),
        `Today     ${costText(info.today.dollars, info.today.tokens)}, ${info.today.tokens} tokens${isGuest ? " of yours" : ""}`,
        `Working   ${busy.length === 0 ? "nothing" : `${busy.length} agents${isGuest ? " of yours" : ""}`}`,
        ...more.lines,
        `Waiting   ${approvals.length} to approve${undelivered === undefined ? "" : `, ${undelivered} to deliver`}`,
        ...approvals.map(
          ({ id, tool }) => `          ${oneLine(tool, 60)}: \`rookery approvals yes ${oneLine(id, 8)}\``,
        ),
      ];
      return printResult(context, facts, context.here(lines.join("\n")));
    } finally {
      await engine.close();
    }
  },
});

async function doingOf(api: EngineApi): Promise<Doing> {
  const [{ busy }, outbox] = await Promise.all([
    api.get<{ busy: readonly Busy[] }>("/api/diagnosis"),
    api.get<{ items: readonly unknown[] }>("/api/outbox", { limit: 500 }),
  ]);
  return { busy, undelivered: outbox.items.length };
}

/** Of the conversations that the token's person has. */
async function doingOfGuest(api: EngineApi): Promise<Doing> {
  const { items } = await api.get<{ items: readonly (Busy & { runId: string | null })[] }>("/api/agents", {
    limit: 500,
  });
  return { busy: items.filter(({ runId }) => runId !== null), undelivered: undefined };
}
