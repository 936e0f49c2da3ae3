/** An engine whose model takes as long as a message says, and kills its process if a message says so. */
import { TestEngine, type TestEngineOptions } from "../../../../test/kit/engine.ts";
import { lastText, type Reply, type Script, stall } from "../../../../test/kit/model.ts";

/** `takes 5000` answers after five seconds. `kills 0` kills the process at once, whenever it is tried. */
export function timedScript(engine: () => TestEngine): Script {
  return (call) => {
    const text = lastText(call.request);
    const [, verb, ms] = /(takes|kills) (\d+)/.exec(text) ?? [];
    if (verb === undefined) return `answer to ${text}`;
    const life = engine().life;
    const done = new Promise<Reply>((resolve) => {
      engine().clock.after(Number(ms), () => {
        if (verb === "takes") resolve(`answer to ${text}`);
        else if (engine().life === life) engine().crash();
      });
    });
    return stall(call, done);
  };
}

export async function timedEngine(options: TestEngineOptions = {}): Promise<TestEngine> {
  const engine: TestEngine = await TestEngine.open({ script: (call) => timedScript(() => engine)(call), ...options });
  return engine;
}

const STEP_MS = 500;

/** Lets time pass until the process dies. Returns how long it lived, or undefined if it outlived `ms`. */
export async function untilDeath(engine: TestEngine, ms: number): Promise<number | undefined> {
  for (let lived = 0; lived < ms; lived += STEP_MS) {
    await engine.advance(STEP_MS);
    if (!engine.alive) return lived + STEP_MS;
  }
  return undefined;
}

/** Restarts the process whenever it dies, until it lives for `ms`. Returns how long each life was. */
export async function untilPeace(engine: TestEngine, ms: number, most = 60): Promise<readonly number[]> {
  const lives: number[] = [];
  for (;;) {
    const lived = engine.alive ? await untilDeath(engine, ms) : 0;
    if (lived === undefined) return lives;
    if (lives.push(lived) > most) throw new Error(`The process died ${lives.length} times.`);
    await engine.restart();
  }
}
