/** The prompts of the terminal. A menu is moved by the arrows only: with letters as arrows, "just do it" and Enter would be a yes (M44). */

export type Prompts = typeof import("@clack/prompts");

export async function loadPrompts(): Promise<Prompts> {
  const prompts = await import("@clack/prompts");
  const { aliases } = prompts.settings;
  for (const key of [...aliases.keys()]) if (/^[^\p{Cc}]$/u.test(key)) aliases.delete(key);
  return prompts;
}
