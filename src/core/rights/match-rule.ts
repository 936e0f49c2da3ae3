/**
 * Whether a rule is about an effect. An allowance is read narrowly: the exact words, the exact file, the named target. A question
 * or a denial is read widely: options in between, another case, the full path of a program do not get around it (L13).
 */
import { matchesEnding, type Verdict } from "../people/grant.ts";
import type { Effect } from "./decide.ts";
import type { EffectDetail } from "./effect-detail.ts";
import {
  type CommandPattern,
  folded,
  type HostPattern,
  namesOf,
  type PathPattern,
  plainHost,
  type RuleSubject,
} from "./rule.ts";
import { MAX_TEXT, matchesPath, matchesWildcard } from "./wildcard.ts";

/** The directories that patterns of paths are relative to. */
export interface Place {
  readonly workspace?: string;
  readonly home?: string;
}

export function coversEffect(
  subject: RuleSubject,
  verdict: Verdict,
  effect: Pick<Effect, "action" | "target" | "detail">,
  place: Place = {},
): boolean {
  const { target, detail } = effect;
  if (!actionsOf(effect).some((used) => subject.actions.some((one) => matchesEnding(one, used)))) return false;
  const isWide = verdict !== "allow";
  // A denial of an action covers every target of it.
  if (subject.target === undefined) return verdict === "deny" || target === undefined;
  if (target !== undefined && matchesEnding(subject.target, target)) return true;
  // What belongs to another person is allowed by its name only.
  if (target !== undefined && !isWide) return false;
  return detail !== undefined && coversDetail(subject, detail, isWide, place);
}

/** A file is read or written, whatever tool does it: a redirect of a command is a write too. */
export const actionsOf = ({ action, detail }: Pick<Effect, "action" | "detail">): readonly string[] =>
  detail?.kind === "path" && action !== detail.access ? [action, detail.access] : [action];

function coversDetail(subject: RuleSubject, detail: EffectDetail, isWide: boolean, place: Place): boolean {
  switch (detail.kind) {
    case "command":
      if (!subject.command) return false;
      return isWide
        ? coversWidely(subject.command, plainOf(detail).words)
        : coversExactly(subject.command, detail.argv);
    case "unparsed":
      // It may hold anything: only a rule about every command is about it. With others `rules-party` lets it ask.
      return subject.command?.words.length === 0;
    case "path":
      return subject.path !== undefined && coversPath(subject.path, plainOf(detail), isWide, place);
    case "host":
      return subject.host !== undefined && coversHost(subject.host, plainOf(detail).words[0] ?? "", detail.port);
  }
}

/** A detail in the forms that rules compare: without case, cut into names. */
interface PlainDetail {
  readonly words: readonly string[];
  readonly folded: readonly string[];
}

/** Hundreds of rules look at the same detail. */
const plain = new WeakMap<EffectDetail, PlainDetail>();

function plainOf(detail: EffectDetail): PlainDetail {
  const known = plain.get(detail);
  if (known) return known;
  const fresh = plainForm(detail);
  plain.set(detail, fresh);
  return fresh;
}

function plainForm(detail: EffectDetail): PlainDetail {
  switch (detail.kind) {
    case "command":
      return { words: detail.argv.map(folded), folded: [] };
    case "path": {
      const words = namesOf(detail.path);
      return { words, folded: words.map(folded) };
    }
    case "host":
      return { words: [plainHost(detail.host)], folded: [] };
    case "unparsed":
      return { words: [], folded: [] };
  }
}

const coversWord = (alternatives: readonly string[], word: string): boolean =>
  alternatives.some((one) => matchesWildcard(one, word));

function coversExactly({ words, open }: CommandPattern, argv: readonly string[]): boolean {
  if (open ? argv.length < words.length : argv.length !== words.length) return false;
  return words.every((alternatives, at) => coversWord(alternatives, argv[at] ?? ""));
}

/** A word that is too long to be compared with a wildcard is covered by it: length does not get around a denial. */
const coversWordWidely = (alternatives: readonly string[], word: string): boolean =>
  coversWord(alternatives, word) || (word.length > MAX_TEXT && alternatives.some((one) => one.includes("*")));

function coversWidely({ folded: pattern }: CommandPattern, [program = "", ...rest]: readonly string[]): boolean {
  const [first = ["*"], ...others] = pattern;
  const base = program.slice(program.lastIndexOf("/") + 1);
  if (!coversWordWidely(first, program) && !coversWordWidely(first, base)) return false;
  let at = 0;
  for (const alternatives of others) {
    while (!coversWordWidely(alternatives, rest[at] ?? "")) {
      // An option and its value may stand in between.
      const skip = rest[at]?.startsWith("-") ? stepOver(rest, at, alternatives) : 0;
      if (skip === 0) return false;
      at += skip;
    }
    at += 1;
  }
  return true;
}

/** How many words an option takes: two if the word behind it is a value that the rule does not wait for. */
function stepOver(rest: readonly string[], at: number, wanted: readonly string[]): number {
  const next = rest[at + 1];
  if (next === undefined) return 0;
  return next.startsWith("-") || coversWordWidely(wanted, next) || rest[at]?.includes("=") ? 1 : 2;
}

function coversPath(
  pattern: PathPattern,
  { words, folded: lower }: PlainDetail,
  isWide: boolean,
  place: Place,
): boolean {
  const given = isWide ? lower : words;
  const names = isWide ? pattern.folded : pattern.names;
  const base = pattern.from === "root" ? "/" : pattern.from === "home" ? place.home : place.workspace;
  // A question or denial that begins with ** holds in every directory.
  if (isWide && (base === undefined || names[0] === "**")) return matchesPath(["**", ...names], given);
  if (base === undefined) return false;
  const root = isWide ? namesOf(base).map(folded) : namesOf(base);
  if (root.some((name, at) => name !== given[at])) return false;
  const inside = given.slice(root.length);
  return matchesPath(names, inside) || (isWide && matchesPath([...names, "**"], inside));
}

function coversHost({ domain, port }: HostPattern, host: string, used: number | undefined): boolean {
  if (port !== undefined && port !== used) return false;
  return domain === "*" || host === domain || host.endsWith(`.${domain}`);
}
