/** `rookery status`: what an engine does now: its model, today's cost, what works, what waits, and what it asks. */
import { type DescribedLogin, loginStateText } from "../../../adapters/models/logins/describe-logins.ts";
import { costText } from "../../../core/cost-text.ts";
import { type RefusedKey, refusedKeyHelp, refusedKeyText } from "../../../core/refused-key.ts";
import { EngineApi } from "../../client/engine-api.ts";
import type { Status } from "../../gateway/reads/status.ts";
import { type ReachedEngine, reachEngine } from "../chat/reach-engine.ts";
import { defineAction } from "../command.ts";
import { oneLine } from "../plain-text.ts";
import { printResult } from "../print.ts";
import { REMOTE_OPTIONS } from "../remotes.ts";
import { statusLines } from "../status-parts.ts";

export interface Info {
  readonly version: string;
  readonly startedAt: number;
  readonly url: string | null;
  readonly terminal: string | null;
  readonly model: string | null;
  readonly why: string | null;
  readonly logins?: readonly DescribedLogin[];
  readonly refusedKeys?: readonly RefusedKey[];
  readonly today: { readonly tokens: number; readonly dollars: number };
}

interface Busy {
  readonly label?: string;
  readonly agentId?: string;
  readonly waiting?: number;
}

interface Asked {
  readonly id: string;
  readonly tool: string;
}

/** What the screen shows. */
interface Shown {
  readonly facts: Info & { readonly busy: readonly Busy[]; readonly approvals: readonly Asked[] };
  readonly isGuest: boolean;
  readonly working: number;
  readonly lines: readonly string[];
  /** Undefined for a guest, who does not see it. */
  readonly undelivered?: number;
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
      const { facts, ...shown } = await read(engine);
      const lines = screen(engine.isAttached, facts, shown);
      return printResult(context, { isRunning: engine.isAttached, ...facts }, context.here(lines.join("\n")));
    } finally {
      await engine.close();
    }
  },
});

/** An engine elsewhere may be asked with a token of a guest. */
async function read({ transport, url }: ReachedEngine): Promise<Shown> {
  const api = new EngineApi(transport);
  const info = url === undefined ? undefined : await api.get<Info>("/api/terminal");
  if (info?.terminal === null) return readAsGuest(api, info);
  const { working, ...facts } = await api.get<Status & Info>("/api/status");
  const { undelivered } = facts;
  return { facts, isGuest: false, working, undelivered, lines: statusLines(facts, Date.now()) };
}

/** Of the conversations that the token's person has. */
async function readAsGuest(api: EngineApi, info: Info): Promise<Shown> {
  const [{ items }, { items: approvals }] = await Promise.all([
    api.get<{ items: readonly (Busy & { runId: string | null })[] }>("/api/agents", { limit: 500 }),
    api.get<{ items: readonly Asked[] }>("/api/approvals", { state: "pending" }),
  ]);
  const busy = items.filter(({ runId }) => runId !== null);
  return { facts: { ...info, busy, approvals }, isGuest: true, working: busy.length, lines: [] };
}

function screen(
  isRunning: boolean,
  info: Shown["facts"],
  { isGuest, working, undelivered, lines }: Omit<Shown, "facts">,
): readonly string[] {
  const running = isRunning
    ? `running since ${new Date(info.startedAt).toISOString()}`
    : "not running; `rookery serve` or `rookery` starts it";
  const yours = isGuest ? " of yours" : "";
  const { approvals, today } = info;
  return [
    `Engine    ${running} (Rookery ${info.version})`,
    ...(info.url === null ? [] : [`Address   ${oneLine(info.url, 200)}`]),
    `Model     ${oneLine(info.model ?? "none", 80)}${info.why ? ` (${oneLine(info.why, 120)})` : ""}`,
    ...(info.logins ?? []).map((login) => `Login     ${login.provider}: ${loginStateText(login)}`),
    ...(info.refusedKeys ?? []).map(
      (key) => `Key       ${oneLine(refusedKeyText(key, Date.now()), 300)} ${oneLine(refusedKeyHelp(key), 300)}`,
    ),
    `Today     ${costText(today.dollars, today.tokens)}, ${today.tokens} tokens${yours}`,
    `Working   ${working === 0 ? "nothing" : `${working} agents${yours}`}`,
    ...lines,
    `Waiting   ${approvals.length} to approve${undelivered === undefined ? "" : `, ${undelivered} to deliver`}`,
    ...approvals.map(({ id, tool }) => `          ${oneLine(tool, 60)}: \`rookery approvals yes ${oneLine(id, 8)}\``),
  ];
}
