/** The environment of commands: what programs need to run, and no secrets. The environment of this process may hold keys. */
const NAMES: readonly string[] = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ"];

export function commandEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const kept = NAMES.flatMap((name) => {
    const value = env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { PATH: "/usr/local/bin:/usr/bin:/bin", TERM: "dumb", PAGER: "cat", ...Object.fromEntries(kept) };
}
