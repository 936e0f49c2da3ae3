/**
 * Files that decide what agents do: the parts of prompts and the lists of tasks. A tool changes them only after a person has seen the
 * change, unless a rule names the file. Notes and skills are not among them: agents keep them by themselves, unless untrusted text is in
 * their context (M32).
 */
import { trimCharsEnd } from "../trim-chars.ts";
import { namesOf } from "./rule.ts";

const FILES = new Set(
  ["AGENTS.md", "SOUL.md", "TOOLS.md", "USER.md", "IDENTITY.md", "BOOTSTRAP.md", "HEARTBEAT.md", "TASK.md"].map(
    plainName,
  ),
);
const DIRECTORIES = new Set(["cron", "heartbeat"].map(plainName));

/** Names that some file system treats as equal are equal here. */
export function plainName(name: string): string {
  const visible = name.normalize("NFKC").replace(/\p{Default_Ignorable_Code_Point}/gu, "");
  return trimCharsEnd(visible.toUpperCase().toLowerCase(), ". ");
}

/** `workspace`: where the directories of tasks are looked for. */
export function isPromptFile(path: string, workspace = "/"): boolean {
  const inside = namesInside(path, workspace);
  return inside.some((name) => FILES.has(name)) || DIRECTORIES.has(inside[0] ?? "");
}

function namesInside(path: string, workspace: string): readonly string[] {
  const names = namesOf(path).map(plainName);
  const root = namesOf(workspace).map(plainName);
  return root.every((name, at) => name === names[at]) ? names.slice(root.length) : names;
}

/** The note or skill that a file is part of, in any directory of a workspace; undefined if it is neither. */
export function keptByAgents(path: string, workspace = "/"): "memory" | "skill" | undefined {
  const names = namesInside(path, workspace);
  const directories = names.slice(0, -1);
  if (names.at(-1) === "memory.md" || directories.includes("memory")) return "memory";
  return directories.includes("skills") ? "skill" : undefined;
}

/** Whether a rule speaks of this file by its name: a rule for all files is no yes to this one. */
export const namesFile = (rule: string, path = ""): boolean => {
  const name = plainName(namesOf(path).at(-1) ?? "");
  return name !== "" && plainName(rule).includes(name);
};
