/** Answers the questions that an older MCP server asks while a call of a tool is under way. */
import type { PendingInput } from "./input-asked.ts";
import type { ElicitAnswer } from "./open-session.ts";

/** One call of a server at a time may have answers. */
export interface CallAnswers {
  /** A call begins, with what a person has answered. */
  begin(answers: PendingInput["answers"] | undefined): void;
  /** A call has ended: the questions that were asked during it. */
  end(): readonly { readonly message: string; readonly schema?: unknown; readonly url?: string }[];
  answer(request: { readonly message: string; readonly schema?: unknown; readonly url?: string }): ElicitAnswer;
}

/**
 * Without an answer of a person every question is declined, and the call says what was asked. While several calls are under way,
 * a question cannot be matched with one of them: it is declined, and its text is dropped.
 */
export function callAnswers(): CallAnswers {
  let given: Parameters<CallAnswers["begin"]>[0];
  let asked: { message: string; schema?: unknown; url?: string }[] = [];
  let calls = 0;
  return {
    begin(answers) {
      calls++;
      asked = [];
      given = calls === 1 ? answers : undefined;
    },
    end() {
      calls--;
      const before = asked;
      asked = [];
      given = undefined;
      return before;
    },
    answer(request) {
      if (calls !== 1) return { action: "decline" };
      asked.push(request);
      return given ? { action: "accept", content: given } : { action: "decline" };
    },
  };
}
