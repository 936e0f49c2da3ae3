/** How a program is started that answers as a model. */
export interface CliSettings {
  /** The program and its arguments. `{model}`, `{system}` and `{prompt}` are replaced inside them. */
  readonly command: readonly string[];
  /** The same for a session that is known; `{sessionId}` is its id. Absent: every call gets the whole conversation. */
  readonly resume?: readonly string[];
  readonly output: "json" | "text";
  /** How long an answer may take. Default: ten minutes; the run has its own limit. */
  readonly timeoutSeconds?: number;
  /** Names of variables that the program gets besides the usual ones. */
  readonly env: readonly string[];
}
