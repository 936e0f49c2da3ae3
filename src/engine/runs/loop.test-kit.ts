/** One person asks, and the run that answers is looked at. */
import type { TestEngine } from "../../../test/kit/engine.ts";
import type { RunId } from "../../core/ids.ts";
import type { RunResult } from "../../core/run/run.ts";

export const ask = (engine: TestEngine, text = "go") =>
  engine.system.postAndAwait({ ...engine.person(), body: { kind: "user", text } }, { timeoutMs: 3600_000 });

export async function resultOf(engine: TestEngine, text = "go", ms = 0): Promise<RunResult> {
  const answer = ask(engine, text);
  await engine.advance(ms);
  const { result } = await answer;
  if (!result) throw new TypeError("no run");
  return result;
}

export const liveRun = async (engine: TestEngine): Promise<RunId> => (await engine.runs()).at(-1)?.id as RunId;
