import { expect, it } from "vitest";
import { conversations } from "./conversations.ts";
import { QUESTIONS } from "./questions.ts";

it("has a hundred facts, each with two different questions, and each fact once in the conversations", () => {
  expect(QUESTIONS).toHaveLength(100);
  expect(new Set(QUESTIONS.map(({ fact }) => fact)).size).toBe(100);
  expect(new Set(QUESTIONS.flatMap(({ exact, paraphrase }) => [exact, paraphrase])).size).toBe(200);
  const texts = [...conversations(2_000)].map(({ text }) => text);
  for (const { fact } of QUESTIONS) expect(texts.filter((text) => text.includes(fact))).toHaveLength(1);
});
