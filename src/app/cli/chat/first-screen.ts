/** What the chat says before the first message: what was found, that the offline model is not an LLM, and what to type next. */
import { visibleWidth } from "@earendil-works/pi-tui";
import { type CleanText, cleanLine } from "./clean-text.ts";
import { fitted, type Lines, wrapped } from "./render-block.ts";
import type { TerminalInfo } from "./terminal-info.ts";
import type { Theme } from "./theme.ts";

export interface FirstFacts {
  readonly version: string;
  /** The home, or the address of an engine elsewhere. */
  readonly place: string;
  readonly isNew: boolean;
  /** Whether another process runs the engine. */
  readonly isAttached: boolean;
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

export function firstScreen(facts: FirstFacts, width: number, theme: Theme): Lines {
  const { version, place, isNew, isAttached, info, hasMessages } = facts;
  const name = theme.bold(`Rookery ${cleanLine(version, 20)}`);
  const where = cleanLine(`${place}${isNew ? " (new)" : ""}${isAttached ? ", engine running" : ""}`, 200);
  const gap = width - visibleWidth(name) - visibleWidth(where) - 3;
  const head =
    gap >= 2 ? [` ${name}${" ".repeat(gap)}${theme.dim(where)}`] : [` ${name}`, fitted(` ${theme.dim(where)}`, width)];
  if (!info || hasMessages) return [...head, ""];
  return [...head, "", ...modelLines(info, facts.command, width, theme), "", ...tryLines(info, width, theme), ""];
}

function modelLines({ model, why }: TerminalInfo, command: string, width: number, theme: Theme): Lines {
  const say = (text: string): Lines => wrapped(text as CleanText, width - 1, (line) => line, " ", " ");
  if (!isOffline(model)) {
    const because = why ? theme.dim(` (${cleanLine(why, 100)})`) : "";
    return [
      fitted(` Model  ${theme.bold(cleanLine(model ?? "none", 60))}${because}`, width),
      ...say(`Change it with /model, or with: ${command} setup`),
    ];
  }
  return [
    ...say(
      "No model key was found, so a small offline model answers. It is not an AI: it repeats you and uses a few tools, so that you can try everything else.",
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
