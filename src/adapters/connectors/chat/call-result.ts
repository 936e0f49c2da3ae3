/** The result of a send from the outcome of its call. A pause that the server asks for holds up the chat, so that its parts keep their order. */
import type { SendResult } from "../../../core/ports/connector.ts";
import type { ChannelCall } from "./channel-call.ts";

export function resultOfCall<T>(
  call: Exclude<ChannelCall<T>, { status: "refused" }>,
  receiptOf: (result: T) => string | undefined,
): SendResult {
  switch (call.status) {
    case "ok":
      return { status: "sent", receipt: receiptOf(call.result) };
    case "not-sent":
      return { status: "retry", reason: call.reason };
    case "unknown":
      return { status: "unknown", reason: call.reason };
  }
}
