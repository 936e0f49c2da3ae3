/**
 * Keeps the index in step with the store: it reads the log of changes, and of each agent that a change touched the lines behind those
 * it has. Running it again after a crash at any point ends in the same index, because lines and position are one transaction.
 */
import { personSpace } from "../../../core/search/search-index.ts";
import { compareMark } from "../../store/files/mark-file.ts";
import type { AgentRow, MirrorSource } from "../../store/files/mirror-source.ts";
import { documentsOfLine } from "../documents-of.ts";
import type { IndexFile, PlacedDocument } from "./index-file.ts";

type Source = Pick<MirrorSource, "bounds" | "changeId" | "changesAfter" | "agentsAfter" | "agent" | "lines">;

export interface StoreFollower {
  /** Does one portion of work. `more`: call it again. */
  step(): { readonly more: boolean };
  /** Changes that are not in the index yet. */
  behind(): number;
}

const CHANGES_PER_STEP = 500;
const AGENTS_PER_STEP = 50;
/** Lines of one agent in one transaction. */
const LINES = 2_000;
/** Its words are its own ticks, not what anyone said. */
const LEFT_OUT = new Set(["heartbeat"]);

const GET_AGENT = "SELECT pos FROM agents WHERE no = ?";
const PUT_AGENT = `INSERT INTO agents (no, id, session_key, space, pos) VALUES (?, ?, ?, 0, ?)
ON CONFLICT (no) DO UPDATE SET pos = excluded.pos, session_key = excluded.session_key`;
const REMOVE_AGENT = "DELETE FROM agents WHERE no = ?";

export function storeFollower(index: IndexFile, source: Source): StoreFollower {
  let done = Number(index.meta("change") ?? 0);
  /** The agent up to which all are compared, if changes are missing from the log. */
  let pass: { next: number; readonly until: number } | undefined;
  const mark = { version: 1, synced: done, change: index.meta("changeId") || null, at: 0, clean: true } as const;
  const trusted = done === 0 ? "unknown" : compareMark(source, mark);
  if (trusted === "other") throw new OtherDatabase();
  if (trusted === "unknown") pass = { next: 0, until: source.bounds().last };

  const moved = (to: number): void => {
    done = to;
    index.putMeta("change", String(to));
    index.putMeta("changeId", source.changeId(to) ?? "");
  };
  const stepPass = (at: { next: number; readonly until: number }): { more: boolean } => {
    const numbers = source.agentsAfter(at.next, AGENTS_PER_STEP);
    index.transaction(() => {
      const whole = numbers.every((no) => followAgent(index, source, no));
      if (whole) at.next = numbers.at(-1) ?? at.next;
      if (whole && numbers.length < AGENTS_PER_STEP) {
        moved(at.until);
        pass = undefined;
      }
    });
    return { more: true };
  };
  return {
    behind: () => Math.max(0, source.bounds().last - done),
    step() {
      if (pass) return stepPass(pass);
      const changes = source.changesAfter(done, CHANGES_PER_STEP);
      const [first] = changes;
      if (!first) return { more: false };
      if (first.n !== done + 1) {
        pass = { next: 0, until: source.bounds().last };
        return { more: true };
      }
      const touched = new Set(changes.flatMap((change) => change.touched.split(" ").map(Number)));
      let whole = true;
      index.transaction(() => {
        for (const no of touched) if (Number.isInteger(no) && no > 0) whole = followAgent(index, source, no) && whole;
        if (whole) moved(changes.at(-1)?.n ?? done);
      });
      return { more: !whole || changes.length === CHANGES_PER_STEP };
    },
  };
}

/** The index was made from another database: it must be built again. */
export class OtherDatabase extends Error {}

/** False if there are more lines than one transaction takes. */
function followAgent(index: IndexFile, source: Source, no: number): boolean {
  const agent = source.agent(no);
  const pos = index.db.get<{ pos: number }>(GET_AGENT, no)?.pos ?? 0;
  if (!agent || isRemoved(agent)) {
    if (pos > 0) index.removeWhere("agent", no);
    index.db.run(REMOVE_AGENT, no);
    return true;
  }
  if (agent.next_pos <= pos || !agent.person || isLeftOut(agent)) return true;
  const lines = source.lines(no, pos, LINES);
  const documents = lines.flatMap(({ pos: at, line }) =>
    documentsOfLine(line).map((document): PlacedDocument => ({ ...document, pos: at })),
  );
  index.add(personSpace(agent.person), { agent: { no, id: agent.id } }, documents);
  index.db.run(PUT_AGENT, no, agent.id, agent.session_key, (lines.at(-1)?.pos ?? agent.next_pos - 1) + 1);
  return lines.length < LINES;
}

const isRemoved = ({ stopped }: AgentRow): boolean => stopped?.includes('"removed":true') ?? false;
const isLeftOut = ({ descriptor }: AgentRow): boolean =>
  LEFT_OUT.has((JSON.parse(descriptor) as { readonly type: string }).type);
