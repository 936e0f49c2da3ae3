/**
 * Carries conversations over after a change of `session.dmScope`: from then on the messages of their people go to the conversation
 * they had. The agent keeps its id and its key, so its open work, jobs, children and questions stay as they are.
 */

import type { CarriedConversations } from "../../core/agent/carried-conversations.ts";
import type { IdentityLinks } from "../../core/agent/identity-links.ts";
import { type LeftBehind, leftBehind, oneEach, type ScopeChange } from "../../core/agent/left-behind.ts";
import { DEFAULT_DM_SCOPE, type DmScope } from "../../core/agent/session-key.ts";
import type { SessionKey } from "../../core/ids.ts";
import type { StoreReader } from "../../core/store/store.ts";
import { type Actor, auditOp } from "./audit-entry.ts";
import { type BookPorts, type ConversationBook, changeBook, readBook } from "./conversation-book.ts";
import { linksOfPeople } from "./links-of-people.ts";

/** The parts of the configuration that decide an address. */
interface CarrySettings {
  readonly session: {
    readonly dmScope?: DmScope;
    readonly mainKey?: string;
    readonly identityLinks?: IdentityLinks;
    readonly carried?: CarriedConversations;
  };
  readonly owner: { readonly accounts: readonly string[] };
}

export interface CarryPlan {
  /** The scope that is, or would be, in force. */
  readonly scope: DmScope;
  readonly earlier: readonly DmScope[];
  /** Conversations that the scope leaves behind, the latest first. */
  readonly items: readonly LeftBehind[];
  /** There are more agents than were looked at. */
  readonly isPartial: boolean;
}

type PlanReader = Pick<StoreReader, "fact" | "agentsOfKind" | "agentByKey" | "people">;

const PAGE = 500;
/** How many conversations are looked at. */
const MAX_LOOKED_AT = 100_000;

/** Reads only. `scope`: the one to look at; default: the one of the configuration. */
export async function carryPlan(
  ports: { readonly store: PlanReader },
  { session, owner }: CarrySettings,
  scope: DmScope = session.dmScope ?? DEFAULT_DM_SCOPE,
): Promise<CarryPlan> {
  const { store } = ports;
  const book = await readBook({ store });
  const earlier = [...new Set([...book.earlier, book.scope])].filter((one) => one !== scope);
  if (earlier.length === 0) return { scope, earlier, items: [], isPartial: false };
  const change: ScopeChange = {
    ...{ to: scope, earlier, mainKey: session.mainKey, ownerAccounts: owner.accounts },
    links: session.carried?.configuredLinks ?? session.identityLinks ?? {},
    people: await linksOfPeople(store),
    carried: new Map(Object.entries(book.carried)),
  };
  const found: LeftBehind[] = [];
  let looked = 0;
  for (let page = await store.agentsOfKind("user", { limit: PAGE }); page.length > 0; ) {
    looked += page.length;
    for (const agent of page) {
      const one = leftBehind(agent, change);
      if (one) found.push(one);
    }
    if (page.length < PAGE || looked >= MAX_LOOKED_AT) break;
    page = await store.agentsOfKind("user", { limit: PAGE, after: page.at(-1)?.id });
  }
  const items: LeftBehind[] = [];
  for (const one of oneEach(found)) items.push(one.stays ? one : await withNewer(store, change, one));
  return {
    ...{ scope, earlier, isPartial: looked >= MAX_LOOKED_AT },
    items: items.sort((a, b) => (b.lastHumanAt ?? 0) - (a.lastHumanAt ?? 0)),
  };
}

/** Its person may have begun another conversation since. */
async function withNewer(store: PlanReader, { carried }: ScopeChange, one: LeftBehind): Promise<LeftBehind> {
  const there = await store.agentByKey((carried.get(one.to) ?? one.to) as SessionKey);
  const isNewer = there?.lastHumanAt !== undefined && there.lastHumanAt > (one.lastHumanAt ?? 0);
  return isNewer ? { ...one, stays: "begun" } : one;
}

interface CarryRequest {
  /** Default: the scope in force. Another one takes effect when the configuration has it. */
  readonly scope?: DmScope;
  /** Also those whose person has begun a newer conversation, which then stays behind. */
  readonly replace?: boolean;
}

/** Carries over what can be, in one commit. Durable when it resolves. Returns what was carried. */
export async function carryOver(
  ports: BookPorts & { readonly store: PlanReader },
  settings: CarrySettings,
  { scope, replace = false }: CarryRequest,
  by: Actor,
): Promise<readonly LeftBehind[]> {
  const plan = await carryPlan(ports, settings, scope);
  const chosen = plan.items.filter(({ stays }) => stays === undefined || (replace && stays === "begun"));
  const added = Object.fromEntries(chosen.map(({ from, to }) => [to, from]));
  const also = auditOp(by, ports.clock.now(), {
    action: "conversations.carry-over",
    target: plan.scope,
    args: added,
  });
  const isInForce = plan.scope === (settings.session.dmScope ?? DEFAULT_DM_SCOPE);
  await changeBook(
    ports,
    (book) => {
      const next = { ...book, carried: { ...without(book.carried, added), ...added } };
      return isInForce ? settled(next, plan.scope) : next;
    },
    [also],
  );
  return chosen;
}

/** The conversations that are left behind stay so, and nobody is asked again. Durable when it resolves. */
export async function leaveBehind(ports: BookPorts, { session }: CarrySettings, by: Actor): Promise<void> {
  const also = auditOp(by, ports.clock.now(), { action: "conversations.leave" });
  await changeBook(ports, (book) => settled(book, session.dmScope ?? DEFAULT_DM_SCOPE), [also]);
}

const settled = (book: ConversationBook, scope: DmScope): ConversationBook => ({ ...book, scope, earlier: [] });

/** What is carried again goes to the end, so that the oldest are first. */
const without = (carried: Readonly<Record<string, string>>, added: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(carried).filter(([key]) => !Object.hasOwn(added, key)));

/** One sentence for logs, checks and screens; undefined if nothing is left behind that could be carried over. */
export function carryWarning({ scope, items }: CarryPlan, isInForce: boolean): string | undefined {
  const offered = items.filter(({ stays }) => stays === undefined).length;
  const kept = items.length - offered;
  if (items.length === 0) return undefined;
  const what = `session.dmScope "${scope}" ${isInForce ? "leaves" : "would leave"} ${count(items.length)} behind`;
  const rest = offered === 0 ? "none of them can be carried over" : `${offered} can be carried over`;
  return `${what}: the next message of each person begins a new one; ${rest}${kept > 0 && offered > 0 ? `, ${kept} cannot` : ""}.`;
}

const count = (n: number): string => (n === 1 ? "1 conversation" : `${n} conversations`);
