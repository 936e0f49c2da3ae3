/** Whether commands such as /new are read from the texts of each channel. */
import { flag, named } from "../values.ts";

export const commandsSchema = named(flag()).prefault({}).meta({
  description: "whether commands are read from the texts of a channel; true for every channel but `api`",
  page: "chat-commands.md",
});
