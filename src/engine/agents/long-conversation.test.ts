import { expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { lastText, type ModelCall, type Reply } from "../../../test/kit/model.ts";
import { type ContextLimits, DEFAULT_CONTEXT_LIMITS } from "../../core/history/compaction-settings.ts";
import { SUMMARY_SYSTEM_PROMPT } from "../context/compaction/summary-prompt.ts";

const TURNS = 300;
const FACTS = 40;

/** Every Nth turn states a fact, with its identifier in backticks. */
const factOf = (n: number): string => `\`K${n}-${(n * 7919).toString(36)} ${n % 2 ? "Straße" : "naïve"}/x_${n}\``;
const turnsPerFact = Math.floor(TURNS / FACTS);

/** Writes short summaries without any fact, so every fact that survives was kept by the program. */
const summariser = ({ request }: ModelCall): Reply => {
  const isPrefix = lastText(request).includes("## Original Request\n[");
  const sections = isPrefix
    ? "## Original Request\nsome\n\n## Early Progress\n- some"
    : "## Goal\ntalk\n\n## Progress\n- talked";
  return { content: [{ type: "text", text: sections }], usage: undefined };
};

const limits: ContextLimits = {
  ...DEFAULT_CONTEXT_LIMITS,
  contextWindow: 4_000,
  memoryFlush: { ...DEFAULT_CONTEXT_LIMITS.memoryFlush, enabled: false },
};

it(`${FACTS} facts from ${TURNS} turns survive at least five compactions word for word, and a restart`, async () => {
  const engine = await TestEngine.open({
    system: { contextLimits: () => limits },
    script: (call) =>
      call.request.system === SUMMARY_SYSTEM_PROMPT
        ? summariser(call)
        : { content: [{ type: "text", text: `noted. ${"chatter ".repeat(20)}` }], usage: undefined },
  });
  const told: string[] = [];
  for (let n = 0; n < TURNS; n++) {
    const isFact = n % turnsPerFact === 0 && told.length < FACTS;
    if (isFact) told.push(factOf(told.length));
    await engine.tell(isFact ? `Remember ${told.at(-1)} for later.` : `turn ${n}: ${"small talk ".repeat(8)}`);
    if (n === TURNS / 2) await engine.restart();
  }
  const entries = await engine.entries();
  const compactions = entries.filter(({ type }) => type === "compaction");
  expect(told).toHaveLength(FACTS);
  expect(compactions.length).toBeGreaterThanOrEqual(5);
  // Each fact is in the context sent to the model, and in every summary after its turn.
  const sent = JSON.parse(engine.sentBytes.at(-1) ?? "[]") as { content: { text: string }[] }[];
  const text = sent.flatMap(({ content }) => content.map((block) => block.text)).join("\n");
  for (const fact of told) expect(text).toContain(fact.slice(1, -1));
  // History is complete: it contains every turn and every answer.
  expect(entries.filter(({ type, role }) => type === "message" && role === "user")).toHaveLength(TURNS);
  expect(engine.shown()).toHaveLength(TURNS);
});
