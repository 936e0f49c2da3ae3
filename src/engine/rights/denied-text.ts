/** The result of a denied call, in words for the model and the person it speaks with: what decided, and who can grant it. */
import { isRecordId } from "../../core/people/person.ts";
import type { Decision, Effect } from "../../core/rights/decide.ts";
import { NESTED, nestedSpawnText } from "../../core/rights/kind-rules.ts";

export function deniedText(tool: string, { reason, person }: Decision, effects: readonly Effect[] = []): string {
  // The tool's own answer, which clawdbot's models know.
  if (tool === "sessions_spawn" && reason === NESTED)
    return JSON.stringify({ status: "forbidden", error: nestedSpawnText(tool) }, null, 2);
  const text = `Denied: ${tool}: ${reason}.`;
  if (person === undefined) return text;
  const target = effects.find((effect) => effect.target !== undefined && effect.of !== person)?.target;
  const grant = target === undefined ? tool : `${tool}(${target})`;
  if (!isRecordId(person)) return `${text} Ask the owner to add ${person} as a person and to grant ${grant}.`;
  return `${text} Ask the owner for the grant ${grant} (rookery people grant ${person} "${grant}").`;
}
