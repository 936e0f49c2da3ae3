import { expect, it } from "vitest";
import { findingsIn } from "../../src/adapters/models/offline-phrases.ts";
import { saysTooLong } from "../../src/adapters/models/overflow.ts";
import { normalizeAgentId } from "../../src/core/agent/session-key.ts";
import { trimChars, trimCharsEnd } from "../../src/core/trim-chars.ts";
import { permissionsOf } from "../../src/engine/subagents/permissions.ts";
import { readFrontMatter } from "../../src/engine/triggers/files/front-matter.ts";
import { fillTemplate } from "../../src/engine/triggers/webhooks/fill-template.ts";

const SIZE = 60_000;
const of = (text: string): string => text.repeat(Math.ceil(SIZE / text.length));
const head = (line: string): string => `---\n${line}\n---\nbody`;

/** Text functions that see text from outside, each with a text on which a backtracking pattern is quadratic or worse. */
const CASES: readonly (readonly [string, () => unknown])[] = [
  ["findingsIn: tasks without an end", () => findingsIn(of('A background task "a" just b.\n\nFindings:\n'))],
  ["saysTooLong: a beginning again and again", () => saysTooLong(of("input token count "), "openai")],
  ["saysTooLong: spaces", () => saysTooLong(`400${of(" ")}x`, "openai")],
  ["normalizeAgentId: dashes", () => normalizeAgentId(`a${of("-")}a`)],
  ["permissionsOf: slashes", () => permissionsOf([`@read:/a`], { readDirs: [`/a${of("/")}`, `/${of("/")}b`, "/a"] })],
  ["readFrontMatter: spaces before a colon", () => readFrontMatter(head(`a${of(" ")}b`))],
  ["readFrontMatter: spaces before an item", () => readFrontMatter(head(`a:\n${of(" ")}x`))],
  ["readFrontMatter: quotes", () => readFrontMatter(head(`a: ${of('"')}x`))],
  ["readFrontMatter: quotes and spaces", () => readFrontMatter(head(`a: ${of('" ')}x`))],
  ["readFrontMatter: spaces before no comment", () => readFrontMatter(head(`a: b${of(" ")}c`))],
  ["fillTemplate: open braces", () => fillTemplate(of("{{ "), { body: {}, name: "x" })],
  ["fillTemplate: spaces in braces", () => fillTemplate(`{{${of(" ")}x`, { body: {}, name: "x" })],
  ["trimChars: characters in the middle", () => trimChars(`a${of("-")}a`, "-")],
  ["trimCharsEnd: characters in the middle", () => trimCharsEnd(`a${of("/")}a`, "/")],
];

it.each(CASES)("%s: 60,000 characters cost less than half a second of processor time", (_, run) => {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  expect(user + system).toBeLessThan(500_000);
});
