/** A key that a model provider refused, and the one text that errors, `status`, `doctor` and `/status` show about it. */

export interface RefusedKey {
  readonly provider: string;
  readonly profile: string;
  /** Where the key is stored. Never the key itself. */
  readonly where: string;
  /** The command that replaces it. */
  readonly replaceWith: string;
  /** The HTTP status of the refusal; null if there was none. */
  readonly status: number | null;
  /** The model of the refused call, `provider/id`. */
  readonly model: string;
  /** True if the key may work for other models. */
  readonly onlyModel: boolean;
  /** When it is tried again; null if the pause is over: the next call tries it. */
  readonly tryAgainAt: number | null;
}

const MINUTE_MS = 60_000;

/** Says what is wrong and when the key is tried again, in two sentences. */
export function refusedKeyText(key: Omit<RefusedKey, "profile" | "replaceWith">, now: number): string {
  const { provider, where, status, model, onlyModel, tryAgainAt } = key;
  const left = Math.ceil(((tryAgainAt ?? now) - now) / MINUTE_MS);
  const code = status === null ? "" : ` (${status})`;
  const only = onlyModel ? ` for ${model}` : "";
  const when = left > 0 ? `in ${left} min` : "with the next message";
  return `The key for ${provider} was refused${code}${only}: ${where}. It is tried again ${when}.`;
}

/** What to do about it. */
export const refusedKeyHelp = ({ replaceWith, model }: Pick<RefusedKey, "replaceWith" | "model">): string =>
  `Run \`${replaceWith}\` to replace it, or \`rookery models test ${model}\` to try it now.`;
