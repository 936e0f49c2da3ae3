/** What the chat says before the first message: what was found, that the offline model is not an LLM, and what to type next. */
import { visibleWidth } from "@earendil-works/pi-tui";
import { type CleanText, cleanLine } from "./clean-text.ts";
import { fitted, type Lines, wrapped } from "./render-block.ts";
import type { TerminalInfo } from "./terminal-info.ts";
import type { Theme } from "./theme.ts";

interface FirstFacts {
  readonly version: string;
  /** The home, or the address of an engine elsewhere. */
  readonly place: string;
  readonly isNew: boolean;
  /** Whether another process runs the engine. */
  readonly isAttached: boolean;
  /** Whether that is on another machine. */
  readonly isRemote: boolean;
  readonly info: TerminalInfo | undefined;
  /** How this program is called: `npm start --` in a clone. */
  readonly command: string;
  readonly hasMessages: boolean;
}

export const isOffline = (model: string | null | undefined): boolean =>
  model === "offline" || !!model?.startsWith("offline/");

const TRY: readonly (readonly [string, string])[] = [
  ["what time is it", "it uses a tool"],
  ["remind me in 10 seconds to drink tea", "a schedule"],
  ["in the background, what time is it", "another agent works and reports"],
  ["/help", "all commands"],
];

/** Narrower than this, there is room for the facts only. */
const NARROW = 60;

export function firstScreen(facts: FirstFacts, width: number, theme: Theme): Lines {
  const { version, info, hasMessages } = facts;
  const name = theme.bold(`Rookery ${cleanLine(version, 20)}`);
  if (info && !hasMessages && width < NARROW) {
    const [first, last] = [TRY[0], TRY.at(-1)];
    const tries = [first, last].map((one) => fitted(`  ${theme.accent(one?.[0] ?? "")}`, width));
    return [` ${name}`, ...foundLines(facts, info, width, theme), ...tries];
  }
  if (info && !hasMessages) {
    const found = [...foundLines(facts, info, width, theme), "", ...modelLines(info, facts.command, width)];
    return [` ${name}`, "", ...found, "", ...tryLines(info, width, theme), ""];
  }
  const where = cleanLine(facts.place, 200);
  const gap = width - visibleWidth(name) - visibleWidth(where) - 3;
  if (gap >= 2) return [` ${name}${" ".repeat(gap)}${theme.dim(where)}`, ""];
  return [` ${name}`, fitted(` ${theme.dim(where)}`, width), ""];
}

/** What was found: the model, the home, the address. */
function foundLines(facts: FirstFacts, info: TerminalInfo, width: number, theme: Theme): Lines {
  const { place, isNew, isAttached, isRemote, command } = facts;
  const { model, why, url } = info;
  const line = (label: string, value: string, more: string): string =>
    fitted(
      ` ${label.padEnd(9)}${theme.bold(cleanLine(value, 120))}${more === "" ? "" : theme.dim(`  ${cleanLine(more, 200)}`)}`,
      width,
    );
  const engine = isAttached ? "its engine is running" : "";
  const address = url === null ? line("Address", "none", `${command} serve opens one`) : line("Address", url, "");
  return [
    line(
      "Model",
      isOffline(model) ? "offline, not an AI" : (model ?? "none"),
      isOffline(model) ? "no model key was found" : (why ?? ""),
    ),
    ...(isRemote ? [line("Address", place, "")] : [line("Home", place, isNew ? "new" : engine), address]),
  ];
}

function modelLines({ model }: TerminalInfo, command: string, width: number): Lines {
  const say = (text: string): Lines => wrapped(text as CleanText, width - 1, (line) => line, " ", " ");
  if (!isOffline(model)) return say(`Change the model with /model, or with: ${command} setup`);
  return [
    ...say(
      "A small offline model answers. It is not an AI: it repeats you and uses a few tools, so that you can try everything else.",
    ),
    "",
    ...say(`For a real model:  ${command} setup   (a key, a login, or a model on this computer)`),
    ...say("Nothing leaves this computer. Close at any time: nothing you sent is lost."),
  ];
}

function tryLines({ model }: TerminalInfo, width: number, theme: Theme): Lines {
  const lines = isOffline(model) ? TRY : TRY.slice(-1);
  const room = Math.max(...lines.map(([text]) => text.length)) + 3;
  const isWide = width >= room + 34;
  return lines.map(([text, what], n) => {
    const first = n === 0 ? " Try    " : "        ";
    const note = isWide ? theme.dim(`${" ".repeat(room - text.length)}${what}`) : "";
    return fitted(`${isWide || width >= 50 ? first : "  "}${theme.accent(text)}${note}`, width);
  });
}
