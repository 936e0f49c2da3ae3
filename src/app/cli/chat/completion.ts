/** Completes what the person types: commands and their choices behind a slash, files behind an @. */
import { readdirSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, resolve } from "node:path";
import type { AutocompleteItem, AutocompleteProvider, AutocompleteSuggestions } from "@earendil-works/pi-tui";
import { cleanLine } from "./clean-text.ts";

export interface CompletedCommand {
  readonly name: string;
  readonly usage?: string;
  readonly help: string;
}

interface CompletionOptions {
  readonly commands: readonly CompletedCommand[];
  readonly cwd: string;
  /** Words that may follow a command, beside those of its usage. */
  readonly words?: (command: string) => readonly string[];
}

const MAX_ITEMS = 50;
const MAX_LISTED = 5_000;

export function completionOf({ commands, cwd, words = () => [] }: CompletionOptions): AutocompleteProvider {
  const suggest = (before: string): AutocompleteSuggestions | null => {
    const file = /(?:^|\s)(@"?[^"\s]{0,300})$/u.exec(before.slice(-310))?.[1];
    if (file !== undefined) return found(file, filesFor(file, cwd));
    const command = /^\/([a-z_-]{0,32})$/u.exec(before)?.[1];
    if (command !== undefined) return found(before, commandItems(commands, command));
    const argument = /^\/([a-z_-]{1,32}) ([^\s]{0,64})$/u.exec(before);
    if (!argument) return null;
    const [, name = "", typed = ""] = argument;
    const choices = [...choicesOf(commands.find((one) => one.name === name)?.usage), ...words(name)];
    const items = choices
      .filter((one) => one.startsWith(typed) && one !== typed)
      .map((value) => ({ value, label: value }));
    return found(typed, items);
  };
  return {
    triggerCharacters: ["@", "/"],
    async getSuggestions(lines, line, column) {
      // A command stands at the beginning of the text.
      const before = (lines[line] ?? "").slice(0, column);
      return line > 0 && before.startsWith("/") ? null : suggest(before);
    },
    applyCompletion(lines, line, column, item, prefix) {
      const text = lines[line] ?? "";
      const head = text.slice(0, column - prefix.length);
      const gap = item.value.endsWith("/") || item.value.endsWith('/"') ? "" : " ";
      const inserted = `${item.value}${gap}`;
      const next = [...lines];
      next[line] = `${head}${inserted}${text.slice(column).replace(/^ /u, "")}`;
      return { lines: next, cursorLine: line, cursorCol: head.length + inserted.length };
    },
  };
}

const found = (prefix: string, items: readonly AutocompleteItem[]): AutocompleteSuggestions | null =>
  items.length === 0 ? null : { prefix, items: items.slice(0, MAX_ITEMS) };

function commandItems(commands: readonly CompletedCommand[], typed: string): readonly AutocompleteItem[] {
  return commands
    .filter(({ name }) => name.startsWith(typed))
    .map(({ name, usage, help }) => ({
      value: `/${name}`,
      label: `/${name}`,
      description: usage ? `${help}  ${usage}` : help,
    }));
}

/** `[off|on|full]` has three choices. */
export function choicesOf(usage: string | undefined): readonly string[] {
  const inside = /^\[([a-z|]{1,200})\]/u.exec(usage ?? "")?.[1];
  return inside?.includes("|") ? inside.split("|") : [];
}

/** The entries of the directory that is typed so far. Hidden ones only if a dot is typed. */
function filesFor(typed: string, cwd: string): readonly AutocompleteItem[] {
  const path = typed.replace(/^@"?/u, "");
  const at = path.lastIndexOf("/") + 1;
  const [parent, part] = [path.slice(0, at), path.slice(at)];
  const directory = parent.startsWith("~/") ? homedir() + parent.slice(1) : parent;
  try {
    return readdirSync(resolve(cwd, directory === "" ? "." : directory), { withFileTypes: true })
      .slice(0, MAX_LISTED)
      .filter(
        ({ name }) =>
          name.toLowerCase().startsWith(part.toLowerCase()) && (part.startsWith(".") || !name.startsWith(".")),
      )
      .sort((a, b) => Number(b.isDirectory()) - Number(a.isDirectory()) || (a.name < b.name ? -1 : 1))
      .slice(0, MAX_ITEMS)
      .map((entry) => {
        const name = `${parent}${entry.name}${entry.isDirectory() ? "/" : ""}`;
        const value = name.includes(" ") ? `@"${name}"` : `@${name}`;
        const about = dirname(name) === "." ? undefined : cleanLine(dirname(name), 60);
        return { value, label: cleanLine(entry.name + (entry.isDirectory() ? "/" : ""), 60), description: about };
      });
  } catch {
    return [];
  }
}
