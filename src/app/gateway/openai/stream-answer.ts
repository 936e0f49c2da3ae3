/** Streams the text of a run while the model produces it, in the frames of one protocol, and ends with the answer. */
import type { RunEvent } from "../../../engine/runtime/run-events.ts";
import type { Frame } from "../events/event-stream-writer.ts";
import { openEventStream } from "../events/open-event-stream.ts";
import { errorBody, HttpError } from "../http/http-error.ts";
import { ANSWERED, type MediaReply, REPLAYED } from "../http/send-reply.ts";
import type { Call } from "../routing/route.ts";
import type { ErrorBody } from "../schemas/error.ts";
import type { Answer } from "../schemas/message.ts";
import { errorOfAnswer } from "./answer-error.ts";
import type { PostedQuestion } from "./ask.ts";
import { type NextText, StreamedText } from "./streamed-text.ts";

/** The frames of one streamed answer. Exactly one of `end` and `failure` comes last. */
export interface AnswerFrames {
  start(): readonly Frame[];
  text(piece: string): Frame | readonly Frame[];
  /** What a protocol shows of other events, before their text. */
  event?(event: RunEvent): readonly Frame[];
  end(answer: Answer): readonly Frame[];
  failure(error: ErrorBody): readonly Frame[];
}

export async function streamAnswer(call: Call, question: PostedQuestion, frames: AnswerFrames): Promise<MediaReply> {
  const about = question.isRepeated ? Object.entries(REPLAYED) : [];
  for (const [name, value = ""] of about) call.outgoing.setHeader(name, value);
  const writer = openEventStream(call);
  const write = (all: readonly Frame[]): void => {
    for (const frame of all) writer.write(frame);
  };
  const streamed = new StreamedText();
  let isVoid = false;
  const send = (next: NextText): void => {
    if ("void" in next) isVoid = true;
    else if (next.send !== "" && !isVoid) write([frames.text(next.send)].flat());
  };
  write(frames.start());
  try {
    const answer = await question.answer((event) => {
      if (frames.event) write(frames.event(event));
      send(streamed.onEvent(event));
    });
    const error = errorOfAnswer(answer);
    if (error) throw error;
    send(streamed.onEnd(answer.text));
    if (isVoid) throw restartedError();
    write(frames.end(answer));
  } catch (error) {
    write(frames.failure(errorBody(error)));
  }
  writer.close("done");
  return ANSWERED;
}

const restartedError = (): HttpError =>
  new HttpError(502, "restarted", "The model started its answer again; the streamed text is not the answer.", {
    hint: "Repeat the request with the same Idempotency-Key, or as a retry, to get the whole answer.",
  });
