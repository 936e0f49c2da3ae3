import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { entryLine } from "../../core/history/entry.ts";
import type { EntryId } from "../../core/ids.ts";
import { chain, type EntryDraft } from "../../engine/context/entries.ts";
import { seedAgent } from "../../engine/context/seed-agent.ts";
import { AT, cliHome, ids, TERMINAL } from "./cli.test-kit.ts";
import { printsDocumentsOf } from "./command-document.test-kit.ts";
import { EXIT } from "./exit-code.ts";

const home = cliHome({ busy: true });
const { run } = home;

const said = (role: "user" | "assistant", text: string): EntryDraft =>
  ({ type: "message", role, content: [{ type: "text", text }], timestamp: AT }) as EntryDraft;

/** An agent with six messages, and optionally a compaction that keeps the last two. */
async function make(isCompacted: boolean): Promise<{ id: string; sessionId: string }> {
  const seed = seedAgent(ids, TERMINAL, AT);
  const talk = [1, 2, 3].flatMap((n) => [said("user", `question ${n}`), said("assistant", `answer ${n}`)]);
  const { entries, leaf } = chain(ids, { nextPos: seed.lines.length, leaf: seed.leaf }, talk);
  const details = {
    ...{ kind: "summary", reason: "critical", tokensAfter: 40, split: true },
    ...{ covered: { from: entries[0]?.id, through: entries[3]?.id, messages: 4 }, kept: { messages: 2, tokens: 30 } },
  };
  const firstKeptEntryId = entries[4]?.id as EntryId;
  const bare = {
    type: "compaction",
    summary: "s",
    firstKeptEntryId,
    tokensBefore: 90,
    details,
    timestamp: AT,
  } as EntryDraft;
  const last = isCompacted ? chain(ids, { nextPos: 8, leaf }, [bare]) : { entries: [], leaf };
  const lines = [...seed.lines, ...entries.map(entryLine), ...last.entries.map(entryLine)];
  return home.make(TERMINAL, { ...seed, lines, leaf: last.leaf });
}

describe("rookery sessions show", () => {
  it("shows a compaction: tokens before and after, messages covered and kept, and the reason", async () => {
    const { id } = await make(true);
    const { out } = await run("sessions", "show", id);
    expect(out).toContain(
      "90 → 40 tokens, summarised, 4 messages covered, 2 kept (30 tokens), a turn was split, why: critical limit: s",
    );
  });

  it("--archive writes the whole session as .bak, and a file with header, compaction and all kept entries", async () => {
    const { id, sessionId } = await make(true);
    const dir = join(home.dir, "out");
    const { code, out } = await run("sessions", "show", id, "--archive", dir);
    expect([code, out]).toEqual([EXIT.ok, expect.stringContaining("4 older entries are only in")]);
    expect(readdirSync(dir).sort()).toEqual([`${sessionId}.jsonl`, `${sessionId}.jsonl.bak`]);
    const kept = readFileSync(join(dir, `${sessionId}.jsonl`), "utf8");
    expect(kept).not.toContain("question 1");
    expect(
      kept
        .trim()
        .split("\n")
        .map((line) => (JSON.parse(line) as { type: string }).type),
    ).toEqual(["session", "message", "message", "compaction"]);
    expect(readFileSync(join(dir, `${sessionId}.jsonl.bak`), "utf8")).toContain("question 1");
  });

  it("sessions archive does the same, and says for programs what it wrote and how many entries are left out", async () => {
    const { id, sessionId } = await make(true);
    const dir = join(home.dir, "out");
    const { code, out } = await run("sessions", "archive", id, dir, "--json");
    const file = join(dir, `${sessionId}.jsonl`);
    expect([code, JSON.parse(out)]).toEqual([EXIT.ok, { file, backup: `${file}.bak`, left: 4 }]);
    const whole = await make(false);
    const failed = await run("sessions", "archive", whole.id, dir, "--json");
    expect([failed.code, failed.out]).toEqual([EXIT.failure, ""]);
  });

  it("--archive never overwrites a file: a different one becomes another .bak", async () => {
    const { id, sessionId } = await make(true);
    const dir = join(home.dir, "out");
    await run("sessions", "show", id, "--archive", dir);
    await run("sessions", "show", id, "--archive", dir);
    expect(readdirSync(dir)).toHaveLength(2);
    writeFileSync(join(dir, `${sessionId}.jsonl`), "mine\n");
    await run("sessions", "show", id, "--archive", dir);
    expect(readdirSync(dir).sort()).toEqual([
      `${sessionId}.jsonl`,
      `${sessionId}.jsonl.bak`,
      `${sessionId}.jsonl.bak.2`,
    ]);
    expect(readFileSync(join(dir, `${sessionId}.jsonl.bak.2`), "utf8")).toBe("mine\n");
  });

  it("--archive writes nothing if no compaction exists, and prints the reason", async () => {
    const { id } = await make(false);
    const { code, err } = await run("sessions", "show", id, "--archive", join(home.dir, "out"));
    expect(code).not.toBe(EXIT.ok);
    expect(err).toContain("Nothing was compacted in this session yet.");
    expect(readdirSync(home.dir)).not.toContain("out");
  });
});

printsDocumentsOf("sessions archive");
