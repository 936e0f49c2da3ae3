/**
 * Runs programs one after another in this process, which loads the sources once: `node run-programs.ts JSON`. The next begins when
 * nothing keeps the process alive any more, as the program alone would end. A NUL ends what each prints.
 */
export interface Program {
  readonly file: string;
  readonly cwd: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const programs = JSON.parse(process.argv[2] ?? "[]") as Program[];
const [node = ""] = process.argv;
let running: { readonly file: string; ended: boolean } | undefined;

process.on("beforeExit", () => {
  if (running) {
    if (!running.ended) throw new Error(`${running.file} waits for something that never happens.`);
    process.stdout.write("\0");
    if (process.exitCode) return;
  }
  const program = programs.shift();
  if (!program) return;
  const { file, cwd, args = [], env } = program;
  process.chdir(cwd);
  Object.assign(process.env, env);
  process.argv = [node, file, ...args];
  const started = { file, ended: false };
  running = started;
  void import(file).then(() => {
    started.ended = true;
  });
  // Node repeats the event only after the loop has had work, and a short program gives it none.
  setImmediate(() => {});
});
