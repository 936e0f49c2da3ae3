/** What tests of the chat share: a model whose calls the test holds, answers with tools and thoughts, and counting on the screen. */
import type { FakeModel, ModelCall } from "./serving.ts";

export const times = (text: string, part: string): number => text.split(part).length - 1;

export interface HeldCalls {
  /** The nth call, from 1 on. */
  nth(n: number): Promise<ModelCall>;
}

/** The model answers nothing by itself from now on. */
export function holdCalls(model: FakeModel): HeldCalls {
  const calls: ModelCall[] = [];
  let arrived = Promise.withResolvers<void>();
  model.script = (call) => {
    calls.push(call);
    arrived.resolve();
    arrived = Promise.withResolvers();
  };
  return {
    async nth(n) {
      while (calls.length < n) await arrived.promise;
      return calls[n - 1] as ModelCall;
    },
  };
}

const part = (delta: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

/** Answers with a call of a tool. */
export function callTool({ response }: ModelCall, name: string, args: object): void {
  const call = { index: 0, id: `c${Math.random()}`, function: { name, arguments: JSON.stringify(args) } };
  response.write(part({ tool_calls: [call] }));
  response.end(`${part({}, "tool_calls")}data: [DONE]\n\n`);
}

export const think = ({ response }: ModelCall, text: string): void =>
  void response.write(part({ reasoning_content: text }));

/** Whether a tool has just been used: the next answer is about its result. */
export const isAfterTool = ({ body }: ModelCall): boolean => body.messages.at(-1)?.role === "tool";
