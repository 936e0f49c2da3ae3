/** Says in the prompt who wrote a message, where that is not the person the agent belongs to. */
import type { Message } from "../../../core/message/message.ts";
import type { PersonId } from "../../../core/people/person.ts";
import { type SpeakerLine, speakerLine } from "../../context/entries.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";

/** Undefined if no line is needed, as in almost every run. */
export async function speakersOf(
  { directory }: Pick<RunPorts, "directory">,
  own: PersonId,
  messages: readonly Message[],
): Promise<SpeakerLine | undefined> {
  const isOther = ({ body, behalf, asRun }: Message): boolean =>
    body.kind === "user" && asRun === undefined && behalf !== undefined && behalf.person !== own;
  if (!directory || !messages.some(isOther)) return undefined;
  const now = await directory.recent();
  return (message) => {
    if (!isOther(message) || !message.behalf) return undefined;
    const standing = now.standing(message.behalf.person);
    if (standing.person === now.personOf(own)) return undefined;
    // The name that the channel shows is chosen by its person; a record's name is the owner's word.
    const shown = message.body.kind === "user" ? message.body.sender?.name : undefined;
    return speakerLine(standing, now.record(standing.person)?.name ?? shown);
  };
}
