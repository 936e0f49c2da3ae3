/** Whether commands such as /new are read from the texts of each channel. */
import { flag, named } from "../values.ts";

export const commandsSchema = named(flag()).prefault({});
