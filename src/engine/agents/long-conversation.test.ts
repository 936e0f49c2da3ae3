import { expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { lastText, type ModelCall, type Reply } from "../../../test/kit/model.ts";
import { type ContextLimits, DEFAULT_CONTEXT_LIMITS } from "../../core/history/compaction-settings.ts";
import { SUMMARY_SYSTEM_PROMPT } from "../context/compaction/summary-prompt.ts";

const TURNS = 300;
const FACTS = 40;

/** Every so manieth turn tells a fact, its identifier in backticks. */
const factOf = (n: number): string => `\`K${n}-${(n * 7919).toString(36)} ${n % 2 ? "Straße" : "naïve"}/x_${n}\``;
const turnsPerFact = Math.floor(TURNS / FACTS);

/** Writes short summaries that hold nothing of what was said: what survives was carried by the program. */
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
  // In the context as the model is sent it, and in every summary behind the turn that told it.
  const sent = JSON.parse(engine.sentBytes.at(-1) ?? "[]") as { content: { text: string }[] }[];
  const text = sent.flatMap(({ content }) => content.map((block) => block.text)).join("\n");
  for (const fact of told) expect(text).toContain(fact.slice(1, -1));
  // Nothing of history is gone: every turn and every answer stands in it.
  expect(entries.filter(({ type, role }) => type === "message" && role === "user")).toHaveLength(TURNS);
  expect(engine.shown()).toHaveLength(TURNS);
});
