/**
 * Facts that name a forgotten person: requests to be let in, link codes, carried conversations, open questions, calls that wait for input, traces of refused
 * messages, notes about runs. Logins and tokens have owners of their own (`Access`).
 */
import { keyPart } from "../../../core/agent/session-key.ts";
import { CONVERSATIONS_FACT, type Op } from "../../../core/store/change.ts";
import type { StoreEraser } from "../../../core/store/store.ts";
import type { ForgetPlan } from "./forget-plan.ts";

/** `null`: the fact is removed. `undefined`: nothing in it is about the person. */
type Rule = (value: unknown, plan: ForgetPlan) => unknown;

interface Named {
  readonly account?: unknown;
  readonly person?: unknown;
}

const isOf = (plan: ForgetPlan, one: unknown): boolean => typeof one === "string" && plan.people.includes(one);

/** Of an agent of the person, or about one of the person's chats. */
const ofAgent: Rule = (value, plan) =>
  plan.agents.includes(String((value as { agentId?: string }).agentId)) ? null : undefined;

const pairing: Rule = (value, plan) => {
  const pages = value as { requests?: Named[]; links?: Named[]; blocked?: string[] };
  return {
    ...pages,
    requests: pages.requests?.filter(({ account }) => !isOf(plan, account)),
    links: pages.links?.filter(({ person }) => !isOf(plan, person)),
    blocked: pages.blocked?.filter((account) => !isOf(plan, account)),
  };
};

const refusedMessage: Rule = (value, plan) => {
  const { connector, channelId, userId } = ((value as { source?: Record<string, string> }).source ?? {}) as Record<
    string,
    string
  >;
  return [channelId, userId].some((id) => isOf(plan, `${connector}:${id}`)) ? null : undefined;
};

/** A key of a direct conversation with one of the person's names. */
const isKeyOf = (plan: ForgetPlan, key: string): boolean =>
  plan.people.some((name) => {
    const peer = `:dm:${keyPart(name.slice(name.indexOf(":") + 1))}`;
    return key.endsWith(peer) || key.includes(`${peer}:`);
  });

/** A conversation is the person's if both of its keys are. */
const conversations: Rule = (value, plan) => {
  const book = value as { carried?: Record<string, string> };
  const left = Object.entries(book.carried ?? {}).filter(([to, from]) => !isKeyOf(plan, to) || !isKeyOf(plan, from));
  return { ...book, carried: Object.fromEntries(left) };
};

/** By the beginning of the key. */
const RULES: readonly (readonly [prefix: string, rule: Rule])[] = [
  ["pairing", pairing],
  [CONVERSATIONS_FACT, conversations],
  ["question.", ofAgent],
  ["mcp-input:", ofAgent],
  ["stale:", refusedMessage],
  ["watchdog", ofAgent],
];

const PAGE = 500;

export async function factOps(eraser: StoreEraser, plan: ForgetPlan): Promise<readonly Op[]> {
  const ops: Op[] = [];
  for (let after = ""; ; ) {
    const page = await eraser.facts({ limit: PAGE, after });
    for (const { key, value } of page) {
      const rule = RULES.find(([prefix]) => key.startsWith(prefix))?.[1];
      const next = rule?.(JSON.parse(value), plan);
      if (next === undefined) continue;
      const text = next === null ? null : JSON.stringify(next);
      if (text !== value) ops.push({ op: "fact.put", key, value: text, expect: value });
    }
    if (page.length < PAGE) return ops;
    after = page.at(-1)?.key ?? "";
  }
}
